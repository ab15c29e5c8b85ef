"""Other sets of victims: the least disruptive of the first ones is taken (semantics R14.8).

The search ends with the first set that suffices. With `victimAlternatives` above 1 it goes on, and compares
the sets when each is as small as it can be made. Only sets with victims of no other queues than those of the
first one compete, so that the order of queues stands.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Move, Statement
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.verdict import OtherSet, VictimSet
from tenure.solver.plugin_api.action import Relation
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.search.scenarios import ScenarioAccumulator
from tenure.solver.search.search import Budget, Search
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.search_result import SearchResult
from tenure.solver.search.solver import Solver
from tenure.solver.search.victim_sets.costs import VictimCosts
from tenure.solver.search.victim_sets.fill_back import FillBack
from tenure.solver.search.victim_sets.solutions import redo

MAX_TRIALS: Final = 64
"""Simulations of other scenarios for each solution."""


class FoundSet(NamedTuple):
    """A set of victims that suffices, as small as it could be made."""

    priority: int
    """The highest one of its victims, if that counts."""
    pods: int
    """That are evicted or moved."""
    cost: int
    number: int
    """In the order in which they were found, so that no two are equal."""
    tasks: frozenset[int]
    """The pods."""
    known: VictimSet
    moves: list[Move]


class Alternatives:
    """Makes solutions smaller, and compares them with others."""

    def __init__(
        self, session: Session, components: SearchComponents, solver: Solver, fill_back: FillBack
    ) -> None:
        self._session = session
        self._components = components
        self._solver = solver
        self._fill_back = fill_back
        self._costs = VictimCosts(session)
        self._most = session.options.victim_alternatives

    def minimize(self, statement: Statement, result: SearchResult, budget: Budget) -> VictimSet | None:
        """Replace the solution in the statement by the least of it and of others, each made smaller.

        Returns what is known about its victims; None if no pod is disrupted.
        """
        if self._most == 1:
            return self._fill_back.minimize(statement, result.state, result.scenario, budget)
        found = self.compare(statement, result, budget, self._most)
        if not found:
            return None
        redo(statement, found[0].moves)
        if len(found) == 1:
            return found[0].known
        return found[0].known._replace(next_best=OtherSet(found[1].pods, found[1].cost))

    def compare(
        self, statement: Statement, result: SearchResult, budget: Budget, most: int
    ) -> list[FoundSet]:
        """The solution in the statement and others, each made smaller, the least one first.

        They are undone, except for one that disrupts no pod: then there are none.
        """
        state, found = result.state, list[FoundSet]()
        known = self._fill_back.minimize(statement, state, result.scenario, budget)
        if known is None:
            return found
        found.append(self._measure(statement, state.search, known, 0))
        with suppress(CycleStopped):
            for scenario in self._others(statement, result, budget):
                known = self._fill_back.minimize(statement, state, scenario, budget)
                if known is None:
                    return []
                another = self._measure(statement, state.search, known, len(found))
                if any(each.tasks == another.tasks for each in found):
                    continue
                found.append(another)
                if len(found) == most:
                    break
        statement.rollback(0)
        return sorted(found)

    def _measure(self, statement: Statement, search: Search, known: VictimSet, number: int) -> FoundSet:
        """The set of victims in the statement, which is undone."""
        groups, tasks = self._session.cluster.pod_groups, self._session.cluster.tasks
        placements, by_group = self._session.ledger.placements, dict[int, list[int]]()
        for task, origins in statement.evicted.items():
            if placements[task] != origins[0]:
                by_group.setdefault(tasks[task].pod_group, []).append(task)
        counts = search.action.victims_from is Relation.SAME_QUEUE
        priority = max([groups[victim].facts.priority for victim in by_group if counts], default=0)
        pods = frozenset([task for taken in by_group.values() for task in taken])
        moves = statement.moves.copy()
        statement.rollback(0)
        return FoundSet(priority, len(pods), self._costs.total(by_group), number, pods, known, moves)

    def _others(self, statement: Statement, result: SearchResult, budget: Budget) -> Iterator[Scenario]:
        """Further scenarios of the attempt that succeeded; the moves of each are in the statement."""
        state, first, attempt = result.state, result.scenario, result.attempt
        if first is None or attempt is None:
            return
        if not state.conditions:
            self._components.add_conditions(state)
        attempt = state.victims.attempt(attempt.generator, attempt.recorded, len(attempt.tasks))
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
