"""What reclaim, preempt and consolidation have in common: one search per pending pod group."""

from collections.abc import Callable, Iterator, Sequence

from tenure.solver.actions.commit_patches import patch_evictions
from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.failed_search_cache import FailedSearchCache
from tenure.solver.actions.victim_rules import (
    PreemptorKey,
    VictimRule,
    VictimRules,
    VictimSelector,
    constant_key,
)
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import UNLIMITED, Vector
from tenure.solver.model.workload import PodGroup, TaskShape
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.search.budget import BUDGET_EXHAUSTED, Budget
from tenure.solver.search.candidates import VictimPolicy
from tenure.solver.search.queue_tree import QueueTree
from tenure.solver.search.similar_failures import SimilarFailures
from tenure.solver.search.solver import SearchProblem
from tenure.terms.reasons import ReasonCode


class EvictionAction:
    """Runs one search per pending pod group, in the order of the queues, each pod group once."""

    def __init__(
        self,
        context: CycleContext,
        name: str,
        reason: ReasonCode,
        *,
        victim_queues: Callable[[PodGroup], Sequence[int]],
        victim_rule: VictimRule | None,
        validates: Callable[[Scenario], Rejection | None],
        may_start: Callable[[PodGroup], Rejection | None],
        kind: PreemptorKey = constant_key,
        max_victims: int = UNLIMITED,
        similar_by_queue: bool = True,
    ) -> None:
        """`kind`: pod groups to which `spares` says the same; None stands alone."""
        self._context = context
        self._session = context.session
        self._name = name
        self._reason = reason
        self._victim_queues = victim_queues
        self._validates = validates
        self._may_start = may_start
        self.max_victims = max_victims
        self.rules = VictimRules(context, name, victim_rule, kind)
        self._failed_searches = FailedSearchCache(context.session)
        self._similar = SimilarFailures(context.session, by_queue=similar_by_queue)
        self._largest = _largest_node(context)
        self._possible: dict[int, bool] = {}

    def run(self) -> None:
        """Search for every pod group until the budget of the action is used up."""
        budget = Budget(self._session.options)
        tree = self._context.pending(self._may_start)
        while (entry := tree.pop()) is not None:
            self._session.stop.check()
            tasks = self._context.gangs.tasks_to_allocate(entry.pod_group)
            if not tasks or not self._context.gangs.is_ready(entry.pod_group):
                continue
            rejection = self.rejection(entry.pod_group, tasks)
            if rejection is None:
                rejection = self._search(entry.pod_group, tasks, budget)
            if rejection is not None:
                self._session.reject(entry.pod_group, rejection)
            if budget.is_over:
                self._give_up(tree)

    def _give_up(self, tree: QueueTree) -> None:
        """Say of everybody left that the search did not get to them: no verdict of infeasibility."""
        while (entry := tree.pop()) is not None:
            self._session.reject(entry.pod_group, BUDGET_EXHAUSTED)

    def may_start(self, pod_group: int) -> Rejection | None:
        """Why the pod group does not take part at all: it is not ready, or must not yet evict anybody."""
        return self._context.unready_rejection(pod_group) or self._may_start(
            self._session.cluster.pod_groups[pod_group]
        )

    def rejection(self, pod_group: int, tasks: list[int]) -> Rejection | None:
        """Cheap reasons not to search at all (semantics R6.2, R5.83, R5.90)."""
        chains = self._session.chains
        for admits in chains.admits:
            rejection = admits(self._name, pod_group, tasks)
            if rejection is not None:
                return chains.with_source(rejection, admits)
        if self._session.options.skip_similar_pod_groups and self._similar.is_hopeless(pod_group, tasks):
            detail = "a pod group that asks for no more just found no room"
            return Rejection(ReasonCode.SIMILAR_FAILED, detail, source=self._name)
        return self._infeasible(tasks)

    def _infeasible(self, tasks: list[int]) -> Rejection | None:
        """Tasks that no node could run even if it were empty (semantics R3.64, R5.90)."""
        for task in tasks:
            if not self._could_run(self._session.cluster.tasks[task].shape):
                detail = "no node could run it, not even an empty one"
                return Rejection(ReasonCode.NO_NODE_MATCHES, detail, source=self._name)
        return None

    def _could_run(self, shape: TaskShape) -> bool:
        """Whether some node might run a task of this shape, if it were empty."""
        could_run = self._possible.get(shape.index)
        if could_run is None:
            amounts = (*enumerate(shape.request), *self._session.ledger.claims.amounts(shape))
            fits = all(amount <= self._largest[slot] for slot, amount in amounts)
            could_run = self._possible[shape.index] = fits and self._context.placer.allowed_nodes(shape) != 0
        return could_run

    def victim_queues(self, pod_group: int) -> Sequence[int]:
        """Leaf queues whose pod groups may have to yield to it."""
        return self._victim_queues(self._session.cluster.pod_groups[pod_group])

    def problem(self, pod_group: int, victim_policy: VictimPolicy) -> SearchProblem:
        """What is to be solved for a pod group with these victims."""
        queues = self.victim_queues(pod_group)
        return SearchProblem(self._name, pod_group, queues, self.max_victims, victim_policy, self._validates)

    def _search(self, pod_group: int, tasks: list[int], budget: Budget) -> Rejection | None:
        if (known := self._failed_searches.find(pod_group, tasks)) is not None:
            return known
        victims = VictimSelector(self.rules, pod_group)
        problem = self.problem(pod_group, victims)
        queues = problem.victim_queues
        with self._session.statement() as statement:
            rejection = self._context.solver.solve(statement, problem, budget)
            if rejection is None:
                self._session.commit(statement, self._name, pod_group, self._reason)
                patch_evictions(self._session)
                self._add_wake_times(victims)
                return None
        is_exhausted = rejection is BUDGET_EXHAUSTED
        if not is_exhausted:
            self._check_all_candidates(queues, pod_group, victims)
        protected = list(victims.protected.values())
        if self._similar.is_general(protected):
            self._similar.add(pod_group, tasks)
        rejection = min(protected, key=lambda victim: victim.until or 0, default=rejection)
        if not is_exhausted and (self._session.options.skip_similar_pod_groups or not problem.was_validated):
            self._failed_searches.add(pod_group, tasks, rejection)
        return rejection

    def _add_wake_times(self, victims: VictimSelector) -> None:
        for rejection in victims.protected.values():
            if rejection.until is not None:
                self._session.wake_times.append(rejection.until)

    def _check_all_candidates(self, queues: Sequence[int], pod_group: int, victims: VictimSelector) -> None:
        """Who fails is told when the first protection ends, of whomever."""
        for queue in queues:
            if victims.allows_queue(queue) and self.rules.protection_expiries.may_protect_any(
                pod_group, queue
            ):
                for victim in self._context.pod_group_index.victim_groups(queue):
                    self._session.stop.check()
                    victims.rejection(victim)


def validate_by_plugins(context: CycleContext, name: str) -> Callable[[Scenario], Rejection | None]:
    """The guards, then the scenario validators of all plugins, for one action."""
    chains, guards = context.session.chains, context.session.guards

    def validates(scenario: Scenario) -> Rejection | None:
        rejection = guards.allows_scenario(name, scenario)
        if rejection is not None:
            return rejection
        for allows in chains.allows_scenario:
            rejection = allows(name, scenario)
            if rejection is not None:
                return chains.with_source(rejection, allows)
        return None

    return validates


def other_leaf_queues(context: CycleContext, group: PodGroup) -> Iterator[int]:
    """All leaf queues but the pod group's own."""
    return (queue for queue in context.pod_group_index.leaf_queues() if queue != group.queue)


def _largest_node(context: CycleContext) -> Vector:
    """The largest allocatable amount of each resource on any node (semantics R3.64)."""
    cluster, opening = context.session.cluster, context.session.warm_start
    return (
        _largest(cluster)
        if opening is None
        else opening.get_static("largest node", lambda: _largest(cluster))
    )


def _largest(cluster: Cluster) -> Vector:
    amounts = [node.allocatable for node in cluster.nodes]
    if not amounts:
        return (0,) * len(cluster.resource_names)
    return tuple(max(column) for column in zip(*amounts, strict=True))
