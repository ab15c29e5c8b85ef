"""Search for victims: evictions after which a pod group can be placed (semantics section 5).

For each generator, find the largest number of tasks that can be placed: 1, 2, 4, ... then between. For each
scenario that the generator proposes, skip known failures, simulate, validate. Keep the victims of a success
and take them first from then on. Then solve for all tasks.

Speedups may save work: one knows the scenario that will be proposed first, which is then tried before
anything else is computed, and necessary conditions say which scenarios cannot succeed. Without them the
result is the same.
"""

from collections.abc import Iterable

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.plugin_api.points import ScenarioGenerator
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.attempts import Attempt, SearchVictims
from tenure.solver.search.needed_victims import without_needed
from tenure.solver.search.placer import Placer
from tenure.solver.search.relocations import Relocations
from tenure.solver.search.scenario_simulator import ScenarioSimulator
from tenure.solver.search.scenarios import ScenarioAccumulator
from tenure.solver.search.search import BUDGET_EXHAUSTED, NO_SOLUTION, Budget, Search
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.search_result import FoundBy, SearchResult, SearchState
from tenure.solver.search.victim_sets.fill_back import BesideAll
from tenure.solver.search.victim_sets.last_resort import LastResort


class Solver:
    """Solves one search at a time on the session."""

    def __init__(self, session: Session, components: SearchComponents, placer: Placer) -> None:
        self._session = session
        self._components = components
        self._placer = placer
        self._beside_all = BesideAll(session, components.gangs, placer)
        self._relocations = Relocations(session, components, placer)
        self._last_resort = LastResort(session, components)
        self.simulator = ScenarioSimulator(session, components.gangs, placer, components.simulation_order)

    def solve(self, statement: Statement, search: Search, budget: Budget) -> SearchResult:
        """Add evictions and pipelined placements for the preemptor to the statement, or return why not."""
        budget.start()
        self._session.disruptions.begin(search.action, search.preemptor)
        result = self._solve_as_is(statement, search, budget)
        if result.rejection in (None, BUDGET_EXHAUSTED) or not self._session.disruptions.override():
            return result
        return self._solve_as_is(statement, search, budget)

    def _solve_as_is(self, statement: Statement, search: Search, budget: Budget) -> SearchResult:
        """Solve it with the disruption budgets that hold."""
        feasible, queues = 0, list[int]()
        if search.tasks:
            feasible = self.feasible(search.tasks)
            self._session.chains.on_search_start(search.preemptor, search.tasks)
            self._placer.related.begin_search()
            queues = [queue for queue in search.victim_queues if search.victims.allows_queue(queue)]
        victims = SearchVictims(self._session, self._components.victim_entries, search, queues)
        state = SearchState(search, feasible, victims)
        result = self._solve(statement, state, budget) if search.tasks else state.failure(NO_SOLUTION)
        self._components.record_solution(state)
        return result

    def _solve(self, statement: Statement, state: SearchState, budget: Budget) -> SearchResult:
        """Try without victims, then the first scenario if it is known, then all that generators propose."""
        if not budget.is_exhausted:
            if self._beside_all.places(statement, state, budget):
                return state.success(None)
            few = self._relocations.solve(statement, state, budget)
            if few or self._solve_first(statement, state, budget):
                return self._found(state)
            if not state.victims.are_there():
                return state.failure(NO_SOLUTION)  # semantics R5.50
        rejection = self._components.add_conditions(state)
        if rejection is not None:
            return state.failure(rejection)
        for generator in self._session.chains.scenario_generators:
            found_by = self._solve_all(statement, state, generator, budget)
            if found_by is not None:
                return state.success(found_by)
            if budget.is_exhausted:
                return state.failure(BUDGET_EXHAUSTED)
        rejection = state.rejection
        for scenario in self._last_resort.scenarios(state, budget):
            if self.works(statement, state, scenario) and self._is_satisfied(state):
                return self._found(state)
            statement.rollback(0)
        return state.failure(rejection)

    def _found(self, state: SearchState) -> SearchResult:
        """The result of what no generator proposed."""
        generators = self._session.chains.scenario_generators
        return state.success(FoundBy(generators[0] if generators else None, ()))

    def feasible(self, tasks: Iterable[int]) -> int:
        """Nodes to consider: all, unless every task needs GPU capacity (semantics R5.60)."""
        if not all(self._session.cluster.tasks[task].shape.needs_gpu_capacity for task in tasks):
            return self._components.node_order.all_nodes
        return self._components.node_order.nodes_with_free_gpus()

    def _solve_first(self, statement: Statement, state: SearchState, budget: Budget) -> bool:
        """Try the scenario that will be proposed first, if a speedup knows it. A failure leaves no trace."""
        scenario = self._components.first_scenario(state)
        if scenario is None:
            return False
        if not self.works(statement, state, scenario):
            state.first = scenario
            state.first_rejection = state.rejection if state.was_validated else None
        elif self._is_satisfied(state) and self.simulator.displaced(scenario):
            self._session.counters.generated += 1
            state.solution = scenario
            budget.count()
            return True
        statement.rollback(0)
        state.rejection, state.was_validated = NO_SOLUTION, False
        return False

    def _solve_all(
        self, statement: Statement, state: SearchState, generator: ScenarioGenerator, budget: Budget
    ) -> FoundBy | None:
        """Find the largest number of tasks that can be placed, then place all (semantics R5.4-R5.7).

        Returns how all were placed; None: no attempt did.
        """
        recorded: tuple[Batch, ...] = ()
        total, low, high, size = len(state.search.tasks), 0, len(state.search.tasks) + 1, 1
        while high - low > 1:
            attempt = state.victims.attempt(generator, recorded, size)
            scenario = self._solve_some(statement, state, attempt, budget)
            if scenario is not None:
                state.solution = scenario
                before, recorded, low = recorded, self.simulator.displaced(scenario), size
                is_complete = len(recorded) == len(scenario.recorded) + len(scenario.potential)
                if size == total and (is_complete or recorded == before):
                    break  # the same would be found again
                statement.rollback(0)
            else:
                high = size
            if budget.is_exhausted:
                return None
            size = min(2 * low, total) if high > total else (low + high) // 2
        else:
            if low == 0:
                return None
            attempt = state.victims.attempt(generator, recorded, total)
            if self._solve_some(statement, state, attempt, budget) is None:
                return None
        if self._is_satisfied(state):
            return FoundBy(generator, attempt.recorded)
        statement.rollback(0)
        return None

    def _solve_some(
        self, statement: Statement, state: SearchState, attempt: Attempt, budget: Budget
    ) -> Scenario | None:
        """First scenario of an attempt that works; its moves are in the statement."""
        builder = ScenarioAccumulator(self._components, state, attempt)
        counters = self._session.counters
        for scenario in attempt.generator.scenarios(builder):
            self._session.stop.check()
            counters.generated += 1
            if builder.is_ruled_out(scenario):
                counters.pruned += 1
                continue
            if state.failed and scenario.fingerprint() in state.failed:
                counters.duplicate += 1
                continue
            if not budget.spend():
                return None
            if not self._is_first(state, scenario) and self.works(statement, state, scenario):
                return scenario
            state.failed.add(scenario.fingerprint())
            found = self._solve_without_needed(statement, state, scenario, budget)
            if found is not None:
                return found
        return self._solve_with_all(statement, state, builder, budget)

    def _solve_with_all(
        self, statement: Statement, state: SearchState, builder: ScenarioAccumulator, budget: Budget
    ) -> Scenario | None:
        """All victims of the attempt: some free nothing, but keep the preemptor away (R5.65)."""
        victims = [task for batch in builder.potential for task in batch.tasks]
        if not (victims and self._placer.related.may_be_kept_away(state.search.tasks, victims)):
            return None
        scenario = builder.scenario(builder.potential)
        if scenario.fingerprint() in state.failed or not budget.spend():
            return None
        if self.works(statement, state, scenario):
            return scenario
        state.failed.add(scenario.fingerprint())
        return self._solve_without_needed(statement, state, scenario, budget)

    def _solve_without_needed(
        self, statement: Statement, state: SearchState, scenario: Scenario, budget: Budget
    ) -> Scenario | None:
        """The scenario without victims that the preemptor needs where they are, if that works (R5.64)."""
        for smaller in without_needed(scenario, self._session.chains):
            if smaller.fingerprint() in state.failed:
                continue
            if not budget.spend():
                return None
            if self.works(statement, state, smaller):
                return smaller
            state.failed.add(smaller.fingerprint())
        return None

    def _is_first(self, state: SearchState, scenario: Scenario) -> bool:
        """Whether the scenario was simulated before the others; if so, take its result into account now."""
        first = state.first
        if first is None or scenario.recorded or scenario.potential != first.potential:
            return False
        if state.first_rejection is not None:
            state.was_validated, state.rejection = True, state.first_rejection
        return True

    def works(self, statement: Statement, state: SearchState, scenario: Scenario) -> bool:
        """Simulate and validate; on failure the statement is empty."""
        self._session.counters.simulated += 1
        if not self.simulator.run(statement, scenario, state.feasible, state.is_blocked_by):
            return False
        state.was_validated = True
        if (rejection := state.search.validates(scenario)) is None:
            state.accepted = scenario
            return True
        if rejection is not NO_SOLUTION:
            state.rejection = rejection
        statement.rollback(0)
        return False

    def _is_satisfied(self, state: SearchState) -> bool:
        return self._components.gangs.is_satisfied(state.search.preemptor)
