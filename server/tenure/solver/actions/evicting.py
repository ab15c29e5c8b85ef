"""What reclaim, preempt and consolidation have in common: one search per pending pod group."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

from tenure.solver.actions.context import Context
from tenure.solver.actions.delays import Delays
from tenure.solver.actions.notes import note_evictions
from tenure.solver.actions.repeats import Repeats
from tenure.solver.framework.scenario import Scenario
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.reason import ReasonCode, Rejection
from tenure.solver.model.resources import UNLIMITED, Vector
from tenure.solver.model.workload import PodGroup, TaskShape
from tenure.solver.search.budget import BUDGET_EXHAUSTED, Budget
from tenure.solver.search.queuetree import QueueTree
from tenure.solver.search.similar import SimilarFailures
from tenure.solver.search.solve import Problem


class EvictingAction:
    """Runs one search per pending pod group, in the order of the queues, each pod group once."""

    def __init__(
        self,
        context: Context,
        name: str,
        reason: ReasonCode,
        *,
        victim_queues: Callable[[PodGroup], Sequence[int]],
        spares: Callable[[PodGroup, PodGroup], Rejection | None],
        validates: Callable[[Scenario], Rejection | None],
        enters: Callable[[PodGroup], Rejection | None],
        max_victims: int = UNLIMITED,
        similar_by_queue: bool = True,
    ) -> None:
        self._context = context
        self._session = context.session
        self._name = name
        self._reason = reason
        self._victim_queues = victim_queues
        self._spares = spares
        self._validates = validates
        self._enters = enters
        self._max_victims = max_victims
        self._delays = Delays(context, name)
        self._repeats = Repeats(context.session)
        self._similar = SimilarFailures(context.session, by_queue=similar_by_queue)
        self._largest = _largest_node(context)
        self._possible: dict[int, bool] = {}

    def run(self) -> None:
        """Search for every pod group until the budget of the action is used up."""
        budget = Budget(self._session.options)
        tree = self._context.pending(self._enters)
        while (entry := tree.pop()) is not None:
            self._session.stop.check()
            tasks = self._context.gangs.tasks_to_allocate(entry.pod_group)
            if not tasks or not self._context.gangs.is_ready(entry.pod_group):
                continue
            rejection = self.refuses(entry.pod_group, tasks)
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

    def enters(self, pod_group: int) -> Rejection | None:
        """Why the pod group does not take part at all: it is not ready, or must not yet evict anybody."""
        return self._context.unready(pod_group) or self._enters(self._session.cluster.pod_groups[pod_group])

    def refuses(self, pod_group: int, tasks: list[int]) -> Rejection | None:
        """Cheap reasons not to search at all (semantics R6.2, R5.83, R5.90)."""
        chains = self._session.chains
        rejection = chains.first_rejection(chains.admits, self._name, pod_group, tasks)
        if rejection is not None:
            return rejection
        if self._session.options.skip_similar and self._similar.is_hopeless(pod_group, tasks):
            detail = "a pod group that asks for no more just found no room"
            return Rejection(ReasonCode.SIMILAR_FAILED, detail, source=self._name)
        return self._impossible(tasks)

    def _impossible(self, tasks: list[int]) -> Rejection | None:
        """Tasks that no node could run even if it were empty (semantics R3.64, R5.90)."""
        shapes = [self._session.cluster.tasks[task].shape for task in tasks]
        if all(self._could_run(shape) for shape in shapes):
            return None
        detail = "no node could run it, not even an empty one"
        return Rejection(ReasonCode.NO_NODE_MATCHES, detail, source=self._name)

    def _could_run(self, shape: TaskShape) -> bool:
        """Whether some node might run a task of this shape, if it were empty."""
        could_run = self._possible.get(shape.index)
        if could_run is None:
            amounts = (*enumerate(shape.request), *self._session.ledger.claims.amounts(shape))
            fits = all(amount <= self._largest[slot] for slot, amount in amounts)
            could_run = self._possible[shape.index] = fits and self._context.placer.allowed(shape) != 0
        return could_run

    def victim_queues(self, pod_group: int) -> Sequence[int]:
        """Leaf queues whose pod groups may have to yield to it."""
        return self._victim_queues(self._session.cluster.pod_groups[pod_group])

    def objects(self, pod_group: int, victim: int) -> Rejection | None:
        """Why a pod group may not be a victim of this one: the action's rule, then plugins, then guards."""
        groups = self._session.cluster.pod_groups
        queue = groups[victim].queue
        rejection = self._spares(groups[pod_group], groups[victim])
        if rejection is None and queue is not None:
            rejection = self._spares_queue(pod_group, queue)
        return rejection or self._objects_to_it(pod_group, victim)

    def _objects_to_it(self, pod_group: int, victim: int) -> Rejection | None:
        """The same of a victim in a queue that may be asked."""
        groups, chains = self._session.cluster.pod_groups, self._session.chains
        rejection = self._spares(groups[pod_group], groups[victim])
        if rejection is None and chains.allows_victim:
            rejection = chains.first_rejection(chains.allows_victim, self._name, pod_group, victim)
        return rejection or self._session.guards.allows_victim(self._name, pod_group, victim)

    def _spares_queue(self, pod_group: int, queue: int) -> Rejection | None:
        chains = self._session.chains
        return chains.first_rejection(chains.allows_victim_queue, self._name, pod_group, queue)

    def problem(self, pod_group: int, allows: Callable[[int], bool]) -> Problem:
        """What is to be solved for a pod group, with the victims that `allows` lets pass."""
        return Problem(
            self._name,
            pod_group,
            self.victim_queues(pod_group),
            self._max_victims,
            lambda queue: self._spares_queue(pod_group, queue) is None,
            allows,
            partial(self._session.guards.keeps_core, self._name, pod_group),
            self._validates,
            partial(self._victims, pod_group),
        )

    def _victims(self, pod_group: int, queue: int) -> Iterator[tuple[tuple[int, ...], int]]:
        """Keys and pod groups of a queue, worst first: those that matter to the search or to its reasons."""
        lists = self._context.lists
        return lists.victims(queue) if self._delays.among_spent(pod_group, queue) else lists.takeable(queue)

    def _search(self, pod_group: int, tasks: list[int], budget: Budget) -> Rejection | None:
        if (known := self._repeats.known(pod_group, tasks)) is not None:
            return known
        protected: list[Rejection] = []

        @cache
        def allows(victim: int) -> bool:
            rejection = self._objects_to_it(pod_group, victim)
            if rejection is not None and rejection.until is not None:
                protected.append(rejection)
            return rejection is None

        queues, problem = self.victim_queues(pod_group), self.problem(pod_group, allows)
        with self._session.statement() as statement:
            rejection = self._context.solver.solve(statement, problem, budget)
            if rejection is None:
                self._session.commit(statement, self._name, pod_group, self._reason)
                note_evictions(self._session)
                self._session.wakes.extend(victim.until for victim in protected if victim.until is not None)
                return None
        for queue in () if rejection is BUDGET_EXHAUSTED else queues:
            if problem.allows_queue(queue) and self._delays.among_all(pod_group, queue):
                for _, victim in self._context.lists.victims(queue):
                    self._session.stop.check()
                    allows(victim)
        if self._similar.is_general(protected):
            self._similar.remember(pod_group, tasks)
        is_general = not (protected or problem.was_judged or rejection is BUDGET_EXHAUSTED)
        if is_general and not any(self._delays.among_all(pod_group, queue) for queue in queues):
            self._repeats.remember(pod_group, tasks, rejection)
        return min(protected, key=lambda victim: victim.until or 0, default=rejection)


def validate_by_plugins(context: Context, name: str) -> Callable[[Scenario], Rejection | None]:
    """The guards, then the scenario validators of all plugins, for one action."""
    chains, guards = context.session.chains, context.session.guards

    def validates(scenario: Scenario) -> Rejection | None:
        rejection = guards.allows_scenario(name, scenario)
        return rejection or chains.first_rejection(chains.allows_scenario, name, scenario)

    return validates


def other_leaves(context: Context, group: PodGroup) -> Iterator[int]:
    """All leaf queues but the pod group's own."""
    return (queue for queue in context.lists.leaves() if queue != group.queue)


def _largest_node(context: Context) -> Vector:
    """The largest allocatable amount of each resource on any node (semantics R3.64)."""
    cluster, opening = context.session.cluster, context.session.opening
    return _largest(cluster) if opening is None else opening.once("largest node", lambda: _largest(cluster))


def _largest(cluster: Cluster) -> Vector:
    amounts = [node.allocatable for node in cluster.nodes]
    if not amounts:
        return (0,) * len(cluster.resource_names)
    return tuple(max(column) for column in zip(*amounts, strict=True))
