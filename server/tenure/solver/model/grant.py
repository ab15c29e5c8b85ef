"""What the resources of a running pod group were given under (semantics 8.4)."""

from typing import Final, NamedTuple

from tenure.terms.preemptibility import Preemptibility


class Grant(NamedTuple):
    """What its owner may not enlarge alone while it runs. Times are in nanoseconds."""

    queue: str
    """Name of its leaf queue: in another one, the rest does not count."""
    preemptibility: Preemptibility = Preemptibility.PREEMPTIBLE
    opt_out_actions: frozenset[str] = frozenset()
    min_pods: int = 0
    """Smallest number of pods that satisfied its minimum; evicted as a whole, if it is evicted."""
    expected_runtime: int | None = None


NO_GRANT: Final = Grant("")
"""Nothing is known of how it started."""
