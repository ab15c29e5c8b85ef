"""Other sets of victims: the one that does the least harm is taken (semantics R14.8, R14.18).

The search ends with the first set that suffices. Sets by need compete with it, and with `victimAlternatives`
above 1 those that the search finds next. They are compared when each is as small as it can be made.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import Final, NamedTuple

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Move, Statement
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.verdict import Minimality, OtherSet, VictimSet
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.search.scenarios import ScenarioAccumulator
from tenure.solver.search.search import Budget
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.search_result import SearchResult, SearchState
from tenure.solver.search.solver import Solver
from tenure.solver.search.victim_sets.by_need import MAX_BATCHES, ByNeed, is_by_need
from tenure.solver.search.victim_sets.costs import VictimCosts
from tenure.solver.search.victim_sets.fill_back import FillBack
from tenure.solver.search.victim_sets.harm import Harm, Harms, deciding_measure
from tenure.solver.search.victim_sets.least_harm import HarmBounds
from tenure.solver.search.victim_sets.solutions import redo

GPU_HOUR: Final = 3_600_000
"""In thousandths of a GPU-second."""
MAX_TRIALS: Final = 64
"""Simulations of other scenarios for each solution."""


class FoundSet(NamedTuple):
    """A set of victims that suffices, as small as it could be made."""

    harm: Harm
    cost: int
    tasks: frozenset[int]
    """The pods."""
    known: VictimSet
    moves: list[Move]

    @property
    def pods(self) -> int:
        """That are evicted or moved."""
        return self.harm.pods

    def beside(self, chosen: "FoundSet") -> OtherSet:
        """This set, as another one than what was chosen."""
        pod_groups = tuple(dict.fromkeys([pod_group for pod_group, _ in self.harm.names]))
        return OtherSet(self.pods, self.cost, pod_groups, deciding_measure(chosen.harm, self.harm))


class _Solution(NamedTuple):
    """A set of victims whose harm is not measured yet."""

    taken: dict[int, list[int]]
    """Its pods, by pod group."""
    evicted: dict[int, list[int]]
    """Those that are not only moved."""
    known: VictimSet
    moves: list[Move]

    def pods(self) -> frozenset[int]:
        return frozenset([task for tasks in self.taken.values() for task in tasks])


class Alternatives:
    """Makes solutions smaller, and compares them with others."""

    def __init__(
        self, session: Session, components: SearchComponents, solver: Solver, fill_back: FillBack
    ) -> None:
        options = session.options
        self._session = session
        self._components = components
        self._solver = solver
        self._fill_back = fill_back
        self._costs = VictimCosts(session)
        self._bounds = HarmBounds(session, components.allowed_nodes)
        self._most = options.victim_alternatives
        self._is_by_need = is_by_need(session)

    def minimize(self, statement: Statement, result: SearchResult, budget: Budget) -> VictimSet | None:
        """Replace the solution in the statement by the least of it and of others, each made smaller.

        Returns what is known about its victims; None if no pod is disrupted.
        """
        if self._most == 1 and not self._is_by_need:
            return self._fill_back.minimize(statement, result.state, result.scenario, budget)
        found = self.compare(statement, result, budget, self._most)
        if not found:
            return None
        redo(statement, found[0].moves)
        if len(found) == 1:
            return found[0].known
        return found[0].known._replace(next_best=found[1].beside(found[0]))

    def compare(
        self, statement: Statement, result: SearchResult, budget: Budget, most: int, *, alone: int = 0
    ) -> list[FoundSet]:
        """The solution in the statement and others, each made smaller, the least one first.

        They are undone, except for one that disrupts no pod: then there are none. Of so many pod groups,
        `alone`, each is tried alone, whatever its harm.
        """
        known = self._fill_back.minimize(statement, result.state, result.scenario, budget)
        if known is None:
            return []
        found = [self._solution(statement, known)]
        harms = Harms(self._session, self._costs, result.state.search, found[0].taken)
        with suppress(CycleStopped):
            others = self._others(statement, result, harms, budget, found, most)
            for scenario in chain(others, self._each_alone(statement, result.state, alone)):
                known = self._fill_back.minimize(statement, result.state, scenario, budget)
                if known is None:
                    return []
                another = self._solution(statement, known)
                if all(each.pods() != another.pods() for each in found):
                    found.append(another)
        statement.rollback(0)
        measured = sorted([self._measured(harms, each) for each in found], key=_harm_of)
        measured[0] = self._compared_with_bound(result.state, measured[0])
        return measured

    def _compared_with_bound(self, state: SearchState, found: FoundSet) -> FoundSet:
        """The set, with the knowledge that none disrupts fewer pods, if a bound shows it (R14.6)."""
        if found.pods == 1 or found.known.minimality is Minimality.NOT_TRIED:
            return found
        if self._bounds.least_pods(state) < found.pods:
            return found
        return found._replace(known=found.known._replace(minimality=Minimality.LEAST))

    def _solution(self, statement: Statement, known: VictimSet) -> _Solution:
        """The set of victims in the statement, which is undone."""
        tasks, placements = self._session.cluster.tasks, self._session.ledger.placements
        taken, evicted = dict[int, list[int]](), dict[int, list[int]]()
        for task, origins in statement.evicted.items():
            if placements[task] != origins[0]:
                taken.setdefault(tasks[task].pod_group, []).append(task)
                if placements[task].status is TaskStatus.RELEASING:
                    evicted.setdefault(tasks[task].pod_group, []).append(task)
        moves = statement.moves.copy()
        statement.rollback(0)
        return _Solution(taken, evicted, known, moves)

    def _measured(self, harms: Harms, found: _Solution) -> FoundSet:
        harm = harms.of(found.taken, found.evicted)
        return FoundSet(harm, self._costs.total(found.taken), found.pods(), found.known, found.moves)

    def _others(
        self,
        statement: Statement,
        result: SearchResult,
        harms: Harms,
        budget: Budget,
        found: list[_Solution],
        most: int,
    ) -> Iterator[Scenario]:
        """Other scenarios that work: sets by need, then as many as are wanted of those that come next."""
        if result.scenario is None or result.found_by is None:
            return
        if self._is_by_need and not self._is_least(result.state, harms, found[0]):
            yield from self._sets_by_need(statement, result, harms, budget, found)
        wanted = most - 1
        if wanted:
            before = len(found)
            for scenario in self._next_ones(statement, result, budget):
                yield scenario
                if len(found) - before == wanted:
                    return

    def _is_least(self, state: SearchState, harms: Harms, found: _Solution) -> bool:
        """Whether no set can do less harm, except by less than a lost GPU hour or what counts after it."""
        harm = harms.of(found.taken, found.evicted)
        if harm.below_guarantee or harm.cost_class or not harms.are_lowest(found.taken):
            return False
        if (harm.pods, harm.gpu_milli) != self._bounds.of(state):
            return False
        return harm.lost // GPU_HOUR <= self._bounds.least_lost(harm.gpu_milli) // GPU_HOUR

    def _sets_by_need(
        self,
        statement: Statement,
        result: SearchResult,
        harms: Harms,
        budget: Budget,
        found: list[_Solution],
    ) -> Iterator[Scenario]:
        """Scenarios of sets by need that work; the moves of each are in the statement."""
        budget.end_last_resort()
        state, first = result.state, result.scenario
        assert first is not None
        needs = ByNeed(self._session, self._components.allowed_nodes, state, harms, budget)
        least = harms.of(found[0].taken, found[0].taken)  # as proposals are measured: they may move some
        for scenario in needs.scenarios((*first.recorded, *first.potential), least):
            if self._solver.works(statement, state, scenario):
                if self._components.gangs.is_satisfied(state.search.preemptor):
                    yield scenario
                    return
                statement.rollback(0)

    def _each_alone(self, statement: Statement, state: SearchState, most: int) -> Iterator[Scenario]:
        """One scenario for each of the first pod groups in victim order, if it works."""
        if not most:
            return
        search, sequence, count = state.search, state.victims.sequence(), 0
        while count < MAX_BATCHES and sequence.reaches(count):
            count += 1
        groups = dict.fromkeys([batch.pod_group for batch in sequence.batches[:count]])
        for pod_group in islice(groups, most):
            batches = tuple([sequence.batches[number] for number in sequence.of(pod_group)])
            scenario = Scenario(search.preemptor, search.tasks, (), batches)
            if self._solver.works(statement, state, scenario):
                if self._components.gangs.is_satisfied(search.preemptor):
                    yield scenario
                statement.rollback(0)

    def _next_ones(self, statement: Statement, result: SearchResult, budget: Budget) -> Iterator[Scenario]:
        """Further scenarios of the attempt that succeeded; the moves of each are in the statement."""
        state, first, found_by = result.state, result.scenario, result.found_by
        if first is None or found_by is None or found_by.generator is None:
            return
        if not state.conditions:
            self._components.add_conditions(state)
        attempt = state.victims.attempt(found_by.generator, found_by.recorded, len(state.search.tasks))
        groups, counters = self._session.cluster.pod_groups, self._session.counters
        queues = {groups[victim].queue for victim in first.victims()}
        victims = ScenarioAccumulator(self._components, state, attempt)
        state.failed.add(first.fingerprint())
        trials = 0
        for scenario in attempt.generator.scenarios(victims):
            self._session.stop.check()
            counters.generated += 1
            if victims.is_ruled_out(scenario):
                counters.pruned += 1
            elif scenario.fingerprint() in state.failed:
                counters.duplicate += 1
            elif queues.issuperset([groups[victim].queue for victim in scenario.victims()]):
                if trials == MAX_TRIALS or not budget.spend():
                    return
                trials += 1
                state.failed.add(scenario.fingerprint())
                if self._solver.works(statement, state, scenario):
                    if self._components.gangs.is_satisfied(state.search.preemptor):
                        yield scenario
                    statement.rollback(0)


def _harm_of(found: FoundSet) -> Harm:
    return found.harm
