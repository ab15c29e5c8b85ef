"""How many running pods may be disrupted, and how fast: evicted, or moved to another node (semantics R15)."""

from operator import attrgetter
from typing import Final, NamedTuple

from tenure.solver.model.carried import RowKind


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
    owed: int = 0
    """Disruptions beyond what it allowed, in the cycles before: it was overridden (semantics R15.13)."""

    @property
    def left(self) -> int:
        """Pods that this cycle may disrupt."""
        return max(self.allowed - self.in_flight, 0)


DISRUPTION_BUDGETS: Final[RowKind[DisruptionBudget]] = RowKind("disruption_budgets", attrgetter("name"))


class DisruptionBudgetStatus(NamedTuple):
    """What a cycle spends from a budget; numbers of pods."""

    name: str
    allowed: int
    in_flight: int
    spent: int
    """By decisions of this cycle."""
    left: int


POOL: Final = "pool"
VICTIM_QUEUE: Final = "victimQueue"
PREEMPTOR_QUEUE: Final = "preemptorQueue"
PODS: Final = "pods"
POD_GROUPS: Final = "podGroups"
TOKEN: Final = 1_000
"""Tokens are counted in thousandths."""


class EvictionRate(NamedTuple):
    """A token bucket that limits how fast pods are disrupted (semantics R15.7)."""

    name: str
    added: int
    """Tokens that are added in each period."""
    period: int
    """Nanoseconds."""
    burst: int
    """Tokens of a full bucket."""
    scope: str = POOL
    queue: str = ""
    """Of the victims or the preemptor, by scope; the queue counts with its descendants."""
    actions: tuple[str, ...] = ()
    """Empty: all."""
    unit: str = PODS

    def refilled(self, tokens: int, elapsed: int) -> int:
        """Tokens after a time in nanoseconds; if it is negative, nothing is added."""
        return min(tokens + max(elapsed, 0) * self.added * TOKEN // self.period, self.burst * TOKEN)

    def time_for(self, tokens: int) -> int:
        """Nanoseconds until so many are added."""
        return -(-tokens * self.period // (self.added * TOKEN))


class EvictionRateState(NamedTuple):
    """What the caller stores of a rate: tokens at a time in nanoseconds. Below 0: a debt."""

    name: str
    tokens: int
    time: int


EVICTION_RATES: Final[RowKind[EvictionRateState]] = RowKind("eviction_rates", attrgetter("name"))


class EvictionRateStatus(NamedTuple):
    """Tokens of a rate in a cycle."""

    name: str
    before: int
    after: int
    full_time: int | None
    """When the bucket is full; None: it is."""
    refusals: int
    """Scenarios that were rejected for lack of tokens."""
    is_changed: bool
    """Whether tokens were paid or given back."""
    payers: frozenset[int] = frozenset()
    """Tasks whose evictions pay to it, now or by their notice."""
    per_pod_group: bool = False
    """Whether those of one pod group by one commit pay a token together; else each pays one."""

    def state(self, now: int) -> EvictionRateState:
        """What the caller is to store after the cycle."""
        return EvictionRateState(self.name, self.after, now)
