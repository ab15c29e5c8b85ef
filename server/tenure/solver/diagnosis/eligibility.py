"""Eligibility of preemptors and victims: the first rejection, by the same chain as the action."""

from collections.abc import Collection, Iterator
from enum import Enum
from typing import NamedTuple

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.eviction_action import EvictionAction
from tenure.solver.actions.victim_rules import VictimSelector
from tenure.solver.diagnosis.eviction_obstacle import (
    EXPLAINED,
    EvictionObstacles,
    FoundObstacle,
    takable_tasks,
)
from tenure.solver.framework.disruptions import ignoring_all
from tenure.solver.framework.statement import Statement
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.verdict import ProtectionScope
from tenure.solver.plugin_api.action import Action
from tenure.solver.search.queue_tree import QueueTreeEntry
from tenure.solver.search.search import Budget
from tenure.solver.search.victim_batches import victim_batches
from tenure.solver.search.victim_sets.alternatives import FoundSet
from tenure.terms.reasons import ReasonCode


class EligibilityStage(Enum):
    """Stage of the chain that rejects."""

    NOT_ELIGIBLE = "may not ask"
    """The preemptor may not evict by this action."""
    NOT_EVICTABLE = "may not yield"
    """The victim is not evictable: by the action's rule, a plugin or a guard."""
    NO_BENEFIT = "no use"
    """The victim is evictable, but evicting it alone would not suffice."""


class Ineligibility(NamedTuple):
    """Why a pod group is not evicted for a preemptor."""

    stage: EligibilityStage
    rejection: Rejection
    obstacle: FoundObstacle | None = None
    """What keeps the preemptor waiting though the victim leaves, if a search found it not to be enough."""


class VictimQuery:
    """One preemptor and one action, in one state of a cycle."""

    def __init__(self, context: CycleContext, action: Action, preemptor: int) -> None:
        self._context = context
        self._session = context.session
        self._search = EvictionAction(context, action)
        self._action = action
        self._preemptor = preemptor
        self._tasks = context.gangs.tasks_to_allocate(preemptor)
        self._session.chains.on_search_start(preemptor, self._tasks)

    def entry(self) -> Rejection | None:
        """Rejection of the preemptor itself."""
        return self._search.may_start(self._preemptor) or self._search.rejection(self._preemptor, self._tasks)

    def candidates(self) -> Iterator[tuple[int, Rejection | None]]:
        """Other running pod groups in queues that may be evicted from, by index, with their rejections."""
        queues = frozenset(self._search.rules.victim_queues(self._preemptor))
        for group in self._session.cluster.pod_groups:
            if group.queue in queues and group.index != self._preemptor and self._runs(group.index):
                yield group.index, self.protection(group.index)

    def protection(self, victim: int) -> Rejection | None:
        """Rejection of this victim for the preemptor; a victim that is never evictable is not a candidate."""
        guards = self._session.guards
        if not self._session.cluster.pod_groups[victim].is_evictable:
            rejection = guards.allows_victim(self._action, self._preemptor, victim)
            if rejection is not None:
                return rejection
        rejection = self._search.rules.full_rejection(self._preemptor, victim)
        if rejection is None and not takable_tasks(self._context, self._search, self._preemptor, victim):
            return self._stays(victim)
        return rejection

    def _stays(self, victim: int) -> Rejection | None:
        """Why none of its tasks can be taken, although no rule protects all of it."""
        for verdict in self._session.guards.verdicts(self._action, self._preemptor, victim):
            if verdict.scope is ProtectionScope.CORE:
                ends = (
                    verdict.until
                    if verdict.until is None or verdict.until > self._session.cluster.now
                    else None
                )
                return Rejection(verdict.reason, verdict.detail, ends, verdict.guard, verdict.custom)
        if self._session.disruptions.is_active:
            disruptions, tasks = self._session.disruptions, self._session.cluster.pod_groups[victim].tasks
            name = next(filter(None, [disruptions.holder([task]) for task in tasks]), "")
            if name:
                return disruptions.rejection_by([name], [name])
        return Rejection(ReasonCode.IN_PROGRESS, "this cycle moves it")

    def ineligibility(self, victim: int) -> Ineligibility | None:
        """First rejection of evicting it; None: evicting it alone would suffice."""
        rejection = self.entry()
        if rejection is not None:
            return Ineligibility(EligibilityStage.NOT_ELIGIBLE, rejection)
        rejection = self.protection(victim)
        if rejection is not None:
            return Ineligibility(EligibilityStage.NOT_EVICTABLE, rejection)
        rejection = self._single_victim_check(victim)
        if rejection is None:
            return None
        obstacle = self._obstacle_beside(victim) if rejection.code is ReasonCode.NO_SOLUTION else None
        return Ineligibility(EligibilityStage.NO_BENEFIT, rejection, obstacle)

    def _obstacle_beside(self, victim: int) -> FoundObstacle:
        """What keeps the preemptor waiting if all of this victim leaves that may."""
        leaving = takable_tasks(self._context, self._search, self._preemptor, victim)
        obstacles = EvictionObstacles(self._context, (), EXPLAINED)
        return obstacles.find_beside(self._preemptor, self._tasks, leaving)

    def orders(self) -> Iterator[Iterator[int]]:
        """The victim order within disruption budgets, and that without those that hold no longer, if any do.

        A search goes by the second if it finds nothing within budgets. Read each before the next.
        """
        disruptions = self._session.disruptions
        disruptions.begin(self._action, self._preemptor)
        yield self._order()
        if disruptions.may_override(self._action, self._preemptor):
            disruptions.begin(self._action, self._preemptor)
            disruptions.override()
            yield self._order()

    def _order(self) -> Iterator[int]:
        """Pod groups in victim order; a pod group that is taken in parts is repeated."""
        batches = victim_batches(
            self._session,
            self._context.gangs,
            self._context.pod_groups.victims,
            self._search.rules.victim_queues(self._preemptor),
            lambda victim: self._search.rules.full_rejection(self._preemptor, victim) is None,
            lambda victim: self._search.rules.keeps_core(self._preemptor, victim),
            max_victims=self._search.max_victims,
        )
        while (batch := batches.pop()) is not None:
            yield batch.pod_group

    def _single_victim_check(self, victim: int) -> Rejection | None:
        """Result of the search restricted to one victim; leaves no trace.

        If it fails for disruption budgets and rates alone, these are the reason.
        """
        with self._session.statement() as trial:
            rejection = self._solve(trial, frozenset((victim,)))
        disruptions = self._session.disruptions
        if rejection is None or not disruptions.were_met:
            return rejection
        with ignoring_all(disruptions), self._session.statement() as trial:
            if self._solve(trial, frozenset((victim,))) is not None:
                return rejection
            moved = dict.fromkeys([move.task for move in trial.moves])
            return disruptions.obstacle(self._action, self._preemptor, moved) or rejection

    def fits(self) -> bool:
        """Whether the preemptor needs no victims at all."""
        gangs, nodes = self._context.gangs, self._context.components.node_order.all_nodes
        with self._session.statement() as trial:
            tasks = gangs.tasks_to_allocate(self._preemptor)
            return self._context.placer.place(trial, self._preemptor, tasks, nodes) is None

    def disrupted_pods(self, victims: Collection[int]) -> int | None:
        """Pods that the search evicts or moves if only these may be victims; None: that is not enough."""
        with self._session.statement() as trial:
            if self._solve(trial, victims) is not None:
                return None
            placements = self._session.ledger.placements
            return sum(placements[task] != origins[0] for task, origins in trial.evicted.items())

    def victim_sets(self, most: int, alone: int) -> list[FoundSet]:
        """The first sets of victims that the search finds, and so many pod groups each alone, the least one
        first.
        """
        victims = VictimSelector(self._search.rules, self._preemptor)
        search, budget = self._search.search(self._preemptor, victims), Budget.of(self._session.options)
        with self._session.statement() as trial:
            result = self._context.solver.solve(trial, search, budget)
            if result.rejection is not None:
                return []
            return self._context.victim_sets.compare(trial, result, budget, most, alone=alone)

    def _solve(self, trial: Statement, victims: Collection[int]) -> Rejection | None:
        policy = _LimitedVictims(self._context, self._search, self._preemptor, victims)
        search = self._search.search(self._preemptor, policy)
        return self._context.solver.solve(trial, search, Budget.of(self._session.options)).rejection

    def _runs(self, pod_group: int) -> bool:
        """Whether it had pods on nodes before the cycle and has some now: what starts in it is no victim."""
        cluster, active = self._session.cluster, self._session.ledger.active_allocated
        group = cluster.pod_groups[pod_group]
        return any(active[pod_set.index] for pod_set in group.pod_sets) and any(
            cluster.tasks[task].placement.is_active_allocated for task in group.tasks
        )


class _LimitedVictims:
    """Victim policy that allows some pod groups only."""

    def __init__(
        self, context: CycleContext, search: EvictionAction, preemptor: int, victims: Collection[int]
    ) -> None:
        self._context = context
        self._rules = search.rules
        self._preemptor = preemptor
        self._victims = victims

    def allows_queue(self, queue: int) -> bool:
        """Always true for its queue: the search itself decides."""
        return self._rules.queue_rejection(self._preemptor, queue) is None

    def candidates(self, queue: int) -> Iterator[QueueTreeEntry]:
        """Those that are in the queue and have evictable tasks."""
        entries = self._context.components.victim_entries
        for key, pod_group in self._context.pod_groups.evictable_victims(queue):
            if pod_group in self._victims:
                yield entries.entry(key, pod_group, self._rules.keeps_core(self._preemptor, pod_group))
