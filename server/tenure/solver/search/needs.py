"""What a probe lacks, and after how many victims it could be there.

Two necessary conditions, both cheap: slots on nodes for the pending tasks (`prune`), and as many GPUs as
fairness lets be taken (`takebound`). Victims only ever add to both, so a condition that holds keeps holding,
and the first prefix of an order that meets it can be looked up.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from tenure.solver.framework.scenario import Batch
from tenure.solver.model.workload import TaskShape
from tenure.solver.search.gains import Gains
from tenure.solver.search.prune import Pruner
from tenure.solver.search.sequence import VictimSequence
from tenure.solver.search.takebound import TakeBound, TakeCount

TAKEABLE: Final = -1
"""In place of a shape: the GPUs that may be taken."""
LOOK_AHEAD: Final = 1024
"""Batches after which a search without any promising scenario asks whether there can be one at all."""


class Needs:
    """What the pending tasks of one probe need beyond what is free, and what victims give of it."""

    def __init__(self, pruner: Pruner, bound: TakeBound | None, pending: Sequence[int]) -> None:
        self.short = pruner.wanted(pending)
        """Shapes that lack slots as it is, and how many."""
        self._pruner = pruner
        self._gains: dict[int, Gains] = {}
        """Of these shapes, once victims were added or asked about."""
        self.gpus = 0 if bound is None else bound.missing(pending)
        self._taken = None if bound is None else TakeCount(bound)

    def add(self, batches: Iterable[Batch]) -> None:
        """These are victims from now on."""
        for batch in batches:
            for shape, _ in self.short:
                self.gains(shape).add(batch.tasks)
            if self._taken is not None:
                self._taken.add(batch)

    def are_met(self) -> bool:
        """Whether the victims could give all that is needed."""
        for shape, missing in self.short:
            if not self._gains or self._gains[shape.index].total() < missing:
                return False
        return self._taken is None or self._taken.taken >= self.gpus

    def are_met_with(self, batches: Sequence[Batch]) -> bool:
        """The same if these were victims too."""
        if self._taken is not None and self._taken.taken_with(batches) < self.gpus:
            return False
        tasks = [task for batch in batches for task in batch.tasks]
        return all(self.gains(shape).total_with(tasks) >= missing for shape, missing in self.short)

    def gains(self, shape: TaskShape) -> Gains:
        """What the shape gains from the victims added so far."""
        gains = self._gains.get(shape.index)
        if gains is None:
            gains = self._gains[shape.index] = self._pruner.gains(shape)
        return gains


class Prospects:
    """What ever longer prefixes of a sequence of victims give; worked out once for all probes of a search."""

    def __init__(
        self, sequence: VictimSequence, pruner: Pruner, bound: TakeBound | None, tasks: Sequence[int]
    ) -> None:
        self._sequence = sequence
        self._pruner = pruner
        self._gains = {shape.index: pruner.gains(shape) for shape, _ in pruner.wanted(tasks)}
        self._totals: dict[int, list[int]] = {shape: [] for shape in self._gains}
        self._taken = None if bound is None else TakeCount(bound)
        self._takeable: list[int] = []

    def first(self, needs: Needs) -> int | None:
        """How many batches it takes until the needs are met; None when all of them do not suffice."""
        count = 0
        for shape, missing in needs.short:
            found = self._first(self._totals[shape.index], missing, shape.index)
            if found is None:
                return None
            count = max(count, found)
        if self._taken is None:
            return count
        taken = self._first(self._takeable, needs.gpus, TAKEABLE)
        return None if taken is None else max(count, taken)

    def may_meet(self, needs: Needs, nodes: Collection[int]) -> bool:
        """Whether slots on these nodes could suffice, whoever leaves them; a quick look."""
        for shape, missing in needs.short:
            gains, most, totals = needs.gains(shape), self._gains[shape.index], self._totals[shape.index]
            for number in range(len(totals), len(self._sequence.batches)):
                totals.append(self._total_with(shape.index, number))
            more = 0
            for node in nodes:
                more += max(0, most.on(node) - gains.on(node))
            if gains.total() + more < missing:
                return False
        return True

    def _first(self, totals: list[int], needed: int, what: int) -> int | None:
        """The totals after each batch, looked up, and continued as far as is needed."""
        if needed <= 0:
            return 0
        while not totals or totals[-1] < needed:
            number = len(totals)
            if number == LOOK_AHEAD and not self._pruner.is_possible():
                return None
            if not self._sequence.reaches(number):
                return None
            totals.append(self._total_with(what, number))
        return bisect_left(totals, needed) + 1

    def _total_with(self, what: int, number: int) -> int:
        """Slots for a shape, or takeable GPUs, when the batch of this number is added to those before."""
        batch = self._sequence.batches[number]
        if what == TAKEABLE:
            assert self._taken is not None
            self._taken.add(batch)
            return self._taken.taken
        self._gains[what].add(batch.tasks)
        return self._gains[what].total()
