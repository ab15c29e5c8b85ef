"""Sets of victims by need: the batches of least harm that are enough, found by counting (semantics R14.18).

The search takes victims in order until the pod group fits. Here, batches are chosen by what they free
(`need_plan`). Nothing is simulated: what is proposed may fail, and competes with the solution of the search
only if it succeeds.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, final

from tenure.solver.framework.session import Session
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.node_order import AllowedNodes
from tenure.solver.search.search import NEVER, Budget
from tenure.solver.search.search_result import SearchState
from tenure.solver.search.victim_sets.chosen_batches import ChosenBatches
from tenure.solver.search.victim_sets.harm import Harm, Harms
from tenure.solver.search.victim_sets.joint_limits import Numbers
from tenure.solver.search.victim_sets.need_plan import NeedPlan
from tenure.solver.search.victim_sets.slots import Slots

MAX_BATCHES: Final = 128
"""Batches that are considered, in victim order."""
MAX_PROPOSALS: Final = 16
"""Sets that are simulated for each search."""
LEAST: Final = "least"
"""The option `victimChoice` with which sets by need compete."""


def is_by_need(session: Session) -> bool:
    """Whether sets by need are looked for."""
    options, is_in_order = session.options, session.chains.takes_victims_in_order
    return options.victim_choice == LEAST and options.fill_back != NEVER and not is_in_order


@final
class ByNeed:
    """Proposes sets of victims for one search. To be used while nothing is evicted."""

    def __init__(
        self, session: Session, allowed: AllowedNodes, state: SearchState, harms: Harms, budget: Budget
    ) -> None:
        self._session = session
        self._harms = harms
        self._state = state
        self._allowed = allowed
        self._budget = budget
        self._sequence: Final = state.victims.sequence()

    def scenarios(self, first: Sequence[Batch], least: Harm) -> Iterator[Scenario]:
        """Scenarios that may do less harm than `least`, the least one first, within the budget. `first` are
        victims that suffice. Each must be simulated and undone before the next one.
        """
        search = self._state.search
        for batches in islice(self._proposals(first, least), MAX_PROPOSALS):
            scenario = Scenario(search.preemptor, search.tasks, (), batches)
            if scenario.fingerprint() in self._state.failed:
                continue
            if not self._budget.spend():
                return
            yield scenario

    def _proposals(self, first: Sequence[Batch], least: Harm) -> Iterator[tuple[Batch, ...]]:
        """Sets of victims, the least one first."""
        tasks, facts = self._state.search.tasks, self._session.cluster.tasks
        shape, count = facts[tasks[0]].shape, 0
        if not self._budget.has_checks:
            return
        if any(facts[task].shape is not shape for task in tasks):
            return  # slots of several shapes cannot be added up
        while count < MAX_BATCHES and self._sequence.reaches(count) and self._budget.check():
            count += 1
        slots = Slots(self._session, self._allowed, shape, self._state.feasible, self._budget)
        if slots.total >= len(tasks):
            return  # amounts do not tell what is missing
        search = self._state.search
        known, budget = self._sequence, self._budget
        batches = ChosenBatches(self._session, search, known, count, self._harms, slots, budget, least)
        plan = NeedPlan(self._session, batches, len(tasks))
        found: dict[Numbers, Harm] = {}
        for numbers in plan.sets(self._numbers(first, count), least):
            harm = batches.harm(numbers)
            if harm < least and batches.leaves_whole(numbers):
                found[numbers] = harm
        for numbers in sorted(found, key=found.__getitem__):
            yield tuple([known.batches[number] for number in numbers])

    def _numbers(self, batches: Iterable[Batch], count: int) -> Numbers:
        """Numbers of batches in the sequence; none if one of them is not there as it is."""
        found, known = list[int](), self._sequence.batches
        for batch in batches:
            same = [n for n in self._sequence.of(batch.pod_group) if known[n].tasks == batch.tasks]
            if not same or same[0] >= count:
                return ()
            found.append(same[0])
        return tuple(sorted(found))
