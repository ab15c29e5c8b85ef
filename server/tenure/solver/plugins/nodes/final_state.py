"""Whether a decision is valid in its final state: what it placed, and what it leaves (semantics R3.74)."""

from collections.abc import Callable, Sequence
from typing import Final

from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.rejection import NOT_YET, Rejection
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugins.nodes.affinity_classes import MatchingPods
from tenure.solver.plugins.nodes.pod_counts import PodCounts
from tenure.solver.plugins.nodes.pod_limits import AVOIDED, LimitsOfClasses
from tenure.solver.plugins.nodes.reserved_pods import ReservedPodIndex
from tenure.solver.plugins.nodes.start_order import StartOrder
from tenure.terms.reasons import ReasonCode

IN_THE_WAY: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "a pod with a reservation would no longer be permitted where it is"
)
DELAYED: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "a pod with a reservation would wait for a pod that has not started"
)
DESERTED: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "a victim would leave a pod with a required affinity to it"
)


class FinalState:
    """Follows every move, and checks scenarios."""

    def __init__(
        self,
        context: PluginContext,
        counts: PodCounts,
        limits: LimitsOfClasses,
        reserved: ReservedPodIndex,
        order: StartOrder,
        problem: Callable[[int], Rejection | None],
    ) -> None:
        """`problem`: why a task is not permitted where it is."""
        self._context = context
        self._ledger = context.ledger
        self._labels = counts.labels
        self._classes = counts.classes.of_task
        self._limits = limits
        self._reserved = reserved
        self._order = order
        self._problem = problem
        self._started: dict[int, None] = {}
        """Tasks with a required affinity that are bound in this cycle."""
        self._violated: frozenset[int] = frozenset()
        """Those with a reservation that violated something when the current search began."""
        self._waiting: frozenset[int] = frozenset()
        """Those with a reservation that waited for others then, which they need and which had not started."""
        self._moved: dict[int, Placement] = {}
        """Tasks that are not where they were then, with their placements of then."""
        self._dependents: dict[MatchingPods, list[int]] | None = None
        """Tasks that need the counted pods near them, once any of these moves."""

    def begin_search(self) -> None:
        """Note which reservations are not permitted any more, and which wait for others to start: the search
        cannot be blamed for them.

        Only what has moved since the last search can have changed that.
        """
        moved, self._moved = self._moved, {}
        if moved:
            concerned = self._reserved.concerned(moved)
            wrong = self._find_violations(concerned) if concerned else set[int]()
            others = frozenset(self._reserved.tasks).difference(concerned)
            self._violated = others.intersection(self._violated).union(wrong)
            self._waiting = others.intersection(self._waiting).union(filter(self._order.waits, concerned))

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Follow the move of a task that others may restrict, or that is counted near others."""
        if self._classes[task].constraints.pod_affinity:
            if after.status is TaskStatus.BINDING:
                self._started[task] = None
            else:
                self._started.pop(task, None)
        if self._moved.setdefault(task, before) is after:
            del self._moved[task]

    def check_placed(self, tasks: Sequence[int], evicted: Sequence[int]) -> Rejection | None:
        """The first violation by these tasks where they are, beside all the rest, or of what they leave.

        Others are evicted. What was bound in this cycle still needs what it required.

        Other reservations that were permitted when the search began must still be, and there must be an order
        in which all of them can start. Those that needed no other to start first still need none.
        """
        own, concerned = frozenset(tasks), self._reserved.concerned((*tasks, *evicted))
        problem, wrong = self._judge(tasks, concerned)
        if problem is not None:
            return problem
        if wrong - self._violated:
            return IN_THE_WAY
        needed_none = [task for task in concerned if task not in own and task not in self._waiting]
        if any(map(self._order.waits, needed_none)):
            return DELAYED
        is_left = any(map(self._deserts, tasks)) or any(map(self._leaves_started, (*tasks, *evicted)))
        return DESERTED if is_left else None

    def check_own(self, tasks: Sequence[int]) -> Rejection | None:
        """The first violation by these tasks where they are, beside all the rest."""
        return self._judge(tasks, self._reserved.concerned(tasks))[0]

    def _judge(self, tasks: Sequence[int], concerned: Sequence[int]) -> tuple[Rejection | None, set[int]]:
        """The first violation by these tasks; if there is none, those of the concerned ones with any."""
        for task in tasks:
            problem = self._problem(task)
            if not (problem is None or problem is NOT_YET):
                return problem, set()
        own = frozenset(tasks)
        wrong = self._find_violations([*tasks, *(task for task in concerned if task not in own)])
        if own.isdisjoint(wrong):
            return None, wrong
        return next(iter(self._limits.of(self._classes[min(own & wrong)]).far), AVOIDED), wrong

    def _find_violations(self, tasks: Sequence[int]) -> set[int]:
        """Tasks that are not permitted where they are, or wait for each other for ever."""
        wrong = set[int]()
        for task in tasks:
            self._context.check_stop()
            problem = self._problem(task)
            if not (problem is None or problem is NOT_YET):
                wrong.add(task)
        # Also one that might be the first of its kind now waits: others may start before it.
        return wrong.union(self._order.stuck([task for task in tasks if task not in wrong]))

    def _deserts(self, task: int) -> bool:
        """Whether the task moves away from a task that stays and required it (semantics R3.74)."""
        left = self._ledger.placement(task).previous
        if left is None:
            return False
        dependents = self._find_dependents()
        for pods in self._classes[task].memberships if dependents else ():
            value = self._labels[left.node].get(pods.topology_key)
            if value is None or pods.later[value] > 1:
                continue
            for other in dependents.get(pods, ()):
                placement = self._ledger.placement(other)
                own = pods in self._classes[other].memberships
                is_there = placement.is_allocated and pods.later[value] <= own
                if is_there and self._labels[placement.node].get(pods.topology_key) == value:
                    return True
        return False

    def _leaves_started(self, task: int) -> bool:
        """Whether the task leaves one that is bound in this cycle, which requires it."""
        if not self._started:
            return False
        placement, classes = self._ledger.placement(task), self._classes
        left = placement if placement.previous is None else placement.previous
        for other in self._started:
            kind, labels = classes[other], self._labels[self._ledger.placement(other).node]
            for pods in self._limits.of(kind).affinity:
                value = labels.get(pods.topology_key)
                if pods not in classes[task].memberships:
                    continue
                if value is None or self._labels[left.node].get(pods.topology_key) != value:
                    continue
                own = pods in kind.memberships
                is_only_one = own and pods.later.total() == 1
                if pods.later[value] <= own and not is_only_one:
                    return True
        return False

    def _find_dependents(self) -> dict[MatchingPods, list[int]]:
        found = self._dependents
        if found is None:
            found = self._dependents = {}
            for task, kind in enumerate(self._classes):
                if kind.constraints.pod_affinity:
                    self._context.check_stop()
                    for pods in self._limits.of(kind).affinity:
                        found.setdefault(pods, []).append(task)
        return found
