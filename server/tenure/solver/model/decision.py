"""Results of a cycle."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple, final

from tenure.solver.model.caller_state import EvictionRecord, PlannedStart
from tenure.solver.model.carried import CarriedChange, Row, RowKind
from tenure.solver.model.disruption_limits import DisruptionBudgetStatus, EvictionRateStatus
from tenure.solver.model.fast_dataclass import fast_dataclass
from tenure.solver.model.fate import NO_EVICTIONS, Fate
from tenure.solver.model.grant import Grant
from tenure.solver.model.placement import Zones
from tenure.solver.model.queue import QueueStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.requeue import Nomination
from tenure.solver.model.snapshot_warning import SnapshotWarning
from tenure.solver.model.verdict import UNTRIED_SET, GuardVerdict, Protection, VictimSet
from tenure.terms.reasons import OWN_ENDS, ReasonCode


@fast_dataclass(slots=True, init=False)
class Bind:
    """Bind a pending task to free capacity."""

    task: Final[int]
    node: Final[int]
    gpu_groups: Final[tuple[str, ...]]
    zones: Final[Zones]

    def __init__(self, task: int, node: int, gpu_groups: tuple[str, ...], zones: Zones = ()) -> None:
        self.task = task
        self.node = node
        self.gpu_groups = gpu_groups
        self.zones = zones


@fast_dataclass(slots=True, init=False)
class Reserve:
    """Reserve capacity that is not free yet for a task."""

    task: Final[int]
    node: Final[int]
    gpu_groups: Final[tuple[str, ...]]
    zones: Final[Zones]

    def __init__(self, task: int, node: int, gpu_groups: tuple[str, ...], zones: Zones = ()) -> None:
        self.task = task
        self.node = node
        self.gpu_groups = gpu_groups
        self.zones = zones


@fast_dataclass(slots=True, init=False)
class Evict:
    """Evict a task from its node; `moves` if it is relocated by a Reserve."""

    task: Final[int]
    node: Final[int]
    relocating: Final[bool]
    guards: Final[tuple[GuardVerdict, ...]]
    """Results of the guards that allowed it."""
    fate: Final[Fate]
    overridden_budgets: Final[tuple[str, ...]]
    """Disruption budgets of the task that hold no longer, and permit fewer disruptions (semantics R15.13)."""

    def __init__(
        self,
        task: int,
        node: int,
        relocating: bool,
        guards: tuple[GuardVerdict, ...] = (),
        fate: Fate = Fate.UNSPECIFIED,
        overridden_budgets: tuple[str, ...] = (),
    ) -> None:
        self.task = task
        self.node = node
        self.relocating = relocating
        self.guards = guards
        self.fate = fate
        self.overridden_budgets = overridden_budgets


class PatchKind(IntEnum):
    """Stored fields of a pod group that a cycle may change."""

    LAST_START_TIME = 2
    LAST_EVICTION_TIME = 3
    STALE_SINCE = 4
    CLEAR_STALE_SINCE = 5
    REQUEUE_NOT_BEFORE = 6
    EVICTION_COUNT = 7
    TOTAL_EVICTION_WAIT = 8
    SET_EVICTION_RECORD = 9
    DELETE_EVICTION_RECORD = 10
    EVICTIONS_WITHOUT_PROGRESS = 11
    HELD_BY = 12
    EVICTIONS = 13
    LAST_NOTICE_TIME = 14
    BACKFILL_FOR = 15
    GRANT = 16


@fast_dataclass(slots=True, init=False)
class Patch:
    """Change a stored field of a pod group."""

    pod_group: Final[int]
    kind: Final[PatchKind]
    value: Final[int]
    """Nanoseconds, a number, or the preemptor (of a deleted record); unused by other kinds."""
    record: Final[EvictionRecord | None]
    """Eviction record to store."""
    counts: Final[Mapping[str, int]]
    """Evictions by cause to store; or the uids of the owners of reserved capacity (BACKFILL_FOR)."""
    grant: Final[Grant | None]
    """Grant to store."""

    def __init__(
        self,
        pod_group: int,
        kind: PatchKind,
        value: int = 0,
        record: EvictionRecord | None = None,
        counts: Mapping[str, int] = NO_EVICTIONS,
        grant: Grant | None = None,
    ) -> None:
        self.pod_group = pod_group
        self.kind = kind
        self.value = value
        self.record = record
        self.counts = counts
        self.grant = grant


class Requeue(NamedTuple):
    """Return a pod group to its queue for a contender."""

    pod_group: int
    not_before: int
    contender: int
    nominated_by: tuple[str, ...]


class Atomicity(IntEnum):
    """Whether the decisions of a group depend on each other; numbers as on the wire."""

    ALL = 1
    BEST_EFFORT = 2


class Notices(NamedTuple):
    """Notices of a decision group: given, for evictions at a time, or withdrawn."""

    evictions: tuple[Evict, ...] = ()
    evict_time: int = 0
    withdrawn: tuple[int, ...] = ()  # tasks that are not evicted after all


NO_NOTICES: Final = Notices()


@fast_dataclass(slots=True, init=False)
class DecisionGroup:
    """Decisions that are applied together for one pod group, until `expires`."""

    action: Final[str]
    beneficiary: Final[int]
    reason: Final[ReasonCode]
    evictions: Final[tuple[Evict, ...]]
    reservations: Final[tuple[Reserve, ...]]
    bindings: Final[tuple[Bind, ...]]
    patches: Final[tuple[Patch, ...]]
    requeues: Final[tuple[Requeue, ...]]
    """One for each pod group that is requeued for the beneficiary."""
    atomicity: Final[Atomicity]
    expire_time: Final[int]
    """Nanoseconds since the Unix epoch."""
    fulfills_group: Final[str]
    """ID of the in-flight group whose reservations it fulfills; empty: none."""
    victim_set: Final[VictimSet | None]  # None: no smaller set was looked for
    notices: Final[Notices]

    def __init__(
        self,
        action: str,
        beneficiary: int,
        reason: ReasonCode,
        evictions: tuple[Evict, ...],
        reservations: tuple[Reserve, ...],
        bindings: tuple[Bind, ...],
        patches: tuple[Patch, ...],
        requeues: tuple[Requeue, ...] = (),
        atomicity: Atomicity = Atomicity.ALL,
        expire_time: int = 0,
        fulfills_group: str = "",
        victim_set: VictimSet | None = None,
        notices: Notices = NO_NOTICES,
    ) -> None:
        self.action = action
        self.beneficiary = beneficiary
        self.reason = reason
        self.evictions = evictions
        self.reservations = reservations
        self.bindings = bindings
        self.patches = patches
        self.requeues = requeues
        self.atomicity = atomicity
        self.expire_time = expire_time
        self.fulfills_group = fulfills_group
        self.victim_set = victim_set
        self.notices = notices

    def known_victims(self) -> VictimSet | None:
        """What is known about victims that a search chose; None: there are none."""
        victims, is_own = self.evictions or self.notices.evictions, self.reason in OWN_ENDS
        return (self.victim_set or UNTRIED_SET) if victims and not is_own else None


class InFlightGroupState(IntEnum):
    """State of an in-flight group; numbers as on the wire."""

    IN_FLIGHT = 1
    SUPERSEDED = 2
    COMPLETED = 3
    EXPIRED = 4
    CANCELLED = 5


class InFlightGroupStatus(NamedTuple):
    """State of one in-flight group, by its index; if it is in flight, with its current reservations."""

    group: int
    state: InFlightGroupState
    reason: Rejection
    reservations: tuple[Reserve, ...] = ()
    replaced: tuple[tuple[str, int], ...] = ()
    """Uids of pods that are gone, and the tasks that have their reservations or are bound to them."""


class OutcomeKind(IntEnum):
    """Outcome of a pod group with tasks to schedule; numbers as on the wire."""

    BOUND = 1
    WAITING_FOR_RELEASE = 2
    WAITING_FOR_VICTIMS = 3
    WAITING_FOR_QUOTA = 4
    DELAYED = 5
    INFEASIBLE = 6
    BUDGET_EXHAUSTED = 7
    INVALID_POD_GROUP = 8
    WAITING_FOR_CAPACITY = 9
    HELD = 10


@fast_dataclass(slots=True, init=False)
class PodGroupOutcome:
    """Outcome of one pod group with tasks to schedule."""

    pod_group: Final[int]
    kind: Final[OutcomeKind]
    reason: Final[Rejection]
    bound: Final[int]
    reserved: Final[int]
    pending: Final[int]

    def __init__(
        self, pod_group: int, kind: OutcomeKind, reason: Rejection, bound: int, reserved: int, pending: int
    ) -> None:
        self.pod_group = pod_group
        self.kind = kind
        self.reason = reason
        self.bound = bound
        self.reserved = reserved
        self.pending = pending


@dataclass(slots=True)
class SearchCounters:
    """Work of the search; exact and reproducible."""

    generated: int = 0
    simulated: int = 0
    duplicate: int = 0
    pruned: int = 0
    victims_considered: int = 0
    placement_attempts: int = 0
    trimmed: int = 0
    plan_placements: int = 0  # of whole pod groups, for reservations


@final
@fast_dataclass(slots=True, init=False)
class CycleResult:
    """Result of one cycle."""

    groups: Final[tuple[DecisionGroup, ...]]
    outcomes: Final[tuple[PodGroupOutcome, ...]]
    protections: Final[tuple[Protection, ...]]
    queues: Final[tuple[QueueStatus, ...]]
    next_wake_time: Final[int | None]
    warnings: Final[tuple[SnapshotWarning, ...]]
    counters: Final[SearchCounters]
    nominations: Final[tuple[Nomination, ...]]
    in_flight: Final[tuple[InFlightGroupStatus, ...]]
    """One per in-flight group, by ID."""
    stopped_early: Final[bool]
    shared_time: Final[bool]
    """Whether an action or a queue used up its share of the time (semantics R2.23, R2.24)."""
    """Whether the deadline passed before the cycle was complete."""
    disruption_budgets: Final[tuple[DisruptionBudgetStatus, ...]]
    eviction_rates: Final[tuple[EvictionRateStatus, ...]]
    without_expected_runtime: Final[int]
    """Number of running pod groups that no nominator of requeue evaluated."""
    carried: Final[tuple[CarriedChange, ...]]
    """What the caller is to store."""
    planned_starts: Final[tuple[PlannedStart, ...] | None]
    """After the cycle; None: none are planned."""
    reserved_idle: Final[int]
    """What these keep free after the cycle, in thousandths of a GPU."""

    def __init__(
        self,
        groups: tuple[DecisionGroup, ...],
        outcomes: tuple[PodGroupOutcome, ...],
        protections: tuple[Protection, ...],
        queues: tuple[QueueStatus, ...],
        next_wake_time: int | None,
        warnings: tuple[SnapshotWarning, ...],
        counters: SearchCounters,
        nominations: tuple[Nomination, ...] = (),
        in_flight: tuple[InFlightGroupStatus, ...] = (),
        stopped_early: bool = False,
        shared_time: bool = False,
        disruption_budgets: tuple[DisruptionBudgetStatus, ...] = (),
        eviction_rates: tuple[EvictionRateStatus, ...] = (),
        without_expected_runtime: int = 0,
        carried: tuple[CarriedChange, ...] = (),
        planned_starts: tuple[PlannedStart, ...] | None = None,
        reserved_idle: int = 0,
    ) -> None:
        self.groups = groups
        self.outcomes = outcomes
        self.protections = protections
        self.queues = queues
        self.next_wake_time = next_wake_time
        self.warnings = warnings
        self.counters = counters
        self.nominations = nominations
        self.in_flight = in_flight
        self.stopped_early = stopped_early
        self.shared_time = shared_time
        self.disruption_budgets = disruption_budgets
        self.eviction_rates = eviction_rates
        self.without_expected_runtime = without_expected_runtime
        self.carried = carried
        self.planned_starts = planned_starts
        self.reserved_idle = reserved_idle

    def changed(self, kind: RowKind[Row]) -> tuple[Row, ...]:
        """Rows of a kind that the caller is to store."""
        return tuple([row for change in self.carried if change.kind is kind for row in change.rows])
