"""Which pods a task must be near to, and from which it must keep away (Kubernetes pod affinity)."""

from typing import NamedTuple

Labels = tuple[tuple[str, str], ...]
"""Labels as sorted pairs: hashable, so that equal ones are looked at once."""


class PodTerm(NamedTuple):
    """Pods with all these labels, on nodes with the same value of the topology key."""

    match_labels: Labels
    topology_key: str

    def selects(self, labels: Labels) -> bool:
        """Whether a pod with these labels is meant."""
        return set(self.match_labels) <= set(labels)
