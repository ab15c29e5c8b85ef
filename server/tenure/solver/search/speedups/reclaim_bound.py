"""Saves: searches and simulations whose result validators must reject, by an upper bound on reclaimable GPUs.
Sound: capacity is conserved: the GPUs a preemptor receives were free, or taken from victims for good
(relocated victims continue to use theirs). A `ReclaimCap` is never too low; if free capacity and all caps
together are less than the demand, no simulation can be accepted.
Switch: `reclaim_bound`. Plain: the validators.
Compared by: tests/solver/search/speedups/test_switches.py, and the check `differential`.
"""

from collections.abc import Collection, Iterable
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import GPU
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.scenario import Batch
from tenure.solver.search.fits import NO_BOUND
from tenure.solver.search.speedups.returning_victims import ReturningVictims

Bounds = dict[int, tuple[int, int]]
"""By victims' leaf queue: the queue with the bound, and the maximum amount taken from there."""

UNBOUNDED: Final = -1
"""In place of a queue: all unbounded queues."""


class ReclaimBound:
    """Bounds of one preemptor's search. `free` is an upper bound of the free GPUs of the cluster."""

    def __init__(
        self, session: Session, action: Action, preemptor: int, queues: Iterable[int], free: int
    ) -> None:
        self.session = session
        self.free = free
        self._returning: ReturningVictims | None = None
        """None: no victim is known to take its place again."""
        self._demands: dict[int, int] = {}
        self.bounds: Bounds = {}
        self.queues = tuple(queues)
        for queue in self.queues:
            bound = session.chains.reclaimable_gpu(action, preemptor, queue)
            if bound is not None:
                self.bounds[queue] = bound

    def is_possible(self, tasks: Collection[int]) -> bool:
        """Whether the demand could be met if every queue contributed its maximum."""
        if not self.bounds:
            return True
        for queue in self.queues:
            if queue not in self.bounds:
                return True
        most = sum(dict(self.bounds.values()).values())
        return self._demand(tasks) <= self.free + most

    def exclude_returning(self, returning: ReturningVictims) -> None:
        """Count nothing for victims that take their places again before the preemptor is placed."""
        for queue in () if returning.is_first else self.queues:
            if returning.has_returning(queue):
                self._returning = returning
            most = returning.most_taken_from(queue)
            if most is not None and most < self.bounds.get(queue, (queue, NO_BOUND))[1]:
                self.bounds[queue] = (queue, most)

    def missing(self, pending: Collection[int]) -> int:
        """GPUs that these tasks need beyond the free ones, in thousandths."""
        return self._demand(pending) - self.free

    def _demand(self, tasks: Collection[int]) -> int:
        """GPUs of the given tasks: all of the search, or the first of them."""
        demand = self._demands.get(len(tasks))
        if demand is None:
            demand = self._demands[len(tasks)] = self.session.ledger.demand(tasks)[GPU]
        return demand

    def bound_of(self, batch: Batch) -> tuple[int, int, int]:
        """Queue with the bound for the batch, the bound, and the GPUs of the batch."""
        ledger = self.session.ledger
        gpus = 0
        if self._returning is None or not self._returning.takes_nothing_of(batch.pod_group):
            for task in batch.tasks:
                gpus += ledger.freed_gpu_milli(task)
        queue = self.session.cluster.pod_groups[batch.pod_group].queue
        assert queue is not None
        bound = self.bounds.get(queue)
        return (UNBOUNDED, NO_BOUND, gpus) if bound is None else (bound[0], bound[1], gpus)


def is_inexact(shape: TaskShape) -> bool:
    """Whether queues are charged differently from nodes for it; then bounds do not apply."""
    return shape.gpu.memory_mib > 0 or shape.gpu.portion_milli % 10 > 0


class ReclaimTally:
    """Possible contribution of accumulated victims to one search."""

    def __init__(self, bound: ReclaimBound) -> None:
        self._bound = bound
        self._gpus_by_level: dict[int, int] = {}
        self.reclaimed = 0

    def add(self, batch: Batch) -> None:
        """Add a batch to the victims."""
        level, most, gpus = self._bound.bound_of(batch)
        held = self._gpus_by_level.get(level, 0)
        self._gpus_by_level[level] = held + gpus
        self.reclaimed += min(most, held + gpus) - min(most, held)

    def reclaimed_with(self, batches: Iterable[Batch]) -> int:
        """Contribution if these were victims too."""
        more: dict[tuple[int, int], int] = {}
        for batch in batches:
            level, most, gpus = self._bound.bound_of(batch)
            more[level, most] = more.get((level, most), 0) + gpus
        taken = self.reclaimed
        for (level, most), gpus in more.items():
            held = self._gpus_by_level.get(level, 0)
            taken += min(most, held + gpus) - min(most, held)
        return taken
