"""Sets by need where no scenario in victim order works (semantics R14.22)."""

from collections.abc import Iterator
from typing import final

from tenure.solver.framework.session import Session
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.search.search import MAX_CHECKS, Budget
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.search_result import SearchState
from tenure.solver.search.victim_sets.by_need import ByNeed, is_by_need
from tenure.solver.search.victim_sets.costs import VictimCosts
from tenure.solver.search.victim_sets.harm import WORST, Harms


@final
class LastResort:
    """Proposes scenarios for searches that failed; each must be simulated and undone before the next one."""

    def __init__(self, session: Session, components: SearchComponents) -> None:
        self._session = session
        self._allowed = components.allowed_nodes
        self._costs = VictimCosts(session)
        self._is_used = is_by_need(session)

    def scenarios(self, state: SearchState, budget: Budget) -> Iterator[Scenario]:
        """Scenarios that were not simulated yet, within the budget. Where all victims are moved: none."""
        search = state.search
        if not self._is_used or search.action.relocates_all:
            return
        budget.begin_last_resort(MAX_CHECKS)
        harms = Harms(self._session, self._costs, search, {})
        yield from ByNeed(self._session, self._allowed, state, harms, budget).scenarios((), WORST)
