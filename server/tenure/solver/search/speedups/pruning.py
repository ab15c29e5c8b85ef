"""What a probe lacks, and after how many victims it could be there.

Two necessary conditions, both cheap: slots on nodes for the pending tasks (`prune`), and as many GPUs as
fairness lets be taken (`takebound`). Victims only ever add to both, so a condition that holds keeps holding,
and the first prefix of an order that meets it can be looked up.

Skipping simulations that cannot succeed, by a necessary condition that is cheap to check.

Evicting a scenario's victims frees at most what they hold. If the pending tasks would not even find slots
when nobody else competed for that room, the simulation would fail. Placing victims again only takes room,
so the first scenario that works is the same with and without pruning; `tests/properties` checks that.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.model.workload import TaskShape
from tenure.solver.plugin_api.scenario import Batch
from tenure.solver.search.placer import Placer
from tenure.solver.search.speedups.freed_fits import FreedFits
from tenure.solver.search.speedups.reclaim_bound import ReclaimBound, ReclaimTally
from tenure.solver.search.victim_order import VictimSequence


class Pruner:
    """Slots that the feasible nodes have as they are; one per preemptor, shared by its probes.

    `victims` gives every task that might be evicted for the preemptor.
    """

    def __init__(
        self,
        session: Session,
        placer: Placer,
        feasible: int,
        pending: Sequence[int],
        victims: Callable[[], Iterable[int]],
    ) -> None:
        self._pending = pending
        self._victims = victims
        self._is_possible: bool | None = None
        self._session = session
        self._placer = placer
        self._feasible = feasible
        self._free: dict[int, tuple[int, dict[int, int]]] = {}
        self._missing_fits: dict[int, list[tuple[TaskShape, int]]] = {}

    def is_possible(self) -> bool:
        """Whether there would be slots for all tasks if every possible victim left; counted once."""
        if self._is_possible is None:
            count = FitTally(self, self._pending)
            count.add(self._victims())
            self._is_possible = count.is_sufficient()
        return self._is_possible

    def missing_fits(self, pending: Sequence[int]) -> list[tuple[TaskShape, int]]:
        """Shapes that lack slots for these tasks as it is, and how many slots each lacks.

        To be asked about all the tasks of the search, or the first of them.
        """
        wanted = self._missing_fits.get(len(pending))
        if wanted is None:
            counts: dict[int, int] = {}
            shapes: dict[int, TaskShape] = {}
            for task in pending:
                shape = self._session.cluster.tasks[task].shape
                shapes[shape.index] = shape
                counts[shape.index] = counts.get(shape.index, 0) + 1
            missing = [(shapes[i], count - self.fit_counts(shapes[i])[0]) for i, count in counts.items()]
            wanted = self._missing_fits[len(pending)] = [
                (shape, count) for shape, count in missing if count > 0
            ]
        return wanted

    def freed_fits(self, shape: TaskShape) -> FreedFits:
        """A count of the slots that the shape gains from victims, of whom there are none yet."""
        return FreedFits(self._session, shape, self._placer.allowed_nodes(shape), self.fit_counts(shape)[1])

    def fit_counts(self, shape: TaskShape) -> tuple[int, dict[int, int]]:
        """Slots without any eviction: in sum, and by node; looked up once per shape."""
        known = self._free.get(shape.index)
        if known is None:
            nodes = self._feasible & self._placer.allowed_nodes(shape)
            by_node = self._placer.fit_counts.on(shape, nodes)
            known = self._free[shape.index] = (sum(by_node.values()), by_node)
        return known


class FitTally:
    """Slots for the pending tasks of one probe, followed as victims are added."""

    def __init__(self, pruner: Pruner, pending: Sequence[int]) -> None:
        self._shortfalls = [
            (pruner.freed_fits(shape), missing) for shape, missing in pruner.missing_fits(pending)
        ]

    def add(self, tasks: Iterable[int]) -> None:
        """These tasks are victims from now on."""
        victims = list(tasks)
        for gains, _ in self._shortfalls:
            gains.add(victims)

    def is_sufficient(self) -> bool:
        """Whether every shape has enough slots if all victims added so far left."""
        return all(gains.total() >= missing for gains, missing in self._shortfalls)


def requests_whole_gpus(shape: TaskShape) -> bool:
    """Whether it asks for GPUs as whole devices, or not at all."""
    return not (shape.shares_devices or shape.mig_gpu_milli or shape.claimed_gpu_milli)


RECLAIMABLE: Final = -1
"""In place of a shape: the GPUs that may be taken."""
LOOK_AHEAD: Final = 1024
"""Batches after which a search without any promising scenario asks whether there can be one at all."""


class ProbeNeeds:
    """What the pending tasks of one probe need beyond what is free, and what victims give of it."""

    def __init__(self, pruner: Pruner, bound: ReclaimBound | None, pending: Sequence[int]) -> None:
        self.shortfalls = pruner.missing_fits(pending)
        """Shapes that lack slots as it is, and how many."""
        self._pruner = pruner
        self._freed_fits: dict[int, FreedFits] = {}
        """Of these shapes, once victims were added or asked about."""
        self.gpus = 0 if bound is None else bound.missing(pending)
        self._reclaimed = None if bound is None else ReclaimTally(bound)

    def add(self, batches: Iterable[Batch]) -> None:
        """These are victims from now on."""
        for batch in batches:
            for shape, _ in self.shortfalls:
                self.freed_fits(shape).add(batch.tasks)
            if self._reclaimed is not None:
                self._reclaimed.add(batch)

    def are_met(self) -> bool:
        """Whether the victims could give all that is needed."""
        for shape, missing in self.shortfalls:
            if not self._freed_fits or self._freed_fits[shape.index].total() < missing:
                return False
        return self._reclaimed is None or self._reclaimed.reclaimed >= self.gpus

    def are_met_with(self, batches: Sequence[Batch]) -> bool:
        """The same if these were victims too."""
        if self._reclaimed is not None and self._reclaimed.reclaimed_with(batches) < self.gpus:
            return False
        tasks = [task for batch in batches for task in batch.tasks]
        return all(self.freed_fits(shape).total_with(tasks) >= missing for shape, missing in self.shortfalls)

    def freed_fits(self, shape: TaskShape) -> FreedFits:
        """What the shape gains from the victims added so far."""
        gains = self._freed_fits.get(shape.index)
        if gains is None:
            gains = self._freed_fits[shape.index] = self._pruner.freed_fits(shape)
        return gains


class PrefixBounds:
    """What ever longer prefixes of a sequence of victims give; worked out once for all probes of a search."""

    def __init__(
        self, sequence: VictimSequence, pruner: Pruner, bound: ReclaimBound | None, tasks: Sequence[int]
    ) -> None:
        self._sequence = sequence
        self._pruner = pruner
        self._freed_fits = {shape.index: pruner.freed_fits(shape) for shape, _ in pruner.missing_fits(tasks)}
        self._totals: dict[int, list[int]] = {shape: [] for shape in self._freed_fits}
        self._reclaimed = None if bound is None else ReclaimTally(bound)
        self._reclaimable: list[int] = []

    def first_sufficient(self, needs: ProbeNeeds) -> int | None:
        """How many batches it takes until the needs are met; None when all of them do not suffice."""
        count = 0
        for shape, missing in needs.shortfalls:
            found = self._first(self._totals[shape.index], missing, shape.index)
            if found is None:
                return None
            count = max(count, found)
        if self._reclaimed is None:
            return count
        taken = self._first(self._reclaimable, needs.gpus, RECLAIMABLE)
        return None if taken is None else max(count, taken)

    def can_meet(self, needs: ProbeNeeds, nodes: Collection[int]) -> bool:
        """Whether slots on these nodes could suffice, whoever leaves them; a quick look."""
        for shape, missing in needs.shortfalls:
            gains, most, totals = (
                needs.freed_fits(shape),
                self._freed_fits[shape.index],
                self._totals[shape.index],
            )
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
        if what == RECLAIMABLE:
            assert self._reclaimed is not None
            self._reclaimed.add(batch)
            return self._reclaimed.reclaimed
        self._freed_fits[what].add(batch.tasks)
        return self._freed_fits[what].total()
