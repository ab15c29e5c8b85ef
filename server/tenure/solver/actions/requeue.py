"""Requeue: pod groups past their expected runtime are evicted for a contender of higher priority
(semantics section 12).

for each nominated pod group, the lowest priority first, then the longest overrun
    for each pending pod group of higher priority, in queue order: a contender
        evict ever more of the nominated one, surplus first, until the contender fits
        place both in queue order; if the contender is placed and a pod is really evicted, keep it
    no contender fits: the nominated pod group keeps running

The other actions run before. Fairness among queues does not protect the victim, because overriding it is the
purpose. Guards do, and the contender must be entitled to what it receives (semantics R12.42).
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final

from tenure.solver.actions.commit_patches import patch_evictions
from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.eviction_action import validate_by_plugins
from tenure.solver.actions.preempt import PREEMPT
from tenure.solver.actions.reclaim import RECLAIM
from tenure.solver.framework.statement import Statement
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.decision import Atomicity, Patch, PatchKind, Requeue
from tenure.solver.model.inherited_settings import requeue_delay
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.requeue import Nomination, NominationResult, NominationSkipReason
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action, QueueGate, Relation
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.oracle import BUDGET_EXHAUSTED, Budget
from tenure.solver.search.victim_order import one_victim, victim_order
from tenure.terms.reasons import ReasonCode

NO_BENEFIT = Rejection(ReasonCode.NO_SOLUTION, "no contender fits in its place")


def _requeue(context: CycleContext, action: Action) -> None:
    """Decide on every candidate; all nominations receive a result."""
    nominations = context.session.chains.nominations(action)
    candidates = [nomination for nomination in nominations if nomination.is_candidate]
    undecided = deque(sorted(candidates, key=_order(context)))
    try:
        if undecided:
            _RequeueAction(context, action).run(undecided)
    except CycleStopped:
        for nomination in undecided:
            _mark_budget_exhausted(nomination)
    context.session.nominations = sorted(nominations, key=lambda nomination: nomination.pod_group)
    context.session.wake_times.extend(each.until for each in nominations if each.until is not None)


def _order(context: CycleContext) -> Callable[[Nomination], tuple[int, ...]]:
    """Priority, overrun, start and uid (semantics R12.40); by option the overrun is first."""
    groups = context.session.cluster.pod_groups
    is_by_priority = context.session.options.requeue_order == "priority"

    def key(nomination: Nomination) -> tuple[int, ...]:
        group = groups[nomination.pod_group]
        first = (group.facts.priority,) if is_by_priority else ()
        return (*first, -nomination.overrun, group.facts.last_start or 0, group.index)

    return key


class _RequeueAction:
    """One run of the action; candidates are tried one after the other (semantics R12.46)."""

    def __init__(self, context: CycleContext, action: Action) -> None:
        self._context = context
        self._action = action
        self._session = context.session
        self._groups = context.session.cluster.pod_groups
        self._budget = Budget.of(context.session.options)
        self._waiting = [index for index in self._in_order() if not self._is_touched(index)]
        self._served: set[int] = set()
        self._above = cache(self._of_higher_priority)
        self._kind = cache(self._kind_of)

    def run(self, undecided: deque[Nomination]) -> None:
        """Set the result of every candidate, and remove it from the list then."""
        while undecided:
            nomination = undecided[0]
            if self._budget.is_over:
                _mark_budget_exhausted(nomination)
            elif self._is_touched(nomination.pod_group):
                nomination.result = NominationResult.ALREADY_MOVED
                nomination.detail = "another action of this cycle already moved or evicted pods of it"
            else:
                self._budget.start()
                self._try(nomination)
            undecided.popleft()

    def _in_order(self) -> Iterator[int]:
        """Pending pod groups that are ready and past their preemption delay (semantics R12.41)."""
        tree = self._context.pending(self._context.after_delay)
        while (entry := tree.pop()) is not None:
            yield entry.pod_group

    def _of_higher_priority(self, priority: int) -> list[int]:
        return [index for index in self._waiting if self._groups[index].facts.priority > priority]

    def _is_touched(self, pod_group: int) -> bool:
        """Whether this cycle placed, evicted or relocated any task of it (semantics R12.70)."""
        tasks, placements = self._session.cluster.tasks, self._session.ledger.placements
        return any(placements[t] != tasks[t].placement for t in self._groups[pod_group].tasks)

    def _try(self, nomination: Nomination) -> None:
        victim = self._groups[nomination.pod_group]
        if victim.queue is None:
            nomination.result, nomination.code = NominationResult.NO_BENEFIT, ReasonCode.INVALID_QUEUE
            nomination.detail = f"no action takes from queue {victim.facts.queue_name}: it is no leaf queue"
            return
        contenders = [index for index in self._above(victim.facts.priority) if index not in self._served]
        if not contenders:
            nomination.detail = "no pending pod group has higher priority"
            return
        protected: list[Rejection] = []
        objection: Rejection | None = None
        hopeless: set[object] = set()
        tries = 0
        for contender in contenders:
            if self._kind(contender) in hopeless:
                continue
            if tries == self._session.options.max_requeue_contenders:
                break
            tries += 1
            rejection = self._guard_rejection(contender, victim)
            if rejection is not None:
                protected.append(rejection)
                if not self._session.guards.is_pair_finding(contender, rejection.source):
                    hopeless.add(self._kind(contender))
                continue
            objection = self._rejection(contender, victim) or self._evict(nomination, contender, victim)
            if objection is None:
                self._session.wake_times.extend(each.until for each in protected if each.until is not None)
                return
            if objection is BUDGET_EXHAUSTED:
                _mark_budget_exhausted(nomination)
                return
            hopeless.add(self._kind(contender))
        self._reject(nomination, protected, objection)

    def _kind_of(self, contender: int) -> object:
        """Contenders with equal keys have equal requests and rules: if one does not fit, none does."""
        tasks = self._context.gangs.tasks_to_allocate(contender)
        asked = [self._session.cluster.tasks[task] for task in tasks]
        if any(task.facts.claims for task in asked) or len(self._groups[contender].pod_sets) > 1:
            return contender
        group = self._groups[contender]
        is_firm = self._session.cores.has_firm_request(contender, tasks)
        return (
            group.queue,
            group.facts.namespace,
            is_firm,
            group.root.topology,
            tuple((task.shape.index, task.facts.labels) for task in asked),
        )

    def _reject(
        self, nomination: Nomination, protected: Sequence[Rejection], objection: Rejection | None
    ) -> None:
        """Set why it keeps running. Guards are the reason only if they rejected every contender."""
        if objection is not None:
            nomination.result = NominationResult.NO_BENEFIT
            nomination.detail, nomination.code = objection.detail, objection.code
        else:
            first = min(protected, key=lambda rejection: (rejection.until is None, rejection.until or 0))
            nomination.result = NominationResult.PROTECTED
            nomination.detail, nomination.code = first.detail, first.code
            if first.code is ReasonCode.MIN_RUNTIME:
                nomination.skip_reason = NominationSkipReason.MINRUNTIME_PROTECTED
        nomination.until = min((r.until for r in protected if r.until is not None), default=None)

    def _guard_rejection(self, contender: int, victim: PodGroup) -> Rejection | None:
        guards = self._session.guards
        rejection = self._own_rejection(self._action, contender, victim)
        if rejection is None and self._session.options.requeue_strict:
            rule = self._rule(contender, victim)
            rejection = self._own_rejection(rule, contender, victim)
            rejection = rejection or guards.allows_victim(rule, contender, victim.index)
        return rejection or guards.allows_victim(self._action, contender, victim.index)

    def _own_rejection(self, rule: Action, contender: int, victim: PodGroup) -> Rejection | None:
        """Rejection by victim filters under the rules of an action."""
        chains = self._session.chains
        assert victim.queue is not None
        rejection = chains.allows_victim_queue(rule, contender, victim.queue)
        return rejection or chains.allows_victim(rule, contender, victim.index)

    def _rule(self, contender: int, victim: PodGroup) -> Action:
        """The action whose rules apply: preempt within a leaf queue, reclaim between two (R12.42)."""
        return PREEMPT if self._groups[contender].queue == victim.queue else RECLAIM

    def _rejection(self, contender: int, victim: PodGroup) -> Rejection | None:
        """Rejection of the contender by gates: it may not use that much."""
        chains = self._session.chains
        tasks = self._context.gangs.tasks_to_allocate(contender)
        chains.on_search_start(contender, tasks)
        return chains.admits(self._rule(contender, victim), contender, tasks)

    def _evict(self, nomination: Nomination, contender: int, victim: PodGroup) -> Rejection | None:
        """Requeue as little of the victim as the contender needs, or return why that is impossible."""
        tasks = self._context.gangs.tasks_to_allocate(contender)
        fits = self._context.parts.fit_check(contender, tasks, self._context.solver.feasible(tasks))
        if (fits is None or fits.is_sufficient()) and self._fits_anyway(contender, tasks):
            return Rejection(ReasonCode.NO_SOLUTION, "the contender fits without evicting it")
        batches: list[Batch] = []
        objection = NO_BENEFIT
        for batch in self._batches(contender, victim):
            batches.append(batch)
            if fits is not None:
                fits.add(batch.tasks)
                if not fits.is_sufficient():
                    continue
            if not self._budget.spend():
                return BUDGET_EXHAUSTED
            scenario = Scenario(contender, tuple(tasks), (), tuple(batches))
            found = self._validate(scenario, victim)
            if found is None:
                self._commit(nomination, self._least(scenario, victim), victim)
                return None
            objection = found
        return objection

    def _least(self, scenario: Scenario, victim: PodGroup) -> Scenario:
        """Drop the batches that are not needed: surplus comes in its own order, whatever its node.

        If a pod group loses its minimum, all of it is evicted.
        """
        if not self._keeps_minimum(scenario, victim):
            return scenario
        for batch in scenario.potential[:-1]:
            left = tuple([each for each in scenario.potential if each is not batch])
            fewer = Scenario(scenario.preemptor, scenario.pending, scenario.recorded, left)
            if self._budget.spend() and self._validate(fewer, victim) is None:
                scenario = fewer
        return scenario

    def _keeps_minimum(self, scenario: Scenario, victim: PodGroup) -> bool:
        taken = {task for batch in scenario.potential for task in batch.tasks}
        active = self._session.ledger.active_allocated
        left = {s.index: active[s.index] - len(taken.intersection(s.tasks)) for s in victim.pod_sets}
        return victim.root.is_met(left)

    def _fits_anyway(self, contender: int, tasks: list[int]) -> bool:
        """Whether it fits capacity that is free or releasing, without this eviction."""
        placer, nodes = self._context.placer, self._context.parts.node_order.all_nodes
        with self._session.statement() as trial:
            return not placer.place(trial, contender, tasks, nodes, simulation=True)

    def _batches(self, contender: int, victim: PodGroup) -> Iterator[Batch]:
        """Surplus one by one, then the core, as in victim order (semantics R12.43)."""
        assert victim.queue is not None
        order = victim_order(
            self._session,
            self._context.gangs,
            one_victim(self._session, victim.index),
            [victim.queue],
            lambda _: True,
            lambda index: self._session.guards.keeps_core(self._action, contender, index),
        )
        while (batch := order.pop()) is not None:
            yield batch

    def _validate(self, scenario: Scenario, victim: PodGroup) -> Rejection | None:
        """Simulate and validate the scenario; leaves no trace (semantics R12.45)."""
        self._session.counters.simulated += 1
        with self._session.statement() as trial:
            return self._simulate(trial, scenario, victim)

    def _simulate(self, statement: Statement, scenario: Scenario, victim: PodGroup) -> Rejection | None:
        """Evict, then place contender and victim in queue order; both rules and effect must be right."""
        solver = self._context.solver
        if not solver.simulator.run(statement, scenario, solver.feasible(scenario.pending)):
            return NO_BENEFIT
        if not solver.simulator.displaced(scenario):
            return NO_BENEFIT
        return self._forbidden(scenario, victim)

    def _commit(self, nomination: Nomination, scenario: Scenario, victim: PodGroup) -> None:
        session = self._session
        with session.statement() as statement:
            self._simulate(statement, scenario, victim)
            not_before = session.cluster.now + requeue_delay(
                victim, session.cluster.queues, session.options.default_requeue_delay
            )
            note = Requeue(victim.index, not_before, scenario.preemptor, nomination.nominated_by)
            session.commit(statement, self._action, scenario.preemptor, self._action.reason, note)
        patch_evictions(session)
        session.add_patch(Patch(victim.index, PatchKind.REQUEUE_NOT_BEFORE, not_before))
        self._served.update((scenario.preemptor, victim.index))
        nomination.result, nomination.code = NominationResult.REQUEUED, ReasonCode.REQUEUED
        nomination.contender, nomination.not_before = scenario.preemptor, not_before
        nomination.detail = f"{self._groups[scenario.preemptor].facts.name} receives its capacity"

    def _forbidden(self, scenario: Scenario, victim: PodGroup) -> Rejection | None:
        """Rejection by guards and validators; in strict mode also by those of the action that applies."""
        rejection = validate_by_plugins(self._context, self._action)(scenario)
        if rejection is None and self._session.options.requeue_strict:
            rule = self._rule(scenario.preemptor, victim)
            rejection = validate_by_plugins(self._context, rule)(scenario)
        return rejection


def _mark_budget_exhausted(nomination: Nomination) -> None:
    """Note that the search ended before the candidate was evaluated."""
    nomination.result, nomination.code = NominationResult.BUDGET_EXHAUSTED, ReasonCode.BUDGET_EXHAUSTED


REQUEUE: Final = Action(
    "requeue",
    victims_from=Relation.ANY_QUEUE,
    gate=QueueGate.NONE,
    reason=ReasonCode.REQUEUED,
    atomicity=Atomicity.ALL,
    run=_requeue,
)
