"""Actions: what a cycle runs one after the other, each described by one value.

Plugins, folding, outcomes and explanations decide by these properties. No code but the action's own compares
names, so an action of another package gets the same quotas, guards and reports as a built-in one.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple, Protocol, final

from tenure.solver.model.decision import Atomicity
from tenure.solver.model.fate import Fate, HoldReason
from tenure.solver.model.queue import Queue
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import UNLIMITED
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.plugin_api.scenario import Scenario
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


def _unlimited(options: CycleOptions) -> int:
    return UNLIMITED


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
        run: Callable[[Any, "Action"], None],
        rule: Callable[[Any], ActionRule] | None = None,
        max_victims: Callable[[CycleOptions], int] = _unlimited,
        starts_by_request: bool = False,
        relocates_all: bool = False,
        own_end: OwnEnd | None = None,
    ) -> None:
        """`run` and `rule` are called with the `CycleContext`; `max_victims` returns the most pod groups that
        one search may evict, -1 for no limit, 0 to switch the action off. `starts_by_request`: of pod groups
        that do not run, `may_start` treats those of equal requests, priority, preemptibility and opt-outs
        alike, and names no time but the end of a preemption delay. `relocates_all`: a scenario in which a
        victim is not placed again is not accepted. `own_end`: it ends pod groups, each for itself, with their
        notice.
        """
        if gate is QueueGate.FAIR_SHARE and victims_from is not Relation.OTHER_QUEUES:
            raise ValueError(f"action {name}: gate FAIR_SHARE requires victims of OTHER_QUEUES")
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
