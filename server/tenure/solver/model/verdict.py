"""Verdicts of guards about possible victims, and about sets of victims."""

from enum import IntEnum
from typing import Final, NamedTuple

from tenure.terms.custom_reason import CustomReason
from tenure.terms.reasons import ReasonCode


class ProtectionScope(IntEnum):
    """Part of a pod group that is protected; numbers as on the wire."""

    NOTHING = 0
    CORE = 1
    """Its minimum: the surplus may be evicted."""
    ALL = 2


class GuardVerdict(NamedTuple):
    """Verdict of one guard about one victim, whether it protects or not."""

    scope: ProtectionScope
    source: str
    """Origin of the value: `queue NAME`, `default of PLUGIN`, ..."""
    until: int | None = None
    """When the protection ends or ended, in nanoseconds since the epoch; None: time does not matter."""
    detail: str = ""
    """Why it protects, as text for operators."""
    reason: ReasonCode = ReasonCode.PROTECTED
    """A row of the reason catalog. Guards of other packages keep the default, and may add `custom`."""
    guard: str = ""
    """Name of the guard. Set by the framework."""
    custom: CustomReason | None = None
    """One of the attribute `REASONS` of the guard."""


class EvictionCost(NamedTuple):
    """What evicting some tasks of a pod group costs, in thousandths of a GPU-second (semantics R14.10)."""

    cost: int
    """In total."""
    lost: int
    """Work that is lost."""


NO_COST: Final = EvictionCost(0, 0)


class VictimCost(NamedTuple):
    """What one victim of a set costs."""

    pod_group: int
    pods: int
    """That are evicted or moved."""
    price: EvictionCost


class Minimality(IntEnum):
    """Whether a set of victims is known to be minimal; numbers as on the wire (semantics R14.6)."""

    PROVEN = 1
    """Without any of them, there is not enough capacity."""
    HEURISTIC = 2
    """Some may be needless."""
    NOT_TRIED = 3
    LEAST = 4
    """No set disrupts fewer pods."""

    @property
    def is_shown(self) -> bool:
        """Whether none of the victims can be left out."""
        return self is Minimality.PROVEN or self is Minimality.LEAST


class VictimMeasure(IntEnum):
    """What distinguishes two sets of victims, in the order of the fields of `Harm`; numbers as on the wire
    (semantics R14.8).
    """

    UNSPECIFIED = 0
    PRIORITY = 1
    QUEUES_BELOW_QUOTA = 2
    COST = 3
    PODS = 4
    GPUS = 5
    GPU_HOURS = 6
    ENDED_PODS = 7
    OTHER_QUEUES = 8
    NAMES = 9


class OtherSet(NamedTuple):
    """Another set of victims that would have been enough."""

    pods: int
    """That it disrupts."""
    cost: int
    """In thousandths of a GPU-second."""
    pod_groups: tuple[int, ...] = ()
    """In their order."""
    lost_by: VictimMeasure = VictimMeasure.UNSPECIFIED
    """The first measure in which it is worse; UNSPECIFIED: it is better, or not comparable."""


class VictimSet(NamedTuple):
    """What is known about the size of a set of victims (semantics R14.6)."""

    minimality: Minimality
    tried: int
    """Smaller sets that were simulated."""
    untried: int
    """Batches of victims that may be needless, and without which nothing was simulated."""
    put_back: int
    """Pods that the search had taken and gave back."""
    costs: tuple[VictimCost, ...] = ()
    """What each victim costs, in the order of the pod groups; empty: no plugin says."""
    next_best: OtherSet | None = None
    """The best one that it was compared with."""
    excess_gpu_milli: int = 0
    """GPUs that evicted pods release beyond what the beneficiary takes, in thousandths (semantics R14.23)."""

    @property
    def cost(self) -> int:
        """Of all victims, in thousandths of a GPU-second."""
        return sum([each.price.cost for each in self.costs])


UNTRIED_SET: Final = VictimSet(Minimality.NOT_TRIED, 0, 0, 0)


def protection_end(last_start: int | None, minimum: int) -> int | None:
    """When a protection by minimum runtime ends or ended; None without start time or minimum (R7.20)."""
    if last_start is None or minimum <= 0:
        return None
    return last_start + minimum


class Protection(NamedTuple):
    """Protection of a pod group from actions. `until` None: while it runs."""

    pod_group: int
    guard: str
    actions: tuple[str, ...]
    until: int | None
    source: str
    against: str = ""
    scope: ProtectionScope = ProtectionScope.ALL
    against_pod_group: int | None = None
