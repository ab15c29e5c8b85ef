"""Actions: what a cycle runs one after the other, each described by one value.

Plugins, folding, outcomes and explanations decide by these properties. No code but the action's own compares
names, so an action of another package gets the same quotas, guards and reports as a built-in one.

A statement holds moves of tasks that become one decision group, or are undone:

with context.statement() as statement:
    statement.evict(task)
    rejection = context.place(statement, preemptor, tasks) or context.allows(action, scenario)
    if rejection is None:
        context.commit(statement, action, preemptor)
    else:
        context.reject(preemptor, rejection)

An action that evicts pods for pending pod groups needs none of this: without a function of its own it
searches for victims.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from enum import Enum
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self, TypeAlias, final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Atomicity
from tenure.solver.model.fate import Fate, HoldReason
from tenure.solver.model.queue import Queue
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import UNLIMITED
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.ledger_view import LedgerView
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.plugin_api.scenario import Scenario
from tenure.terms.custom_reason import CustomReason
from tenure.terms.reasons import ReasonCode


class Relation(Enum):
    """Where victims are taken from: their leaf queue, seen from the preemptor's."""

    NONE = 0
    """The action evicts no pod group for another one."""
    SAME_QUEUE = 1
    OTHER_QUEUES = 2
    ANY_QUEUE = 3

    def covers(self, preemptor_queue: int | None, victim_queue: int | None) -> bool:
        """Whether a pod group of the second queue may be a victim for one of the first."""
        if self is Relation.NONE:
            return False
        return self is Relation.ANY_QUEUE or (self is Relation.SAME_QUEUE) == (
            preemptor_queue == victim_queue
        )


class QueueGate(Enum):
    """The bound that the preemptor's queues must respect; limits hold for every action."""

    NONE = 0
    QUOTA = 1
    """Non-preemptible requests stay within quota (semantics R6.21)."""
    FAIR_SHARE = 2
    """The preemptor's queue stays within its fair share, and queues of victims keep theirs (R4.40-R4.58)."""


class MoveStatement(Protocol):
    """Moves of tasks. Leaving its `with` block without a commit undoes them."""

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Undo all moves that were not committed."""

    def evict(self, task: int) -> None:
        """Evict a running task; its capacity becomes releasing (semantics R2.13)."""

    def checkpoint(self) -> int:
        """Mark for `rollback`."""

    def rollback(self, mark: int) -> None:
        """Undo every move after the mark."""


class ActionContext(Protocol):
    """The cycle, as actions and their rules see it. Pod groups and tasks are indices."""

    @property
    def cluster(self) -> Cluster:
        """The snapshot. `cluster.now` is the time, in nanoseconds since the epoch."""

    @property
    def ledger(self) -> LedgerView:
        """Placements of tasks and free amounts of nodes; follows every move."""

    @property
    def options(self) -> CycleOptions:
        """Options of the profile."""

    def pending_pod_groups(self) -> Iterator[int]:
        """Pod groups that are ready and have pending tasks, in queue order; the others are rejected."""

    def running_pod_groups(self) -> Sequence[int]:
        """Pod groups with running tasks, in the order of their indices."""

    def tasks_to_allocate(self, pod_group: int) -> Sequence[int]:
        """The next tasks of a pending pod group, to be placed all or none; empty: there are none."""

    def may_evict(self, group: PodGroup) -> Rejection | None:
        """Rejection of a pod group that never evicts, or whose preemption delay has not elapsed."""

    def statement(self) -> MoveStatement:
        """A new, empty statement. Statements do not overlap."""

    def place(self, statement: MoveStatement, pod_group: int, tasks: Sequence[int]) -> Rejection | None:
        """Place tasks of one pod group on nodes with free or releasing capacity, all or none."""

    def allows(self, action: "Action", scenario: Scenario) -> Rejection | None:
        """The first rejection of a scenario by guards, disruption budgets and validators. Called while the
        moves of the scenario are in place.
        """

    def commit(self, statement: MoveStatement, action: "Action", beneficiary: int) -> None:
        """Keep the moves as one decision group, with the reason of the action."""

    def reject(self, pod_group: int, rejection: Rejection) -> None:
        """State why a pod group was not placed; of several rejections the dominant one is reported."""

    def wake_at(self, time: int) -> None:
        """The time alone may change the result at this time, in nanoseconds since the epoch."""

    def check_stop(self) -> None:
        """To be called in every step of a long loop: ends the action when the caller of the cycle waits no
        longer.
        """


class ActionRule(Protocol):
    """What an action requires beside plugins and guards. Built once per run of the action."""

    def may_start(self, preemptor: PodGroup, tasks: Sequence[int]) -> Rejection | None:
        """Whether to search for victims for these tasks. Called once per pending pod group."""

    def allows_victim(self, preemptor: PodGroup, victim: PodGroup) -> Rejection | None:
        """Whether the pod group may be a victim. Facts of the snapshot only."""

    def victim_cache_key(self, preemptor: PodGroup) -> Hashable | None:
        """Preemptors with equal keys get equal results from `allows_victim`; None: never share results."""

    def allows_scenario(self, scenario: Scenario) -> Rejection | None:
        """Whether a simulated scenario is acceptable. Called while its moves are in place."""


class OwnEnd(NamedTuple):
    """How an action ends pod groups that run, for no other pod group."""

    end: Callable[[PodGroup, Sequence[Queue]], int | None]
    """When the time of a running pod group is over, in nanoseconds; None: never."""
    fate: Callable[[PodGroup, Sequence[Queue]], Fate]
    """What becomes of it then."""
    hold: HoldReason
    """What holds it after the fate HOLD."""


DueSince: TypeAlias = "Callable[[PodGroup, Sequence[Queue]], int | None]"
"""Since when a pod group is due something, in nanoseconds since the epoch; None: it is not."""


def waits_since(group: PodGroup, queues: Sequence[Queue] = ()) -> int:
    """Since when a pod group waits: the latest of its creation, its last eviction, and when it may start."""
    facts, victim = group.facts, group.facts.victim
    return max(
        facts.creation,
        facts.last_eviction or facts.creation,
        victim.eligible or facts.creation,
        victim.not_before or facts.creation,
    )


def due_since_start(group: PodGroup, queues: Sequence[Queue]) -> int:
    """Since when it waits for what it is due: with some of it, since its last start at the earliest."""
    return max(waits_since(group), group.facts.last_start or group.facts.creation)


def _unlimited(options: CycleOptions) -> int:
    return UNLIMITED


class ActionRun(Protocol):
    """The function of an action that does not search for victims."""

    def __call__(self, context: ActionContext, action: "Action", /) -> None:
        """Run the action. Called once per cycle, in the order of the profile."""


@final
class Action:
    """One step of a cycle. Compared by identity; the registry holds one object per name.

    Raises ValueError for FAIR_SHARE with victims that may be in the preemptor's own queue: fair shares
    compare two queues.
    """

    def __init__(
        self,
        name: str,
        *,
        victims_from: Relation,
        gate: QueueGate,
        reason: ReasonCode,
        atomicity: Atomicity,
        run: "ActionRun | None" = None,
        rule: Callable[[ActionContext], ActionRule] | None = None,
        max_victims: Callable[[CycleOptions], int] = _unlimited,
        starts_by_request: bool = False,
        relocates_all: bool = False,
        own_end: OwnEnd | None = None,
        due_since: "DueSince | None" = None,
        custom_reason: CustomReason | None = None,
        reasons: Sequence[CustomReason] = (),
    ) -> None:
        """`run` is called once per cycle. Without it, the action searches for victims for every pending pod
        group, in queue order. `rule` is called before; `max_victims` returns the most pod groups that
        one search may evict, -1 for no limit, 0 to switch the action off. `starts_by_request`: of pod groups
        that do not run, `may_start` treats those of equal requests, priority, preemptibility and opt-outs
        alike, and names no time but the end of a preemption delay. `relocates_all`: a scenario in which a
        victim is not placed again is not accepted. `own_end`: it ends pod groups, each for itself, with their
        notice. `due_since`: since when a pod group is due what the action evicts for it, so that disruption
        budgets hold for the option `budgetPatience` only; None: since its `own_end`, or they always hold.
        `custom_reason` is that of its evictions, with `reason` as its base; `reasons` are those of
        other rejections by its rule, whose source is the name of the action.
        """
        if gate is QueueGate.FAIR_SHARE and victims_from is not Relation.OTHER_QUEUES:
            raise ValueError(f"action {name}: gate FAIR_SHARE requires victims of OTHER_QUEUES")
        if custom_reason is not None and custom_reason.base is not reason:
            raise ValueError(f"action {name}: the base of its custom reason must be {reason.name}")
        self.name: Final = name
        self.victims_from: Final = victims_from
        self.gate: Final = gate
        self.reason: Final = reason
        self.atomicity: Final = atomicity
        self.run: Final = run
        self.rule: Final = rule
        self.max_victims: Final = max_victims
        self.starts_by_request: Final = starts_by_request or rule is None
        self.relocates_all: Final = relocates_all
        self.own_end: Final = own_end
        self.due_since: Final = own_end.end if due_since is None and own_end is not None else due_since
        self.custom_reason: Final = custom_reason
        own = () if custom_reason is None else (custom_reason,)
        self.reasons: Final = (*own, *[each for each in reasons if each not in own])

    def __repr__(self) -> str:
        return f"Action({self.name!r})"

    def __str__(self) -> str:
        return self.name

    @property
    def is_guarded(self) -> bool:
        """Whether guards apply: the action evicts running pod groups for others."""
        return self.victims_from is not Relation.NONE


def action_names(text: str) -> tuple[str, ...]:
    """Names separated by commas. As the parser of a plugin argument: names of guarded actions, which the
    registry checks.
    """
    return tuple([name.strip() for name in text.split(",") if name.strip()])


@final
class GuardedActions:
    """The actions that evict running pod groups for others, so that guards apply to them."""

    def __init__(self, actions: Iterable[Action]) -> None:
        guarded = [action for action in actions if action.is_guarded]
        guarded.sort(key=_strictest_gate_first)
        self.actions: Final = tuple(guarded)
        """Actions with the strictest gate first."""
        self.names: Final = tuple([action.name for action in guarded])
        self.fair_share_names: Final = frozenset(
            [action.name for action in guarded if action.gate is QueueGate.FAIR_SHARE]
        )
        """Actions by which other queues reclaim resources. A pod group that opts out of one is firm."""

    def parse(self, text: str | None) -> tuple[Action, ...]:
        """The actions that a plugin argument names, such as `reclaim, preempt`; all of them for None.

        Raises ValueError for an empty list and for a name that is not the name of a guarded action.
        """
        if text is None:
            return self.actions
        named = action_names(text)
        unknown = [name for name in named if name not in self.names]
        if unknown or not named:
            wrong = unknown[0] if unknown else text
            raise ValueError(f"{wrong!r} is not an action that guards know; use {', '.join(self.names)}")
        return tuple([action for action in self.actions if action.name in named])


def _strictest_gate_first(action: Action) -> int:
    return -int(action.gate.value)
