"""The components of a search. Speedups replace some of the plain ones."""

from collections.abc import Sequence
from typing import final

from tenure.solver.framework.session import Session
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.node_order import AllowedNodes, NodeOrder, ScoredNodes
from tenure.solver.search.pod_group_lists import AllPending, PodGroupLists, SimulationOrder, SortedPodGroups
from tenure.solver.search.search import Search
from tenure.solver.search.search_result import SearchState
from tenure.solver.search.speedup import FitCheck, Speedup
from tenure.solver.search.victim_entries import CandidateSource, CheckedCandidates, VictimEntries


@final
class SearchComponents:
    """Components of the search. Those below the line have a plain and a fast implementation."""

    def __init__(self, session: Session) -> None:
        """The plain components, without speedups."""
        gangs = GangPlanner(session)
        lists, entries = SortedPodGroups(session, gangs), VictimEntries(session, gangs)
        self.session = session
        self.gangs = gangs
        self.allowed_nodes = AllowedNodes(session)
        self.victim_entries = entries
        # ---
        self.node_order: NodeOrder = ScoredNodes(session)
        self.pod_groups: PodGroupLists = lists
        self.simulation_order: SimulationOrder = AllPending(session, gangs, lists)
        self.candidates: CandidateSource = CheckedCandidates(session, lists, entries)
        self.speedups: tuple[Speedup, ...] = ()

    def known_failure(self, search: Search) -> Rejection | None:
        """Why the search must fail as a whole, as far as a speedup knows."""
        for speedup in self.speedups:
            rejection = speedup.known_failure(search)
            if rejection is not None:
                return rejection
        return None

    def first_scenario(self, state: SearchState) -> Scenario | None:
        """The scenario that will be proposed first, if a speedup knows it."""
        for speedup in self.speedups:
            scenario = speedup.first_scenario(state.search, state.feasible, state.victims)
            if scenario is not None:
                return scenario
        return None

    def add_conditions(self, state: SearchState) -> Rejection | None:
        """Add the necessary conditions that speedups know, or return why the search must fail."""
        for speedup in self.speedups:
            condition = speedup.necessary_condition(state.search, state.feasible)
            if isinstance(condition, Rejection):
                return condition
            if condition is not None:
                state.conditions.append(condition)
        return None

    def record_solution(self, state: SearchState) -> None:
        """Pass the last scenario that placed any task to the speedups, when the search ends."""
        for speedup in self.speedups:
            speedup.record_solution(state.solution)

    def record_failure(self, search: Search, rejection: Rejection, *, was_validated: bool) -> None:
        """Pass the reported reason of a failed search to the speedups; never one that its budget ended."""
        for speedup in self.speedups:
            speedup.record_failure(search, rejection, was_validated=was_validated)

    def fit_check(self, preemptor: int, tasks: Sequence[int], feasible: int) -> FitCheck | None:
        """Fits of the tasks on these nodes; None if no speedup counts them."""
        for speedup in self.speedups:
            check = speedup.fit_check(preemptor, tasks, feasible)
            if check is not None:
                return check
        return None

    def close(self) -> None:
        """Release what would otherwise wait for the garbage collector."""
        self.simulation_order.close()
        self.pod_groups.close()
        for speedup in self.speedups:
            speedup.close()
        self.speedups = ()
        self.gangs.close()
