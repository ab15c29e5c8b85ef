"""What the evicting actions share: one search for victims per pending pod group."""

from collections.abc import Callable, Hashable
from dataclasses import replace

from tenure.solver.actions.allocate import replace_by_allocation
from tenure.solver.actions.commit_patches import patch_evictions
from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.victim_rules import VictimRules, VictimSelector
from tenure.solver.framework.statement import Statement
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action, ActionRule, QueueGate, Relation
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.search.needed_victims import providers_first
from tenure.solver.search.search import (
    BUDGET_EXHAUSTED,
    SLICE_OVER,
    Budget,
    Search,
    Validator,
    VictimPolicy,
)
from tenure.solver.search.similar_failures import SimilarFailures
from tenure.terms.reasons import ReasonCode


class EvictionAction:
    """The searches of an action for one pod group after the other. Reasons of failures are checked later."""

    def __init__(self, context: CycleContext, action: Action) -> None:
        self._context = context
        self._session = context.session
        self.action = action
        self._rule = None if action.rule is None else action.rule(context)
        self._validates = validate_by_plugins(context, action, self._rule)
        self.max_victims = action.max_victims(context.session.options)
        self.rules = VictimRules(context, action, self._rule)
        is_queue_independent = action.victims_from is Relation.ANY_QUEUE and action.gate is QueueGate.NONE
        self._similar = SimilarFailures(context.session, action, by_queue=not is_queue_independent)

    def may_start(self, pod_group: int) -> Rejection | None:
        """Why the pod group does not take part: it is not ready, or must not cause evictions yet."""
        return self._context.unready_rejection(pod_group) or self.admits(
            self._session.cluster.pod_groups[pod_group]
        )

    def admits(self, group: PodGroup) -> Rejection | None:
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
        if self._context.components.allowed_nodes.are_possible(tasks):
            return None
        detail = "no node meets its requirements, even when empty"
        return Rejection(ReasonCode.NO_NODE_MATCHES, detail, source=self.action.name)

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
            tuple(providers_first(self._context.gangs.tasks_to_allocate(pod_group), self._session.chains)),
            victim_queues=self.rules.victim_queues(pod_group),
            victims=victims,
            max_victims=self.max_victims,
            validates=validates or self._validates,
            rule_key=rule_key,
        )

    def find_victims(self, pod_group: int, tasks: list[int], budget: Budget) -> Rejection | None:
        """Search for victims; commit what is found, or return the reason that is reported.

        SLICE_OVER: the slice ended before the search did.
        """
        victims, components = VictimSelector(self.rules, pod_group), self._context.components
        search = self.search(pod_group, victims, victims.rule_key)
        if (known := components.known_failure(search)) is not None:
            return known
        with self._session.statement() as statement:
            result = self._context.solver.solve(statement, search, budget)
            if result.rejection is None:
                self._session.stop.begin_slice(None)  # what was found is made as good as it can be
                if result.found_by is None and replace_by_allocation(self._context, statement, pod_group):
                    return None
                victim_set = self._context.victim_sets.minimize(statement, result, budget)
                self._session.commit(statement, self.action, pod_group, self.action.reason)
                self._session.commits[-1].victim_set = victim_set
                patch_evictions(self._session)
                victims.add_wake_time(self._session.wake_times)
                return None
        is_exhausted = result.rejection is BUDGET_EXHAUSTED
        if is_exhausted and self._session.stop.is_slice_over:
            return SLICE_OVER
        if not is_exhausted:
            victims.check_all(search.victim_queues)
        protected = list(victims.protected.values())
        if not victims.has_pair_findings:
            self._similar.add(pod_group, tasks, has_protected=bool(protected))
        victims.add_wake_time(self._session.wake_times)
        if is_exhausted:
            return result.rejection
        rejection = min(protected, key=lambda victim: victim.until or 0, default=result.rejection)
        components.record_failure(search, rejection, was_validated=result.was_validated)
        return rejection

    def attempt(
        self, statement: Statement, pod_group: int, time: int | None, budget: Budget
    ) -> Rejection | None:
        """Search without the protections that end by a time; None: with all protections."""
        victims = VictimSelector(self.rules, pod_group, time)
        validates = validate_by_plugins(self._context, self.action, self._rule, time)
        search = replace(self.search(pod_group, victims, victims.rule_key, validates), is_trial=True)
        return self._context.solver.solve(statement, search, budget).rejection


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
