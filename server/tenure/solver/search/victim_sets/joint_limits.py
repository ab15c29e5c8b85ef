"""Which batches may be disrupted together, before anything is simulated: by budgets and by plugins."""

from collections.abc import Iterable
from typing import Final, final

from tenure.solver.framework.session import Session
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.search.search import Budget, Search
from tenure.solver.search.victim_sequence import VictimSequence

Numbers = tuple[int, ...]
"""Batches by their numbers in victim order, sorted."""


@final
class JointLimits:
    """Limits of one search. To be used while nothing is evicted."""

    def __init__(self, session: Session, search: Search, sequence: VictimSequence, budget: Budget) -> None:
        self._session, self._search = session, search
        self._sequence, self._budget = sequence, budget
        self.is_limited: Final = session.chains.limits_victims(search.action)
        """Whether plugins limit the victims of the action."""
        self._known: dict[Numbers, bool] = {}
        """What plugins say of sets of batches."""

    def permit(self, batches: Iterable[int]) -> bool:
        """Whether all of these batches may be disrupted."""
        disruptions, numbers = self._session.disruptions, tuple(sorted(set(batches)))
        if disruptions.is_active and disruptions.holder(
            [task for number in numbers for task in self._sequence.batches[number].tasks]
        ):
            return False
        if not self.is_limited:
            return True
        known = self._known.get(numbers)
        if known is None:
            known = self._known[numbers] = self._plugins_permit(numbers)
        return known

    def is_budgeted(self, number: int) -> bool:
        """Whether a disruption budget counts any pod of a batch."""
        if not self._session.disruptions.is_active:
            return False
        facts = self._session.cluster.tasks
        return any(facts[task].facts.disruption_budgets for task in self._sequence.batches[number].tasks)

    def _plugins_permit(self, numbers: Numbers) -> bool:
        """What plugins say with these batches evicted, and nothing placed."""
        batches, search = tuple([self._sequence.batches[number] for number in numbers]), self._search
        self._budget.check()
        with self._session.statement() as statement:
            for batch in batches:
                for task in batch.tasks:
                    statement.evict(task)
            scenario = Scenario(search.preemptor, search.tasks, (), batches)
            is_permitted = self._session.chains.allows_victims(search.action, scenario)
            statement.rollback(0)
        return is_permitted
