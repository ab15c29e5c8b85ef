"""Attempts of a search: each places the first tasks of it, with victims that are taken in order.

All attempts share one victim sequence, unless victims recorded for fewer tasks change the order.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, final

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import UNLIMITED
from tenure.solver.plugin_api.points import ScenarioGenerator
from tenure.solver.plugin_api.scenario import Batch
from tenure.solver.search.search import Search
from tenure.solver.search.victim_batches import VictimBatches
from tenure.solver.search.victim_entries import VictimEntries
from tenure.solver.search.victim_sequence import VictimSequence


@final
class Attempt:
    """An attempt to place the first tasks of a search, with the victims recorded for fewer of them."""

    def __init__(
        self,
        generator: ScenarioGenerator,
        tasks: tuple[int, ...],
        recorded: tuple[Batch, ...],
        sequence: VictimSequence,
        skips: Collection[int],
        *,
        is_main_order: bool,
    ) -> None:
        self.generator: Final = generator
        """Proposes its scenarios."""
        self.tasks: Final = tasks
        self.recorded: Final = recorded
        self.sequence: Final = sequence
        self.skips: Final = skips
        """Numbers of the recorded batches in the sequence."""
        self.is_main_order: Final = is_main_order
        """Whether the sequence is that of the search."""


@final
class SearchVictims:
    """Candidates of one search in the order of its victims, drawn on demand."""

    def __init__(
        self, session: Session, entries: VictimEntries, search: Search, queues: Sequence[int]
    ) -> None:
        """`queues` are the victim queues that the policy allows."""
        self._session = session
        self._entries = entries
        self._search = search
        self._queues = queues
        self._sequence: VictimSequence | None = None
        self._are_there: bool | None = None

    def are_there(self) -> bool:
        """Whether any of the queues has a candidate."""
        if self._are_there is None:
            victims = self._search.victims
            self._are_there = any(next(victims.candidates(queue), None) is not None for queue in self._queues)
        return self._are_there

    def sequence(self) -> VictimSequence:
        """Victims in the order of all attempts that recorded none, or only complete batches."""
        if self._sequence is None:
            self._sequence = self._sequence_without((), self._search.max_victims)
        return self._sequence

    def whole_sequence(self) -> VictimSequence:
        """Victims in this order, also those beyond the most that may be taken."""
        return self._sequence_without((), UNLIMITED)

    def attempt(self, generator: ScenarioGenerator, recorded: tuple[Batch, ...], size: int) -> Attempt:
        """An attempt for `size` tasks; has an order of its own if the recorded victims change it."""
        tasks, sequence = self._search.tasks[:size], self.sequence()
        skips = sequence.numbers(recorded)
        if skips is not None:
            return Attempt(generator, tasks, recorded, sequence, frozenset(skips), is_main_order=True)
        others = self._sequence_without(recorded, self._search.max_victims)
        return Attempt(generator, tasks, recorded, others, frozenset(), is_main_order=False)

    def _sequence_without(self, recorded: Iterable[Batch], most: int) -> VictimSequence:
        """Victims in order, at most so many, without the recorded ones."""
        tasks = frozenset([task for batch in recorded for task in batch.tasks])
        batches = VictimBatches(self._session, self._entries, tasks, most)
        for queue in self._queues:
            batches.fill(queue, self._search.victims.candidates(queue))
        return VictimSequence(self._session.ledger, batches)
