"""Search for victims: evictions after which a pod group can be placed (semantics section 5).

For each generator, find the largest number of tasks that can be placed: 1, 2, 4, ... then between. For each
scenario that the generator proposes, skip known failures, simulate, validate. Keep the victims of a success
and take them first from then on. Then solve for all tasks.

Oracles may save work: one knows the scenario that will be proposed first, which is then tried before anything
else is computed, and outlooks know which scenarios cannot succeed. Without them the result is the same.
"""

from collections.abc import Iterable

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.points import ScenarioGenerator
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.oracle import BUDGET_EXHAUSTED, NO_SOLUTION, Budget, Probe, Search, SearchParts
from tenure.solver.search.placer import Placer
from tenure.solver.search.scenario_simulator import ScenarioSimulator
from tenure.solver.search.scenarios import ScenarioAccumulator
from tenure.solver.search.victim_sets.fill_back import BesideAll


class Solver:
    """Solves one search at a time on the session."""

    def __init__(self, session: Session, parts: SearchParts, placer: Placer) -> None:
        self._session = session
        self._parts = parts
        self._beside_all = BesideAll(session, parts.gangs, placer)
        self.simulator = ScenarioSimulator(session, parts.gangs, placer, parts.simulation_order)

    def solve(self, statement: Statement, search: Search, budget: Budget) -> Rejection | None:
        """Add evictions and pipelined placements for the preemptor to the statement, or return why not."""
        budget.start()
        if not search.tasks:
            return NO_SOLUTION
        search.feasible = self.feasible(search.tasks)
        self._session.chains.on_search_start(search.preemptor, search.tasks)
        search.queues = [queue for queue in search.victim_queues if search.victims.allows_queue(queue)]
        if not budget.is_exhausted:
            if self._beside_all.places(statement, search, budget):
                return None
            if self._solve_first(statement, search, budget):
                return None
            if not search.has_victims():
                return NO_SOLUTION  # semantics R5.50
        rejection = self.look_ahead(search)
        if rejection is not None:
            return rejection
        for generator in self._session.chains.scenario_generators:
            if self._solve_all(statement, search, generator, budget):
                return None
            if budget.is_exhausted:
                return BUDGET_EXHAUSTED
        return search.rejection

    def feasible(self, tasks: Iterable[int]) -> int:
        """Nodes to consider: all, unless every task needs GPU capacity (semantics R5.60)."""
        if not all(self._session.cluster.tasks[task].shape.needs_gpu_capacity for task in tasks):
            return self._parts.node_order.all_nodes
        return self._parts.node_order.nodes_with_free_gpus()

    def _solve_first(self, statement: Statement, search: Search, budget: Budget) -> bool:
        """Try the scenario that will be proposed first, if an oracle knows it. A failure leaves no trace."""
        for oracle in self._parts.oracles:
            scenario = oracle.first_scenario(search)
            if scenario is None:
                continue
            if not self.works(statement, search, scenario):
                search.first = scenario
                search.first_rejection = search.rejection if search.was_validated else None
            elif self._is_satisfied(search) and self.simulator.displaced(scenario):
                self._session.counters.generated += 1
                search.solution = scenario
                return budget.spend()
            statement.rollback(0)
            search.rejection, search.was_validated = NO_SOLUTION, False
            return False
        return False

    def look_ahead(self, search: Search) -> Rejection | None:
        """Collect the outlooks of the oracles, or return why the search must fail."""
        for oracle in self._parts.oracles:
            outlook = oracle.outlook(search)
            if isinstance(outlook, Rejection):
                return outlook
            if outlook is not None:
                search.outlooks.append(outlook)
        return None

    def _solve_all(
        self, statement: Statement, search: Search, generator: ScenarioGenerator, budget: Budget
    ) -> bool:
        """Find the largest number of tasks that can be placed, then place all (semantics R5.4-R5.7)."""
        recorded: tuple[Batch, ...] = ()
        total, low, high, size = len(search.tasks), 0, len(search.tasks) + 1, 1
        while high - low > 1:
            scenario = self._solve_some(statement, search, generator, budget, recorded, size)
            if scenario is not None:
                search.solution = scenario
                before, recorded, low = recorded, self.simulator.displaced(scenario), size
                is_complete = len(recorded) == len(scenario.recorded) + len(scenario.potential)
                if size == total and (is_complete or recorded == before):
                    break  # the same would be found again
                statement.rollback(0)
            else:
                high = size
            if budget.is_exhausted:
                return False
            size = min(2 * low, total) if high > total else (low + high) // 2
        else:
            if low == 0 or not self._solve_some(statement, search, generator, budget, recorded, total):
                return False
        if self._is_satisfied(search):
            return True
        statement.rollback(0)
        return False

    def _solve_some(
        self,
        statement: Statement,
        search: Search,
        generator: ScenarioGenerator,
        budget: Budget,
        recorded: tuple[Batch, ...],
        size: int,
    ) -> Scenario | None:
        """First scenario that works for the first `size` tasks; its moves are in the statement."""
        search.attempt = (generator, recorded, size)
        victims = ScenarioAccumulator(self._parts, search, self.probe(search, recorded, size))
        counters = self._session.counters
        for scenario in generator.scenarios(victims):
            self._session.stop.check()
            counters.generated += 1
            if victims.is_ruled_out(scenario):
                counters.pruned += 1
                continue
            if search.failed and scenario.fingerprint() in search.failed:
                counters.duplicate += 1
                continue
            if not budget.spend():
                return None
            if not self._is_first(search, scenario) and self.works(statement, search, scenario):
                return scenario
            search.failed.add(scenario.fingerprint())
        return None

    def probe(self, search: Search, recorded: tuple[Batch, ...], size: int) -> Probe:
        """The next victims of the search; in an order of their own if the recorded ones change it."""
        tasks, sequence = tuple(search.tasks[:size]), search.sequence(self._parts)
        skips = sequence.numbers(recorded)
        if skips is not None:
            return Probe(tasks, recorded, sequence, frozenset(skips), is_main_order=True)
        others = search.sequence_without(recorded, self._parts)
        return Probe(tasks, recorded, others, frozenset(), is_main_order=False)

    def _is_first(self, search: Search, scenario: Scenario) -> bool:
        """Whether the scenario was simulated before the search; if so, take its result into account now."""
        first = search.first
        if first is None or scenario.recorded or scenario.potential != first.potential:
            return False
        if search.first_rejection is not None:
            search.was_validated, search.rejection = True, search.first_rejection
        return True

    def works(self, statement: Statement, search: Search, scenario: Scenario) -> bool:
        """Simulate and validate; on failure the statement is empty."""
        self._session.counters.simulated += 1
        if not self.simulator.run(statement, scenario, search.feasible, search.is_blocked_by):
            return False
        search.was_validated = True
        rejection = search.validates(scenario)
        if rejection is None:
            search.accepted = scenario
            return True
        if rejection is not NO_SOLUTION:
            search.rejection = rejection
        statement.rollback(0)
        return False

    def _is_satisfied(self, search: Search) -> bool:
        return self._parts.gangs.is_satisfied(search.preemptor)
