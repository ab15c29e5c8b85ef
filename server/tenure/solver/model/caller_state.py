"""Input that callers store between cycles: in-flight groups, eviction records and reservations."""

from enum import IntEnum
from operator import attrgetter
from typing import Final, NamedTuple

from tenure.solver.model.carried import RowKind
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import NOWHERE, Zones
from tenure.solver.model.workload import Task


class EvictionRecord(NamedTuple):
    """Evictions of one pod group for another; pod groups by index, times in nanoseconds."""

    victim: int
    preemptor: int
    last_eviction: int
    consecutive_failures: int = 0
    """Consecutive ineffective evictions: the victim terminated and the preemptor did not start."""
    last_failure: int | None = None
    result_pending: bool = False
    """Whether the result of the last eviction is not known yet."""


class InFlightDecision(NamedTuple):
    """One accepted decision. Whatever is not in the cluster has the index NOWHERE."""

    pod: str
    """Uid of the pod; `task` is its index."""
    task: int
    node: int
    pod_group: int
    """Pod group of the pod. A relocated pod returns with another uid and the same pod group."""
    gpu_groups: tuple[str, ...] = ()
    zones: Zones = ()
    sub_group: str = ""
    """Subgroup of a pod with a reservation; empty: any."""


class InFlightGroup(NamedTuple):
    """Decisions of one decision group. Valid until `expires` (nanoseconds)."""

    id: str
    action: str
    beneficiary: int
    """Pod group; NOWHERE if it no longer exists."""
    expire_time: int
    evictions: tuple[InFlightDecision, ...] = ()
    reservations: tuple[InFlightDecision, ...] = ()
    bindings: tuple[InFlightDecision, ...] = ()
    notices: tuple[InFlightDecision, ...] = ()
    evict_time: int = 0
    """When pods with notices are to be evicted, in nanoseconds."""

    def tasks_with_notice(self, tasks: PersistentVector[Task]) -> list[int]:
        """Tasks with a notice that still run where they were."""
        return [
            step.task
            for step in self.notices
            if step.task != NOWHERE
            and tasks[step.task].placement.is_allocated
            and tasks[step.task].placement.node == step.node
        ]

    @property
    def reservations_by_pod_group(self) -> list[tuple[int, list[InFlightDecision]]]:
        """Reservations by pod group: those of the beneficiary, then those of relocated pod groups."""
        by_group: dict[int, list[InFlightDecision]] = {self.beneficiary: []}
        for hold in sorted(self.reservations, key=_pod_group):
            by_group.setdefault(hold.pod_group, []).append(hold)
        return [(group, holds) for group, holds in by_group.items() if holds and group != NOWHERE]


def _pod_group(step: InFlightDecision) -> int:
    return step.pod_group


class Certainty(IntEnum):
    """How far a time can be relied on, the best first; numbers as on the wire (semantics R17.2)."""

    BOUNDED = 1
    """It rests on time limits only."""
    EXPECTED = 2
    """It rests on an expected runtime."""
    ASSUMED = 3
    """It rests on the expected runtime of a queue, or on one that was exceeded and corrected."""
    UNKNOWN = 4
    """There is no time."""


class StartDelay(IntEnum):
    """Why a planned start moved to a later time; numbers as on the wire (semantics R17.6)."""

    UNSPECIFIED = 0
    OVERRUN = 1
    """A pod group on its nodes runs longer than planned."""
    NODE_LOST = 2
    QUEUE_BOUND = 3
    """Limits, quotas or fair shares permit its queue less."""
    NODES_IN_USE = 4
    """Pod groups that need not give way, or could not be evicted in time, use its nodes."""


class PlannedPods(NamedTuple):
    """Pods of one shape that are to start on one node."""

    node: int
    shape: int
    pods: int


class PlannedStart(NamedTuple):
    """A place, and if possible a time, for the minimum of a pod group that waits (semantics R17.7).

    Times are in nanoseconds.
    """

    pod_group: str
    """Uid."""
    since: int
    grown: int
    """When `held` last became larger."""
    held: int = 0
    """The most that was free on its nodes since then: thousandths of a GPU, or of a core if it needs none."""
    start: int | None = None
    """Planned start; None: not known."""
    certainty: Certainty = Certainty.UNKNOWN
    places: tuple[PlannedPods, ...] = ()
    """By node and shape."""
    first_bounded: int | None = None
    """The first planned start with the certainty BOUNDED."""
    paused_until: int | None = None
    """The plan was given up, and nothing is reserved for it until then."""
    delayed_by: StartDelay = StartDelay.UNSPECIFIED
    """Why `start` last moved to a later time."""


PLANNED_STARTS: Final[RowKind[PlannedStart]] = RowKind("planned_starts", attrgetter("pod_group"))


class PostponedPodGroup(NamedTuple):
    """A pod group that a cycle did not evaluate, because time or simulations were used up (R2.25)."""

    pod_group: str
    """Uid."""
    since: int
    """Since when it waits for its turn, in nanoseconds."""


POSTPONED: Final[RowKind[PostponedPodGroup]] = RowKind("postponed_pod_groups", attrgetter("pod_group"))
