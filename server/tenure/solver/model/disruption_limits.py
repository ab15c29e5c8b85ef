"""How many running pods may be disrupted: evicted, or moved to another node (semantics R15.1)."""

from typing import NamedTuple


class DisruptionBudget(NamedTuple):
    """A budget of the caller; pods name the budgets that they spend."""

    name: str
    allowed: int
    """Pods that may be disrupted, as of the snapshot."""
    counted_pods: frozenset[str] = frozenset()
    """Uids of running pods whose disruption is taken into account already."""
    next_allowed: int | None = None
    """When more may be allowed, in nanoseconds since the Unix epoch; None: not by time."""
    in_flight: int = 0
    """Disruptions by open evictions of in-flight groups that are not taken into account."""

    most: int | None = None
    """What it allowed at first, in consecutive cycles; None: this is the first."""

    @property
    def left(self) -> int:
        """Pods that this cycle may disrupt."""
        return max(self.allowed - self.in_flight, 0)


class DisruptionBudgetStatus(NamedTuple):
    """What a cycle spends from a budget; numbers of pods."""

    name: str
    allowed: int
    in_flight: int
    spent: int
    """By decisions of this cycle."""
    left: int
