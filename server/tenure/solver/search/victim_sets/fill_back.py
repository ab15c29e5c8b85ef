"""Fill back: who need not yield is given back before a solution is committed (semantics R14.1-R14.9).

A search takes victims in order until enough is free, so early ones may turn out to be needless. First,
victims go back where they were, beside the beneficiary, in one pass. Then the solution is simulated again
without each victim that is left and not known to be necessary, up to a limit.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.resources import Share
from tenure.solver.model.verdict import UNTRIED_SET, VictimSet
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.node_order import bit_set
from tenure.solver.search.placer import Placer
from tenure.solver.search.scenario_simulator import ScenarioSimulator
from tenure.solver.search.search import NEVER, Budget
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.search_result import SearchState
from tenure.solver.search.victim_sets.necessary_victims import NecessaryVictims, Need, is_coherent
from tenure.solver.search.victim_sets.solutions import Minimization, Solution, batches_of, redo
from tenure.solver.search.victim_sets.stay_home import StayHome

FULL: Final = "full"
_MAX_REBUILDS: Final = 16
"""Victims that are put back one by one if all at once are refused."""


class BesideAll:
    """Places beneficiaries beside all possible victims: then none of these need yield (semantics R14.7)."""

    def __init__(self, session: Session, gangs: GangPlanner, placer: Placer) -> None:
        self._counters = session.counters
        self._gangs = gangs
        self._placer = placer
        self._is_used = session.options.fill_back != NEVER

    def places(self, statement: Statement, state: SearchState, budget: Budget) -> bool:
        """Whether it is placed without a victim, and all validators accept; else the statement is empty."""
        search = state.search
        if not self._is_used or search.is_trial or not state.feasible:
            return False
        if not state.victims.are_there():
            return False
        if self._placer.place(statement, search.preemptor, [*search.tasks], state.feasible, simulation=True):
            return False
        self._counters.simulated += 1
        scenario = Scenario(search.preemptor, search.tasks, (), ())
        if self._gangs.is_satisfied(search.preemptor) and search.validates(scenario) is None:
            state.accepted = scenario
            budget.count()
            return True
        statement.rollback(0)
        return False


class FillBack:
    """Makes solutions smaller, one at a time."""

    def __init__(
        self, session: Session, components: SearchComponents, placer: Placer, simulator: ScenarioSimulator
    ) -> None:
        self._session = session
        self._components = components
        self._placer = placer
        self._simulator = simulator
        self._necessary = NecessaryVictims(session, components.allowed_nodes)
        self._mode = session.options.fill_back
        self._stay_home = StayHome(session, placer)
        self._max_simulations = session.options.max_fill_back_simulations

    def minimize(
        self, statement: Statement, state: SearchState, scenario: Scenario | None, budget: Budget
    ) -> VictimSet | None:
        """Replace the solution of a scenario in the statement by a smaller one, if there is any.

        Returns what is known about its size; None if no pod is disrupted. If the cycle must end meanwhile,
        the smallest solution so far is kept.
        """
        if self._mode == NEVER:
            return UNTRIED_SET
        assert scenario is not None
        solution = self._measure(statement, batches_of(scenario))
        if not solution.batches:
            return None
        run = Minimization(solution)
        batches = solution.batches
        is_one = len(batches) == len(batches[0].tasks) == 1
        if is_one and self._necessary.has_no_node(state.search.tasks, state.feasible):
            run.needs = [Need.NECESSARY]
            return run.result(len(solution.disrupted), len(state.search.tasks))
        with suppress(CycleStopped):
            self._improve(statement, state, budget, run)
        statement.rollback(run.held)
        redo(statement, run.best.moves[run.held :])
        if run.best.moved:
            with suppress(CycleStopped):
                self._send_home(statement, state, run)
        return run.result(len(solution.disrupted), len(state.search.tasks)) if run.best.batches else None

    def _improve(self, statement: Statement, state: SearchState, budget: Budget, run: Minimization) -> None:
        """Put back in one pass, then leave out one victim after the other."""
        if self._holds_evictions(statement, run):
            run.needs = self._count_needs(statement, state, run.best)
        else:
            run.needs = self._needs(statement, state, run.best)
        if Need.OPEN not in run.needs:
            return
        run.held = 0
        statement.rollback(0)
        self._put_back(statement, state, run)
        while self._mode == FULL and len(run.refuted) < self._max_simulations:
            number = run.next_open()
            if number is None or not budget.spend():
                return
            smaller = self._solve_without(statement, state, run.best.batches, number)
            run.refuted.add(run.best.batches[number])
            if smaller is not None and smaller.is_better_than(run.best):
                self._adopt(statement, state, run, smaller)

    def _send_home(self, statement: Statement, state: SearchState, run: Minimization) -> None:
        """Let single moved tasks stay where they were, if the validators accept what comes out."""
        found, search = run.best, state.search
        try:
            moves = self._stay_home.send(statement, found.moves, search.tasks)
            fewer = self._accept(
                statement, state, Scenario(search.preemptor, search.tasks, (), found.batches)
            )
            if fewer is not None and fewer.is_better_than(found):
                needs = self._needs(statement, state, fewer)
                run.best, run.needs = fewer._replace(moves=moves), needs
        finally:
            statement.rollback(0)
            redo(statement, run.best.moves)

    def _adopt(self, statement: Statement, state: SearchState, run: Minimization, smaller: Solution) -> None:
        run.best, run.needs = smaller, ()
        run.needs = self._needs(statement, state, smaller)

    def _measure(self, statement: Statement, batches: Iterable[Batch]) -> Solution:
        """The solution that the statement has."""
        placements, left = self._session.ledger.placements, list[Batch]()
        moved, evicted = set[int](), set[int]()
        for batch in batches:
            before = len(moved) + len(evicted)
            for task in batch.tasks:
                status = placements[task].status
                if status is TaskStatus.RELEASING:
                    evicted.add(task)
                elif status is TaskStatus.PIPELINED:
                    moved.add(task)
            if len(moved) + len(evicted) > before:
                left.append(batch)
        return Solution(
            tuple(left), statement.moves.copy(), frozenset(moved | evicted), len(evicted), frozenset(moved)
        )

    def _nodes(self, state: SearchState, batches: Iterable[Batch]) -> int:
        """Nodes to consider: those of the search, and those of the victims, which run or are evicted there
        (semantics R5.60).
        """
        placements = self._session.ledger.placements
        left = {placements[task].node for batch in batches for task in batch.tasks}
        return state.feasible | bit_set(left)

    def _holds_evictions(self, statement: Statement, run: Minimization) -> bool:
        """Roll back to the evictions of the solution, if all other moves of the statement come later."""
        tasks = {task for batch in run.best.batches for task in batch.tasks}
        for move in statement.moves[: len(tasks)]:
            if move.after.status is not TaskStatus.RELEASING or move.task not in tasks:
                return False
        run.held = len(tasks)
        statement.rollback(run.held)
        return True

    def _needs(self, statement: Statement, state: SearchState, found: Solution) -> list[Need]:
        statement.rollback(0)
        self._evict(statement, found.batches)
        needs = self._count_needs(statement, state, found)
        statement.rollback(0)
        return needs

    def _count_needs(self, statement: Statement, state: SearchState, found: Solution) -> list[Need]:
        nodes = self._nodes(state, found.batches)
        return self._necessary.find(statement, state.search.tasks, found.batches, nodes, found.moved)

    def _put_back(self, statement: Statement, state: SearchState, run: Minimization) -> None:
        """Victims go home beside the beneficiary; the others are placed in queue order again (R14.2, R14.3).

        Refused all at once, they go home one by one.
        """
        first = run.best
        after = {move.task: move.after for move in first.moves}
        places = [after[task] for task in state.search.tasks]
        home = self._fitting(statement, state, first.batches, places, run.needs)
        smaller = self._rebuild(statement, state, first, home, places) if home else None
        if smaller is None and len(home) > 1:
            kept = list[int]()
            for number in home[:_MAX_REBUILDS]:
                another = self._rebuild(statement, state, first, [*kept, number], places)
                if another is not None:
                    kept.append(number)
                    smaller = another
        if smaller is not None:
            self._adopt(statement, state, run, smaller)

    def _fitting(
        self,
        statement: Statement,
        state: SearchState,
        batches: Sequence[Batch],
        places: Sequence[Placement],
        needs: Sequence[Need],
    ) -> list[int]:
        """Batches that fit where they were, the best protected first, a core before its surplus."""
        self._evict(statement, batches)
        home, groups = list[int](), self._session.cluster.pod_groups
        if self._place_at(statement, state.search.tasks, places):
            for number in range(len(batches) - 1, -1, -1):
                self._session.stop.check()
                batch, mark = batches[number], statement.checkpoint()
                if needs[number] is Need.NECESSARY:
                    continue
                if self._goes_home(statement, batch) and is_coherent(
                    groups[batch.pod_group].root, self._session.ledger.active_allocated
                ):
                    home.append(number)
                else:
                    statement.rollback(mark)
        statement.rollback(0)
        return home

    def _goes_home(self, statement: Statement, batch: Batch) -> bool:
        if self._placer.capacity(batch.pod_group, list(batch.tasks)) is not None:
            return False
        for task in batch.tasks:
            origin = statement.evicted[task][-1]
            if not self._place_at(statement, (task,), (origin,)):
                return False
            if self._session.ledger.placements[task] != origin:
                return False
        return True

    def _place_at(self, statement: Statement, tasks: Sequence[int], places: Sequence[Placement]) -> bool:
        for number, task in enumerate(tasks):
            place = places[number]
            if self._placer.place_reserved(statement, task, place.node, place.gpu_groups, simulation=True):
                return False
        return True

    def _rebuild(
        self,
        statement: Statement,
        state: SearchState,
        found: Solution,
        home: Iterable[int],
        places: Sequence[Placement],
    ) -> Solution | None:
        """The solution without the batches that are home, if it is valid and better. Its moves are undone."""
        left_out = set(home)
        smaller: Solution | None = None
        batches = tuple(batch for i, batch in enumerate(found.batches) if i not in left_out)
        search = state.search
        scenario = Scenario(search.preemptor, search.tasks, (), batches)
        self._session.counters.simulated += 1
        self._evict(statement, batches)
        waiting = dict.fromkeys(scenario.victims())
        order = self._queue_order(statement, scenario, waiting)
        first = next(order)  # the order begins with the ledger as it is now
        is_within = self._placer.capacity(search.preemptor, search.tasks) is None
        if is_within and self._place_at(statement, search.tasks, places):
            others = filter(waiting.__contains__, chain((first,), order))
            nodes = self._nodes(state, batches)
            self._simulator.place_others(statement, others, waiting, nodes, search.tasks)
            smaller = self._accept(statement, state, scenario)
        statement.rollback(0)
        return smaller if smaller is not None and smaller.is_better_than(found) else None

    def _queue_order(self, statement: Statement, scenario: Scenario, victims: Iterable[int]) -> Iterator[int]:
        """Beneficiary and victims in queue order (semantics R5.53)."""
        demand, gangs = self._session.ledger.demand, self._components.gangs

        def share(pod_group: int) -> Share:
            if pod_group == scenario.preemptor:
                return demand(scenario.pending)
            return demand(gangs.next_tasks(pod_group, statement.evicted))

        return self._components.simulation_order.in_order(scenario.preemptor, victims, share)

    def _solve_without(
        self, statement: Statement, state: SearchState, batches: Sequence[Batch], number: int
    ) -> Solution | None:
        """The result of the simulation without one of the batches, if it is valid (semantics R14.4)."""
        search, left = state.search, (*batches[:number], *batches[number + 1 :])
        scenario = Scenario(search.preemptor, search.tasks, (), left)
        self._session.counters.simulated += 1
        if left:
            fits = self._simulator.run(statement, scenario, state.feasible)
        else:
            tasks, nodes = [*search.tasks], state.feasible
            fits = not self._placer.place(statement, search.preemptor, tasks, nodes, simulation=True)
        found = self._accept(statement, state, scenario) if fits else None
        statement.rollback(0)
        return found

    def _accept(self, statement: Statement, state: SearchState, scenario: Scenario) -> Solution | None:
        """What the statement has, if the beneficiary has its minimum and the validators agree."""
        search = state.search
        if (
            not self._components.gangs.is_satisfied(search.preemptor)
            or search.validates(scenario) is not None
        ):
            return None
        return self._measure(statement, scenario.potential)

    def _evict(self, statement: Statement, batches: Iterable[Batch]) -> None:
        for batch in batches:
            for task in batch.tasks:
                statement.evict(task)
