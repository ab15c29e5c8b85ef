"""Who may ask whom: the first objection, along the very chain that the action itself asks."""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Final, NamedTuple

from tenure.solver.actions.consolidation import consolidating
from tenure.solver.actions.context import Context
from tenure.solver.actions.evicting import EvictingAction
from tenure.solver.actions.preempt import preempting
from tenure.solver.actions.reclaim import reclaiming
from tenure.solver.model.reason import Rejection
from tenure.solver.search.budget import Budget
from tenure.solver.search.queuetree import Entry
from tenure.solver.search.victims import victim_order

SEARCHES: Final[Mapping[str, Callable[[Context], EvictingAction]]] = {
    "consolidation": consolidating,
    "reclaim": reclaiming,
    "preempt": preempting,
}
"""Actions that search for victims of a pod group that waits."""


class Step(Enum):
    """Where in the chain an objection is made."""

    MAY_NOT_ASK = "may not ask"
    """The pod group that waits may not evict anybody by this action."""
    MAY_NOT_YIELD = "may not yield"
    """This victim is spared: by the action's rule, a plugin or a guard."""
    NO_USE = "no use"
    """The victim might yield, but it alone would not help."""


class Objection(NamedTuple):
    """Why a pod group is not evicted for another one."""

    step: Step
    rejection: Rejection


class Asking:
    """One pod group that waits, and one action that searches for its victims, in one state of a cycle."""

    def __init__(self, context: Context, action: str, preemptor: int) -> None:
        self._context = context
        self._session = context.session
        self._search = SEARCHES[action](context)
        self._action = action
        self._preemptor = preemptor
        self._tasks = context.gangs.tasks_to_allocate(preemptor)
        for on_solve in self._session.chains.on_solve:
            on_solve(preemptor, self._tasks)

    def entry(self) -> Rejection | None:
        """Why it may not ask at all."""
        return self._search.enters(self._preemptor) or self._search.refuses(self._preemptor, self._tasks)

    def candidates(self) -> Iterator[tuple[int, Rejection | None]]:
        """Everybody else that runs in a queue that may be asked, by index, and why it may not yield."""
        queues = frozenset(self._search.victim_queues(self._preemptor))
        for group in self._session.cluster.pod_groups:
            if group.queue in queues and group.index != self._preemptor and self._runs(group.index):
                yield group.index, self.spared(group.index)

    def spared(self, victim: int) -> Rejection | None:
        """Why this one may not yield to it; who may not yield to anybody is no candidate to begin with."""
        guards = self._session.guards
        if not self._session.cluster.pod_groups[victim].may_yield:
            rejection = guards.allows_victim(self._action, self._preemptor, victim)
            if rejection is not None:
                return rejection
        return self._search.rules.full_objection(self._preemptor, victim)

    def objection(self, victim: int) -> Objection | None:
        """The first objection to evicting this one; None: it alone would make room."""
        rejection = self.entry()
        if rejection is not None:
            return Objection(Step.MAY_NOT_ASK, rejection)
        rejection = self.spared(victim)
        if rejection is not None:
            return Objection(Step.MAY_NOT_YIELD, rejection)
        rejection = self._alone(victim)
        return None if rejection is None else Objection(Step.NO_USE, rejection)

    def order(self) -> Iterator[int]:
        """Pod groups in the order in which their tasks are taken; one that is taken in parts comes again."""
        order = victim_order(
            self._session,
            self._context.gangs,
            self._context.lists.victims,
            self._search.victim_queues(self._preemptor),
            lambda victim: self.spared(victim) is None,
            lambda victim: self._search.rules.keeps_core(self._preemptor, victim),
            max_victims=self._search.max_victims,
        )
        while (batch := order.pop()) is not None:
            yield batch.pod_group

    def _alone(self, victim: int) -> Rejection | None:
        """What the search says when nobody else may be taken; leaves no trace."""
        problem = self._search.problem(
            self._preemptor, _Alone(self._context, self._search, self._preemptor, victim)
        )
        with self._session.statement() as trial:
            return self._context.solver.solve(trial, problem, Budget(self._session.options))

    def _runs(self, pod_group: int) -> bool:
        active = self._session.ledger.active_allocated
        return any(active[pod_set.index] for pod_set in self._session.cluster.pod_groups[pod_group].pod_sets)


class _Alone:
    """A single pod group may yield."""

    def __init__(self, context: Context, search: EvictingAction, preemptor: int, victim: int) -> None:
        self._context = context
        self._rules = search.rules
        self._preemptor = preemptor
        self._victim = victim

    def allows_queue(self, queue: int) -> bool:
        """Whether its queue may be asked is for the search to say."""
        return self._rules.queue_objection(self._preemptor, queue) is None

    def candidates(self, queue: int) -> Iterator[Entry]:
        """It alone, if it is in the queue and anything of it may be taken."""
        holdings = self._context.solver.holdings
        for key, pod_group in self._context.lists.takeable(queue):
            if pod_group == self._victim:
                yield holdings.entry(key, pod_group, self._rules.keeps_core(self._preemptor, pod_group))
