"""Prune probes and scenarios by necessary conditions that are cheap to check.

Evicting a scenario's victims frees at most their resources. If the pending tasks would not fit even without
competition for these, the simulation would fail. Placing victims again only uses capacity, so the first
working scenario is the same with and without pruning; `tests/properties` checks that.

There are two conditions: fit counts for the pending tasks, and the GPUs that fairness permits to reclaim
(`reclaim_bound`). More victims never reduce either, so a met condition stays met, and the first sufficient
prefix of an order can be looked up.
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
    """Current fit counts of the feasible nodes; one per preemptor, shared by its probes.

    `victims` yields every task that might be evicted for the preemptor.
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
        """Whether all tasks would fit if every possible victim were gone; counted once."""
        if self._is_possible is None:
            count = FitTally(self, self._pending)
            count.add(self._victims())
            self._is_possible = count.is_sufficient()
        return self._is_possible

    def missing_fits(self, pending: Sequence[int]) -> list[tuple[TaskShape, int]]:
        """Shapes that do not fit now for these tasks, with the number of missing fits.

        The tasks must be all tasks of the search, or the first of them.
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
        """Counter of additional fits of the shape, without victims yet."""
        return FreedFits(self._session, shape, self._placer.allowed_nodes(shape), self.fit_counts(shape)[1])

    def fit_counts(self, shape: TaskShape) -> tuple[int, dict[int, int]]:
        """Fit counts without evictions: total, and by node; cached per shape."""
        known = self._free.get(shape.index)
        if known is None:
            nodes = self._feasible & self._placer.allowed_nodes(shape)
            by_node = self._placer.fit_counts.on(shape, nodes)
            known = self._free[shape.index] = (sum(by_node.values()), by_node)
        return known


class FitTally:
    """Fit counts for the pending tasks of one probe, updated as victims are added."""

    def __init__(self, pruner: Pruner, pending: Sequence[int]) -> None:
        self._shortfalls = [
            (pruner.freed_fits(shape), missing) for shape, missing in pruner.missing_fits(pending)
        ]

    def add(self, tasks: Iterable[int]) -> None:
        """Add tasks to the victims."""
        victims = list(tasks)
        for gains, _ in self._shortfalls:
            gains.add(victims)

    def is_sufficient(self) -> bool:
        """Whether every shape fits often enough without the victims so far."""
        return all(gains.total() >= missing for gains, missing in self._shortfalls)


def requests_whole_gpus(shape: TaskShape) -> bool:
    """Whether it requests GPUs as whole devices only, or none."""
    return not (shape.shares_devices or shape.mig_gpu_milli or shape.claimed_gpu_milli)


RECLAIMABLE: Final = -1
"""In place of a shape: the reclaimable GPUs."""
LOOK_AHEAD: Final = 1024
"""Number of batches after which a search without a promising scenario checks whether one can exist."""


class ProbeNeeds:
    """Needs of the pending tasks of one probe beyond free capacity, and the victims' contribution."""

    def __init__(self, pruner: Pruner, bound: ReclaimBound | None, pending: Sequence[int]) -> None:
        self.shortfalls = pruner.missing_fits(pending)
        """Shapes that do not fit now, with the number of missing fits."""
        self._pruner = pruner
        self._freed_fits: dict[int, FreedFits] = {}
        """Additional fits of these shapes, created on demand."""
        self.gpus = 0 if bound is None else bound.missing(pending)
        self._reclaimed = None if bound is None else ReclaimTally(bound)

    def add(self, batches: Iterable[Batch]) -> None:
        """Add batches to the victims."""
        for batch in batches:
            for shape, _ in self.shortfalls:
                self.freed_fits(shape).add(batch.tasks)
            if self._reclaimed is not None:
                self._reclaimed.add(batch)

    def are_met(self) -> bool:
        """Whether the victims could meet the needs."""
        for shape, missing in self.shortfalls:
            if not self._freed_fits or self._freed_fits[shape.index].total() < missing:
                return False
        return self._reclaimed is None or self._reclaimed.reclaimed >= self.gpus

    def are_met_with(self, batches: Sequence[Batch]) -> bool:
        """Whether the victims and these could meet the needs."""
        if self._reclaimed is not None and self._reclaimed.reclaimed_with(batches) < self.gpus:
            return False
        tasks = [task for batch in batches for task in batch.tasks]
        return all(self.freed_fits(shape).total_with(tasks) >= missing for shape, missing in self.shortfalls)

    def freed_fits(self, shape: TaskShape) -> FreedFits:
        """Additional fits of the shape from the victims so far."""
        gains = self._freed_fits.get(shape.index)
        if gains is None:
            gains = self._freed_fits[shape.index] = self._pruner.freed_fits(shape)
        return gains


class PrefixBounds:
    """Totals of all prefixes of a victim sequence; computed once for all probes of a search."""

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
        """Number of batches that could meet the needs; None if all of them could not."""
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
        """Whether the nodes could have enough fits, whichever tasks are evicted; a quick check."""
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
        """First sufficient prefix; the totals are extended as needed."""
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
        """Total fits of a shape, or reclaimable GPUs, with the batch of this number."""
        batch = self._sequence.batches[number]
        if what == RECLAIMABLE:
            assert self._reclaimed is not None
            self._reclaimed.add(batch)
            return self._reclaimed.reclaimed
        self._freed_fits[what].add(batch.tasks)
        return self._freed_fits[what].total()
