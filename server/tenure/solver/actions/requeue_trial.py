"""Simulation and commit of one requeue: a contender receives the capacity of pod groups past their runtime.

The contender is placed first, since the reservation of its decision group keeps the capacity for it; then
those that were evicted are placed in queue order, wherever they still fit. So neither names nor creation
times of queues matter. What counts is who may take the capacity afterwards: in the leaf queue of the
contender no pod group of lower priority, in another one a pod group whose queue may reclaim it. A requeue
that such a reclaim would reverse is rejected.
"""

from collections.abc import Sequence
from typing import Final

from tenure.solver.actions.commit_patches import patch_evictions
from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.eviction_action import validate_by_plugins
from tenure.solver.actions.preempt import PREEMPT
from tenure.solver.actions.reclaim import RECLAIM
from tenure.solver.framework.statement import Statement
from tenure.solver.model.decision import Patch, PatchKind, Requeue
from tenure.solver.model.inherited_settings import requeue_delay
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.requeue import Nomination
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.search import Budget
from tenure.terms.reasons import ReasonCode

NO_BENEFIT: Final = Rejection(ReasonCode.NO_SOLUTION, "no contender fits in its place")


class RequeueTrial:
    """Tries scenarios of the action requeue, and commits those that work."""

    def __init__(self, context: CycleContext, action: Action, budget: Budget) -> None:
        self._context = context
        self._action = action
        self._session = context.session
        self._groups = context.session.cluster.pod_groups
        self._budget = budget

    def rule(self, contender: int, victim: int) -> Action:
        """The action whose rules apply: preempt within a leaf queue, reclaim between two (R12.42)."""
        return PREEMPT if self._groups[contender].queue == self._groups[victim].queue else RECLAIM

    def guard_rejection(self, contender: int, victim: PodGroup, time: int | None = None) -> Rejection | None:
        """Why victim filters or guards keep a pod group running.

        With a time, protections that end by then do not count.
        """
        guards = self._session.guards
        rejection = self._filter_rejection(self._action, contender, victim)
        if rejection is None and self._session.options.requeue_strict:
            rule = self.rule(contender, victim.index)
            rejection = self._filter_rejection(rule, contender, victim)
            rejection = rejection or guards.summary_at(rule, contender, victim.index, time).rejection
        return rejection or guards.summary_at(self._action, contender, victim.index, time).rejection

    def _filter_rejection(self, rule: Action, contender: int, victim: PodGroup) -> Rejection | None:
        """Rejection by victim filters under the rules of an action."""
        chains = self._session.chains
        assert victim.queue is not None
        rejection = chains.allows_victim_queue(rule, contender, victim.queue)
        return rejection or chains.allows_victim(rule, contender, victim.index)

    def gate_rejection(self, scenario: Scenario) -> Rejection | None:
        """Why the contender may not use that much, once the victims of its own queue have left."""
        rules = {self.rule(scenario.preemptor, victim) for victim in scenario.victims()}
        chains, rejection = self._session.chains, None
        with self._session.statement() as trial:
            for victim, tasks in scenario.victims().items():
                if len(rules) > 1 and self.rule(scenario.preemptor, victim) is PREEMPT:
                    for task in tasks:
                        trial.evict(task)
            for rule in (PREEMPT, RECLAIM):
                if rule in rules:
                    rejection = rejection or chains.admits(rule, scenario.preemptor, scenario.pending)
        return rejection

    def rejection(self, scenario: Scenario) -> Rejection | None:
        """Simulate and validate the scenario; leaves no trace (semantics R12.45). NO_BENEFIT: no place."""
        with self._session.statement() as trial:
            return self.attempt(trial, scenario)

    def attempt(self, statement: Statement, scenario: Scenario, time: int | None = None) -> Rejection | None:
        """Simulate and validate the scenario in a statement, which keeps the moves.

        With a time, protections that end by then do not count.
        """
        self._session.chains.on_search_start(scenario.preemptor, scenario.pending)
        gate = self.gate_rejection(scenario)
        if gate is not None:
            return gate
        self._session.counters.simulated += 1
        return self._simulate(statement, scenario, time)

    def reduced(self, scenario: Scenario, necessary: Batch | None = None) -> Scenario:
        """Drop the pod groups and batches that are not needed, the most important first.

        If a pod group loses its minimum, all of it is evicted. `necessary` is known to be needed.
        """
        members = list(scenario.victims())
        for member in reversed(members):
            if len(members) > 1:
                scenario = self._without(scenario, [b for b in scenario.potential if b.pod_group == member])
            member_batches = [batch for batch in scenario.potential if batch.pod_group == member]
            if len(member_batches) < 2:
                continue
            if not self._keeps_minimum(member_batches, member):
                if member_batches[-1] is not necessary:
                    scenario = self._without(scenario, member_batches[-1:])
                if member_batches[-1] in scenario.potential:
                    continue
            for batch in member_batches:
                if batch is not necessary and batch in scenario.potential:
                    scenario = self._without(scenario, [batch])
        return scenario

    def commit(self, scenario: Scenario, nominations: Sequence[Nomination]) -> list[Nomination]:
        """Requeue those of the nominated pod groups that lose pods, and return them."""
        session, groups = self._session, self._groups
        with session.statement() as statement:
            self._simulate(statement, scenario)
            losers = {batch.pod_group for batch in self._context.solver.simulator.displaced(scenario)}
            requeued = [nomination for nomination in nominations if nomination.pod_group in losers]
            notes: list[Requeue] = []
            for nomination in requeued:
                nomination.not_before = session.cluster.now + requeue_delay(
                    groups[nomination.pod_group],
                    session.cluster.queues,
                    session.options.default_requeue_delay,
                )
                notes.append(
                    Requeue(
                        nomination.pod_group,
                        nomination.not_before,
                        scenario.preemptor,
                        nomination.nominated_by,
                    )
                )
            session.commit(
                statement, self._action, scenario.preemptor, self._action.reason, requeues=tuple(notes)
            )
        patch_evictions(session)
        for note in notes:
            session.add_patch(Patch(note.pod_group, PatchKind.REQUEUE_NOT_BEFORE, note.not_before))
        return requeued

    def _without(self, scenario: Scenario, dropped: Sequence[Batch]) -> Scenario:
        """The scenario without these batches if it still works, else as it is."""
        left = tuple([batch for batch in scenario.potential if batch not in dropped])
        fewer = Scenario(scenario.preemptor, scenario.pending, scenario.recorded, left)
        if left and self._budget.spend() and self.rejection(fewer) is None:
            return fewer
        return scenario

    def _keeps_minimum(self, batches: Sequence[Batch], pod_group: int) -> bool:
        taken = {task for batch in batches for task in batch.tasks}
        group, active = self._groups[pod_group], self._session.ledger.active_allocated
        left = {s.index: active[s.index] - len(taken.intersection(s.tasks)) for s in group.pod_sets}
        return group.root.is_met(left)

    def _simulate(
        self, statement: Statement, scenario: Scenario, time: int | None = None
    ) -> Rejection | None:
        """Evict, then place the contender, then the victims; both rules and effect must be right."""
        solver, chains = self._context.solver, self._session.chains
        is_firm = self._session.cores.has_firm_request(scenario.preemptor, scenario.pending)
        chains.on_search_start(scenario.preemptor, scenario.pending)
        feasible = solver.feasible(scenario.pending)
        if not solver.simulator.run(statement, scenario, feasible, preemptor_first=True):
            return NO_BENEFIT
        if not solver.simulator.displaced(scenario):
            return NO_BENEFIT
        rejection = self._forbidden(scenario, time)
        if rejection is None and not is_firm:
            rejection = self._reclaimed_back(statement, scenario)
        return rejection

    def _forbidden(self, scenario: Scenario, time: int | None) -> Rejection | None:
        """Rejection by guards and validators; in strict mode also by those of the actions that apply."""
        rejection = validate_by_plugins(self._context, self._action, time=time)(scenario)
        if rejection is not None or not self._session.options.requeue_strict:
            return rejection
        for rule in (PREEMPT, RECLAIM):
            ruled_batches = [
                b for b in scenario.potential if self.rule(scenario.preemptor, b.pod_group) is rule
            ]
            if ruled_batches and rejection is None:
                part = Scenario(scenario.preemptor, scenario.pending, (), tuple(ruled_batches))
                rejection = validate_by_plugins(self._context, rule, time=time)(part)
        return rejection

    def _reclaimed_back(self, statement: Statement, scenario: Scenario) -> Rejection | None:
        """Rejection if the queue of a victim could reclaim the capacity from that of the contender."""
        placements = self._session.ledger.placements
        for victim, tasks in scenario.victims().items():
            if self.rule(scenario.preemptor, victim) is PREEMPT:
                continue
            lost = [task for task in tasks if placements[task].status is TaskStatus.RELEASING]
            if lost and self._may_reclaim(statement, scenario, victim):
                victim_queue, preemptor_queue = (
                    self._groups[g].facts.queue_name for g in (victim, scenario.preemptor)
                )
                return Rejection(
                    ReasonCode.WITHIN_FAIR_SHARE,
                    f"queue {victim_queue} is entitled to its capacity and would reclaim it "
                    f"from queue {preemptor_queue}",
                )
        return None

    def _may_reclaim(self, statement: Statement, scenario: Scenario, victim: int) -> bool:
        """Whether fairness lets an evicted pod group replace the contender; guards would only delay it."""
        chains, contender = self._session.chains, scenario.preemptor
        tasks, queue = (
            self._context.gangs.next_tasks(victim, statement.evicted),
            self._groups[contender].queue,
        )
        assert queue is not None
        chains.on_search_start(victim, tasks)
        if chains.admits(RECLAIM, victim, tasks) or chains.rejects_victim_queue(RECLAIM, victim, queue):
            return False
        mark = statement.checkpoint()
        for task in scenario.pending:
            statement.evict(task)
        batch = Batch(contender, scenario.pending)
        rejection = chains.allows_scenario(RECLAIM, Scenario(victim, tuple(tasks), (), (batch,)))
        statement.rollback(mark)
        return rejection is None
