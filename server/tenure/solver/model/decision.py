"""What comes out of a cycle."""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from tenure.solver.model.doubt import Doubt
from tenure.solver.model.guard import GuardVerdict, Scope
from tenure.solver.model.memory import EvictionMemory
from tenure.solver.model.numa import Zones
from tenure.solver.model.reason import ReasonCode, Rejection
from tenure.solver.model.requeue import Nomination
from tenure.solver.model.resources import Share


class Bind(NamedTuple):
    """Bind a pending task to free room."""

    task: int
    node: int
    gpu_groups: tuple[str, ...]
    zones: Zones = ()


class Hold(NamedTuple):
    """Keep room that is not free yet for a task."""

    task: int
    node: int
    gpu_groups: tuple[str, ...]
    zones: Zones = ()


class Evict(NamedTuple):
    """Evict a task from its node; `moves` when a Hold elsewhere goes with it."""

    task: int
    node: int
    moves: bool
    guards: tuple[GuardVerdict, ...] = ()
    """What the guards said that let it pass."""


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


class Patch(NamedTuple):
    """Write something into a field of a pod group."""

    pod_group: int
    kind: PatchKind
    value: int = 0
    """Nanoseconds, a number, or (to forget) the preemptor; of no account where there is nothing to write."""
    memory: EvictionMemory | None = None
    """What to remember."""


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


class DecisionGroup(NamedTuple):
    """Steps that are taken together: one pod group gets room. What is not done by `expires` is to be left."""

    action: str
    beneficiary: int
    reason: ReasonCode
    evictions: tuple[Evict, ...]
    holds: tuple[Hold, ...]
    bindings: tuple[Bind, ...]
    patches: tuple[Patch, ...]
    requeue: Requeue | None = None
    atomicity: Atomicity = Atomicity.ALL
    expires: int = 0
    """Nanoseconds since the epoch."""
    in_flight: str = ""
    """Id of the group in flight whose promises it keeps; empty: of none."""


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


class Outcome(NamedTuple):
    """The verdict on one pod group that had tasks to schedule."""

    pod_group: int
    kind: OutcomeKind
    reason: Rejection
    bound: int
    held: int
    pending: int


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
