"""What comes out of a cycle."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from tenure.solver.model.doubt import Doubt
from tenure.solver.model.guard import GuardVerdict, Scope
from tenure.solver.model.memory import EvictionMemory
from tenure.solver.model.numa import Zones
from tenure.solver.model.reason import ReasonCode, Rejection
from tenure.solver.model.record import record
from tenure.solver.model.requeue import Nomination
from tenure.solver.model.resources import Share


@record(slots=True, init=False)
class Bind:
    """Bind a pending task to free room."""

    task: Final[int]
    node: Final[int]
    gpu_groups: Final[tuple[str, ...]]
    zones: Final[Zones]

    def __init__(
        self,
        task: int,
        node: int,
        gpu_groups: tuple[str, ...],
        zones: Zones = (),
    ) -> None:
        self.task = task
        self.node = node
        self.gpu_groups = gpu_groups
        self.zones = zones


@record(slots=True, init=False)
class Hold:
    """Keep room that is not free yet for a task."""

    task: Final[int]
    node: Final[int]
    gpu_groups: Final[tuple[str, ...]]
    zones: Final[Zones]

    def __init__(
        self,
        task: int,
        node: int,
        gpu_groups: tuple[str, ...],
        zones: Zones = (),
    ) -> None:
        self.task = task
        self.node = node
        self.gpu_groups = gpu_groups
        self.zones = zones


@record(slots=True, init=False)
class Evict:
    """Evict a task from its node; `moves` when a Hold elsewhere goes with it."""

    task: Final[int]
    node: Final[int]
    moves: Final[bool]
    guards: Final[tuple[GuardVerdict, ...]]
    """What the guards said that let it pass."""

    def __init__(
        self,
        task: int,
        node: int,
        moves: bool,
        guards: tuple[GuardVerdict, ...] = (),
    ) -> None:
        self.task = task
        self.node = node
        self.moves = moves
        self.guards = guards


class PatchKind(IntEnum):
    """The stored fields of a pod group that a cycle may change."""

    LAST_START_TIME = 2
    LAST_EVICTION_TIME = 3
    STALE_SINCE = 4
    CLEAR_STALE_SINCE = 5
    REQUEUE_NOT_BEFORE = 6
    EVICTION_COUNT = 7
    WAITED_AFTER_EVICTIONS = 8
    REMEMBER = 9
    FORGET_PREEMPTOR = 10


@record(slots=True, init=False)
class Patch:
    """Write something into a field of a pod group."""

    pod_group: Final[int]
    kind: Final[PatchKind]
    value: Final[int]
    """Nanoseconds, a number, or (to forget) the preemptor; of no account where there is nothing to write."""
    memory: Final[EvictionMemory | None]
    """What to remember."""

    def __init__(
        self,
        pod_group: int,
        kind: PatchKind,
        value: int = 0,
        memory: EvictionMemory | None = None,
    ) -> None:
        self.pod_group = pod_group
        self.kind = kind
        self.value = value
        self.memory = memory


class Requeue(NamedTuple):
    """A pod group goes back to its queue for a contender."""

    pod_group: int
    not_before: int
    contender: int
    nominated_by: tuple[str, ...]


class Atomicity(IntEnum):
    """Whether the steps of a group need each other; numbers are those of the wire contract."""

    ALL = 1
    BEST_EFFORT = 2


@record(slots=True, init=False)
class DecisionGroup:
    """Steps that are taken together: one pod group gets room. What is not done by `expires` is to be left."""

    action: Final[str]
    beneficiary: Final[int]
    reason: Final[ReasonCode]
    evictions: Final[tuple[Evict, ...]]
    holds: Final[tuple[Hold, ...]]
    bindings: Final[tuple[Bind, ...]]
    patches: Final[tuple[Patch, ...]]
    requeue: Final[Requeue | None]
    atomicity: Final[Atomicity]
    expires: Final[int]
    """Nanoseconds since the epoch."""
    in_flight: Final[str]
    """Id of the group in flight whose promises it keeps; empty: of none."""

    def __init__(
        self,
        action: str,
        beneficiary: int,
        reason: ReasonCode,
        evictions: tuple[Evict, ...],
        holds: tuple[Hold, ...],
        bindings: tuple[Bind, ...],
        patches: tuple[Patch, ...],
        requeue: Requeue | None = None,
        atomicity: Atomicity = Atomicity.ALL,
        expires: int = 0,
        in_flight: str = "",
    ) -> None:
        self.action = action
        self.beneficiary = beneficiary
        self.reason = reason
        self.evictions = evictions
        self.holds = holds
        self.bindings = bindings
        self.patches = patches
        self.requeue = requeue
        self.atomicity = atomicity
        self.expires = expires
        self.in_flight = in_flight


class InFlightResult(IntEnum):
    """What became of a group in flight; numbers are those of the wire contract."""

    KEPT = 1
    REDEEMED = 2
    FINISHED = 3
    LAPSED = 4
    CANCELLED = 5


class InFlightStatus(NamedTuple):
    """The verdict on one group in flight, by its index."""

    group: int
    result: InFlightResult
    reason: Rejection
    holds: tuple[Hold, ...] = ()
    """What is kept for whom, when it is kept."""


class OutcomeKind(IntEnum):
    """What happened to a pod group that had tasks to schedule; numbers are those of the wire contract."""

    BOUND = 1
    WAITING_FOR_RELEASE = 2
    WAITING_FOR_VICTIMS = 3
    WAITING_FOR_QUOTA = 4
    DELAYED = 5
    INFEASIBLE = 6
    BUDGET_EXHAUSTED = 7
    REJECTED_INPUT = 8


@record(slots=True, init=False)
class Outcome:
    """The verdict on one pod group that had tasks to schedule."""

    pod_group: Final[int]
    kind: Final[OutcomeKind]
    reason: Final[Rejection]
    bound: Final[int]
    held: Final[int]
    pending: Final[int]

    def __init__(
        self,
        pod_group: int,
        kind: OutcomeKind,
        reason: Rejection,
        bound: int,
        held: int,
        pending: int,
    ) -> None:
        self.pod_group = pod_group
        self.kind = kind
        self.reason = reason
        self.bound = bound
        self.held = held
        self.pending = pending


class Protection(NamedTuple):
    """How long a pod group is protected from actions. `until` None: for as long as it runs."""

    pod_group: int
    guard: str
    actions: tuple[str, ...]
    until: int | None
    source: str
    against: str = ""
    scope: Scope = Scope.ALL
    against_pod_group: int | None = None


class QueueStatus(NamedTuple):
    """Shares and use of a queue over the cycle."""

    queue: int
    fair_share: Share
    allocated_before: Share
    allocated_after: Share


@dataclass(slots=True)
class Counters:
    """Work done by the search; exact and reproducible."""

    emitted: int = 0
    simulated: int = 0
    duplicate: int = 0
    pruned: int = 0
    victims_popped: int = 0
    placements: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to one cycle."""

    groups: tuple[DecisionGroup, ...]
    outcomes: tuple[Outcome, ...]
    protections: tuple[Protection, ...]
    queues: tuple[QueueStatus, ...]
    next_wake: int | None
    doubts: tuple[Doubt, ...]
    counters: Counters
    nominations: tuple[Nomination, ...] = ()
    in_flight: tuple[InFlightStatus, ...] = ()
    """One for every group in flight, by id."""
    stopped_early: bool = False
    """Whether the caller's time was up before the cycle was done."""
