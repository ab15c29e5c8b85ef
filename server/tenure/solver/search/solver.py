"""Search for victims: find evictions after which a pod group can be placed (semantics section 5).

for each generator (node-local first, then across nodes)
    find how many of the tasks can be placed: 1, 2, 4, ... then in between
        for each scenario the generator proposes, skipping those that failed before
            simulate it; if the pod group is placed and the validators accept, it is solved
        the victims of a success are recorded and taken first from then on
    solve for all tasks with the recorded victims; keep the moves
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.framework.stop_signal import StopSignal
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import GPU
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.budget import BUDGET_EXHAUSTED, Budget
from tenure.solver.search.candidates import VictimPolicy
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.placer import Placer
from tenure.solver.search.scenario_simulator import ScenarioSimulator
from tenure.solver.search.scenarios import PruningBounds, ScenarioAccumulator
from tenure.solver.search.speedups.pod_group_index import PodGroupIndex
from tenure.solver.search.speedups.pruning import PrefixBounds, Pruner, requests_whole_gpus
from tenure.solver.search.speedups.reclaim_bound import ReclaimBound, is_inexact
from tenure.solver.search.victim_entries import VictimEntries
from tenure.solver.search.victim_order import VictimOrder, VictimSequence
from tenure.terms.reasons import ReasonCode

Validator = Callable[[Scenario], Rejection | None]
"""Returns a rejection of a simulated scenario that placed the preemptor, or None."""
Fingerprint = tuple[frozenset[int], frozenset[int], frozenset[int]]
NO_SOLUTION = Rejection(
    ReasonCode.NO_SOLUTION, "no permitted set of evictions would free enough resources", source="search"
)
WITHIN_FAIR_SHARE = Rejection(
    ReasonCode.WITHIN_FAIR_SHARE, "the other queues are within their fair share", source="search"
)


class SearchProblem:
    """Search of an action for one preemptor."""

    def __init__(
        self,
        action: Action,
        pod_group: int,
        victim_queues: Sequence[int],
        max_victims: int,
        victim_policy: VictimPolicy,
        validates: Validator,
    ) -> None:
        """`max_victims`: maximum number of victim pod groups, -1 for unlimited."""
        self.action = action
        self.pod_group = pod_group
        self.victim_queues = victim_queues
        self.max_victims = max_victims
        self.victim_policy = victim_policy
        self.validates = validates
        self.tasks: list[int] = []
        self.feasible = 0
        self.pruning: PruningBounds | None = None
        self.sequence: VictimSequence | None = None
        """Victims in the order of all probes that recorded none, or only complete batches."""
        self.failed: set[Fingerprint] = set()
        self.rejection: Rejection = NO_SOLUTION
        self.was_validated = False
        """Whether any scenario placed the preemptor, so that validators were called."""
        self.has_guessed = False
        """Whether the first victim alone was tried before the search, without success."""
        self.guess: Rejection | None = None
        """Result of the validators for it, if they were called."""


class Solver:
    """Solves one problem at a time on the session."""

    def __init__(self, session: Session, gangs: GangPlanner, placer: Placer, lists: PodGroupIndex) -> None:
        self._session = session
        self._gangs = gangs
        self._placer = placer
        self._pod_group_index = lists
        self._counts_whole_gpus = all(requests_whole_gpus(shape) for shape in session.cluster.shapes)
        self._has_inexact_shapes = any(is_inexact(shape) for shape in session.cluster.shapes)
        self._can_guess = "first_victim" in session.options.speedups and session.all_have_trait(
            session.chains.scenarios[:1], "BEGINS_WITH_FIRST_VICTIM"
        )
        self._is_first_enough = True
        """Whether the first victim alone sufficed for the last single task."""
        self.victim_entries = VictimEntries(session, gangs)
        self.simulator = ScenarioSimulator(session, gangs, placer, lists)

    def solve(self, statement: Statement, problem: SearchProblem, budget: Budget) -> Rejection | None:
        """Add evictions and pipelined placements for the pod group to the statement, or return why not."""
        budget.start()
        problem.tasks = self._gangs.tasks_to_allocate(problem.pod_group)
        problem.feasible = self.feasible(problem.tasks)
        if not problem.tasks:
            return NO_SOLUTION
        for on_solve in self._session.chains.on_search_start:
            on_solve(problem.pod_group, problem.tasks)
        allows = problem.victim_policy.allows_queue
        queues = [queue for queue in problem.victim_queues if allows(queue)]
        if self._may_guess(problem, budget) and self._guess(statement, problem, queues, budget):
            return None
        if "pruning" in self._session.options.speedups and not self._prune(problem):
            return WITHIN_FAIR_SHARE
        problem.victim_queues = queues
        for generator in self._session.chains.scenarios:
            if self._search(statement, problem, generator, budget):
                return None
            if budget.is_exhausted:
                return BUDGET_EXHAUSTED
        return problem.rejection

    def _may_guess(self, problem: SearchProblem, budget: Budget) -> bool:
        """Whether to try the first victim alone before the others are evaluated.

        True for a single task that requests whole GPUs and does not fit, where the first scenario would be
        the same, and while that was sufficient for earlier tasks.
        """
        if len(problem.tasks) > 1 or not self._is_first_enough or not self._can_guess or budget.is_exhausted:
            return False
        shape = self._session.cluster.tasks[problem.tasks[0]].shape
        is_plain = shape.request[GPU] > 0 and requests_whole_gpus(shape)
        return is_plain and not problem.feasible & self._placer.allowed_nodes(shape)

    def _guess(
        self, statement: Statement, problem: SearchProblem, queues: Sequence[int], budget: Budget
    ) -> bool:
        """Whether the task fits after evicting the first victim; a failure leaves no trace."""
        sequence = problem.sequence = self._victims(problem, queues, ())
        if not sequence.reaches(0) or not self._frees_gpus(sequence.batches[0], problem.tasks[0]):
            return False
        batch = sequence.batches[0]
        scenario = Scenario(problem.pod_group, (problem.tasks[0],), (), (batch,))
        if self._works(statement, problem, scenario):
            if self._gangs.is_satisfied(problem.pod_group) and self.simulator.displaced(scenario):
                self._session.counters.generated += 1
                budget.spend()
                return True
            statement.rollback(0)
        else:
            problem.has_guessed, problem.guess = True, problem.rejection if problem.was_validated else None
        self._is_first_enough, problem.rejection, problem.was_validated = False, NO_SOLUTION, False
        return False

    def _frees_gpus(self, batch: Batch, task: int) -> bool:
        """Whether any victim frees enough GPUs for the task on a node on which it may run."""
        ledger, shape = self._session.ledger, self._session.cluster.tasks[task].shape
        allowed, free = self._placer.allowed_nodes(shape), self._placer.index.free_gpu_milli()
        for victim in batch.tasks:
            node = ledger.placements[victim].node
            gpus = free[node] + ledger.freed_gpu_milli(victim)
            if gpus >= shape.request[GPU] and allowed >> node & 1:
                return True
        return False

    def _prune(self, problem: SearchProblem) -> bool:
        """Compute the necessary conditions of the search; False: they cannot be met."""
        queues = [queue for queue in problem.victim_queues if self._pod_group_index.has_victims(queue)]
        victims = partial(_all_victims, problem.victim_policy, queues, self._session.stop)
        pruner = Pruner(self._session, self._placer, problem.feasible, problem.tasks, victims)
        bound = None
        if "reclaim_bound" in self._session.options.speedups and not self._has_inexact_shapes:
            free = self._placer.index.free_gpu_bound()
            bound = ReclaimBound(self._session, problem.action, problem.pod_group, queues, free)
        problem.pruning = PruningBounds(pruner, bound, self._counts_whole_gpus)
        return bound is None or bound.is_possible(problem.tasks, queues)

    def feasible(self, tasks: Iterable[int]) -> int:
        """Nodes to consider: all, unless every task needs GPU capacity (semantics R5.60)."""
        if not all(self._session.cluster.tasks[task].shape.needs_gpu_capacity for task in tasks):
            return self._placer.index.all_nodes
        return self._placer.index.nodes_with_free_gpus()

    def _search(
        self,
        statement: Statement,
        problem: SearchProblem,
        generator: Callable[[ScenarioAccumulator], Iterable[Scenario]],
        budget: Budget,
    ) -> bool:
        """Find the largest number of tasks that can be placed, then place all (semantics R5.4-R5.7)."""
        recorded: tuple[Batch, ...] = ()
        total, low, high, size = len(problem.tasks), 0, len(problem.tasks) + 1, 1
        while high - low > 1:
            scenario = self._attempt(statement, problem, generator, budget, recorded, size)
            if scenario is not None:
                self._is_first_enough = total == 1 and _is_first_alone(problem.sequence, scenario)
                recorded, low = self.simulator.displaced(scenario), size
                if size == total and len(recorded) == len(scenario.recorded) + len(scenario.potential):
                    break
                statement.rollback(0)
            else:
                high = size
            if budget.is_exhausted:
                return False
            size = min(2 * low, total) if high > total else (low + high) // 2
        else:
            if low == 0 or not self._attempt(statement, problem, generator, budget, recorded, total):
                return False
        if self._gangs.is_satisfied(problem.pod_group):
            return True
        statement.rollback(0)
        return False

    def _attempt(
        self,
        statement: Statement,
        problem: SearchProblem,
        generator: Callable[[ScenarioAccumulator], Iterable[Scenario]],
        budget: Budget,
        recorded: tuple[Batch, ...],
        size: int,
    ) -> Scenario | None:
        """First scenario that works for the first `size` tasks; its moves are in the statement."""
        builder = self._accumulator(problem, recorded, size)
        counters = self._session.counters
        for scenario in generator(builder):
            self._session.stop.check()
            counters.generated += 1
            if builder.is_hopeless(scenario):
                counters.pruned += 1
                continue
            if problem.failed and scenario.fingerprint() in problem.failed:
                counters.duplicate += 1
                continue
            if not budget.spend():
                return None
            if not self._is_guess(problem, scenario) and self._works(statement, problem, scenario):
                return scenario
            problem.failed.add(scenario.fingerprint())
        return None

    def _is_guess(self, problem: SearchProblem, scenario: Scenario) -> bool:
        """Whether the scenario was tried already; if so, count its result now."""
        if not problem.has_guessed or not _is_first_alone(problem.sequence, scenario):
            return False
        if problem.guess is not None:
            problem.was_validated, problem.rejection = True, problem.guess
        return True

    def _works(self, statement: Statement, problem: SearchProblem, scenario: Scenario) -> bool:
        self._session.counters.simulated += 1
        if not self.simulator.run(statement, scenario, problem.feasible):
            return False
        problem.was_validated = True
        rejection = problem.validates(scenario)
        if rejection is None:
            return True
        problem.rejection = rejection
        statement.rollback(0)
        return False

    def _accumulator(
        self, problem: SearchProblem, recorded: tuple[Batch, ...], size: int
    ) -> ScenarioAccumulator:
        sequence, pruning = problem.sequence, problem.pruning
        if sequence is None:
            sequence = problem.sequence = self._victims(problem, problem.victim_queues, ())
        if pruning is not None and pruning.prefix_bounds is None:
            pruning.prefix_bounds = PrefixBounds(sequence, pruning.pruner, pruning.bound, problem.tasks)
        skips = sequence.numbers(recorded)
        if skips is None:
            sequence, skips = self._victims(problem, problem.victim_queues, recorded), []
            pruning = None if pruning is None else pruning.for_other_order()
        return ScenarioAccumulator(
            self._session,
            self._placer,
            problem.pod_group,
            problem.tasks[:size],
            recorded,
            sequence,
            frozenset(skips),
            problem.feasible,
            pruning,
        )

    def _victims(
        self, problem: SearchProblem, queues: Sequence[int], recorded: Iterable[Batch]
    ) -> VictimSequence:
        """Victims in order, without the recorded ones."""
        tasks = frozenset([task for batch in recorded for task in batch.tasks])
        order = VictimOrder(self._session, self.victim_entries, tasks, problem.max_victims)
        for queue in queues:
            order.fill(queue, problem.victim_policy.candidates(queue))
        return VictimSequence(self._session.ledger, order)


def _all_victims(victim_policy: VictimPolicy, queues: Sequence[int], stop: StopSignal) -> Iterator[int]:
    """Active tasks of all pod groups of these queues that may be victims."""
    for queue in queues:
        if victim_policy.allows_queue(queue):
            for entry in victim_policy.candidates(queue):
                stop.check()
                for tasks in entry.item.remaining.values():
                    yield from tasks


def _is_first_alone(sequence: VictimSequence | None, scenario: Scenario) -> bool:
    """Whether the scenario consists of the first victim of the order only."""
    if sequence is None or scenario.recorded or len(scenario.potential) != 1:
        return False
    return scenario.potential[0] is sequence.batches[0]
