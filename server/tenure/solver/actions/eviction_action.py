"""What the evicting actions share: one search for victims per pending pod group."""

from collections.abc import Callable, Hashable
from functools import partial

from tenure.solver.actions.commit_patches import patch_evictions
from tenure.solver.actions.cycle_context import CycleContext, SharedTurns
from tenure.solver.actions.reason_probes import ReasonProbes
from tenure.solver.actions.victim_rules import VictimRules, VictimSelector, find_endings
from tenure.solver.framework.statement import Statement
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action, ActionRule, QueueGate, Relation
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.search.oracle import BUDGET_EXHAUSTED, Budget, Search, Validator, VictimPolicy
from tenure.solver.search.similar_failures import SimilarFailures
from tenure.terms.reasons import ReasonCode


class EvictionAction:
    """Searches once for every pending pod group, in queue order. Reasons of failures are checked later."""

    def __init__(self, context: CycleContext, action: Action) -> None:
        self._context = context
        self._session = context.session
        self.action = action
        self._rule = None if action.rule is None else action.rule(context)
        self._validates = validate_by_plugins(context, action, self._rule)
        self.max_victims = action.max_victims(context.session.options)
        self.rules = VictimRules(context, action, self._rule)
        is_queue_independent = action.victims_from is Relation.ANY_QUEUE and action.gate is QueueGate.NONE
        self._similar = SimilarFailures(context.session, by_queue=not is_queue_independent)

    def run(self) -> None:
        """Search for every pod group until the budget of the action is used up."""
        budget = Budget.of(self._session.options)
        probes = ReasonProbes(self._session, self, partial(find_endings, self.rules))
        failures = self._context.failures(self.action.starts_by_request)
        turns = SharedTurns(self._session, self._context.pending(self._may_start, failures))
        while (pod_group := turns.pop()) is not None:
            self._session.stop.check()
            tasks = self._context.gangs.tasks_to_allocate(pod_group)
            if failures.covers(pod_group) or not tasks or not self._context.gangs.is_ready(pod_group):
                continue
            if (rejection := self.rejection(pod_group, tasks)) is not None:
                failures.add(pod_group)
                probes.reject_unsearched(pod_group, rejection, self.rules)
            elif (rejection := self._search(pod_group, tasks, budget)) is not None:
                turns.add_failure(pod_group)
                probes.reject(pod_group, rejection)
            if budget.is_over:
                self._give_up(turns)
                break
        self._context.reason_checks.append(probes)

    def _give_up(self, turns: SharedTurns) -> None:
        """Report that the search did not reach the remaining pod groups: they are not infeasible."""
        while self._context.with_reasons and (pod_group := turns.pop()) is not None:
            self._session.reject(pod_group, BUDGET_EXHAUSTED)

    def may_start(self, pod_group: int) -> Rejection | None:
        """Why the pod group does not take part: it is not ready, or must not cause evictions yet."""
        return self._context.unready_rejection(pod_group) or self._may_start(
            self._session.cluster.pod_groups[pod_group]
        )

    def _may_start(self, group: PodGroup) -> Rejection | None:
        """Rejection by the action's rule, then by the preemption delay."""
        if self._rule is not None:
            tasks = self._context.gangs.tasks_to_allocate(group.index)
            rejection = self._rule.may_start(group, tasks)
            if rejection is not None:
                return rejection
        return self._context.may_evict(group)

    def rejection(self, pod_group: int, tasks: list[int]) -> Rejection | None:
        """Cheap reasons not to search at all (semantics R6.2, R5.83, R5.90)."""
        if (rejection := self._session.chains.admits(self.action, pod_group, tasks)) is not None:
            return rejection
        if self._session.options.skip_similar_pod_groups:
            detail = self._similar.describe(pod_group, tasks)
            if detail is not None:
                return Rejection(ReasonCode.SIMILAR_FAILED, detail, source=self.action.name)
        return self._infeasible(tasks)

    def _infeasible(self, tasks: list[int]) -> Rejection | None:
        """Rejection if no node could run a task even if it were empty (semantics R3.64, R5.90)."""
        for task in tasks:
            if not self._context.parts.allowed_nodes.is_possible(self._session.cluster.tasks[task].shape):
                detail = "no node meets its requirements, even when empty"
                return Rejection(ReasonCode.NO_NODE_MATCHES, detail, source=self.action.name)
        return None

    def search(
        self,
        pod_group: int,
        victims: VictimPolicy,
        rule_key: Hashable | None = None,
        validates: Validator | None = None,
    ) -> Search:
        """The search for the next tasks of a pod group among these victims."""
        return Search(
            self.action,
            pod_group,
            self._context.gangs.tasks_to_allocate(pod_group),
            victim_queues=self.rules.victim_queues(pod_group),
            victims=victims,
            max_victims=self.max_victims,
            validates=validates or self._validates,
            rule_key=rule_key,
        )

    def _search(self, pod_group: int, tasks: list[int], budget: Budget) -> Rejection | None:
        """Search for victims; commit what is found, or return the reason that is reported."""
        victims, parts = VictimSelector(self.rules, pod_group), self._context.parts
        search = self.search(pod_group, victims, victims.rule_key)
        if (known := parts.known_failure(search)) is not None:
            return known
        with self._session.statement() as statement:
            rejection = self._context.solver.solve(statement, search, budget)
            if rejection is None:
                victim_set = self._context.victim_sets.minimize(statement, search, budget)
                self._session.commit(statement, self.action, pod_group, self.action.reason)
                self._session.commits[-1].victim_set = victim_set
                patch_evictions(self._session)
                victims.add_wake_time(self._session.wake_times)
                return None
        is_exhausted = rejection is BUDGET_EXHAUSTED
        if not is_exhausted:
            victims.check_all(search.victim_queues)
        protected = list(victims.protected.values())
        if not victims.has_pair_findings:
            self._similar.add(pod_group, tasks, has_protected=bool(protected))
        victims.add_wake_time(self._session.wake_times)
        if is_exhausted:
            return rejection
        rejection = min(protected, key=lambda victim: victim.until or 0, default=rejection)
        parts.record_failure(search, rejection)
        return rejection

    def attempt(
        self, statement: Statement, pod_group: int, time: int | None, budget: Budget
    ) -> Rejection | None:
        """Search without the protections that end by a time; None: with all protections."""
        victims = VictimSelector(self.rules, pod_group, time)
        validates = validate_by_plugins(self._context, self.action, self._rule, time)
        search = self.search(pod_group, victims, victims.rule_key, validates)
        search.is_trial = True
        return self._context.solver.solve(statement, search, budget)


def evict_for_pending(context: CycleContext, action: Action) -> None:
    """Search for victims for every pending pod group, unless the options switch the action off."""
    context.session.searches.append(action)
    if action.max_victims(context.session.options) and context.pod_groups.has_pending():
        EvictionAction(context, action).run()


def validate_by_plugins(
    context: CycleContext, action: Action, rule: ActionRule | None = None, time: int | None = None
) -> Callable[[Scenario], Rejection | None]:
    """The action's rule, then guards without the protections that end by a time, then scenario validators."""
    chains, guards, disruptions = context.session.chains, context.session.guards, context.session.disruptions

    def validates(scenario: Scenario) -> Rejection | None:
        ruled = None if rule is None else rule.allows_scenario(scenario)
        guarded = ruled or guards.allows_scenario(action, scenario, time)
        paced = guarded or disruptions.rejection(action, scenario)
        return paced or chains.allows_scenario(action, scenario)

    return validates
