"""Skipping searches and scenarios that fairness must reject: an upper bound on what may be taken.

Room is conserved: the GPUs a preemptor gets were free before, or were taken from victims for good (moved
victims keep using theirs). The validators bound what may be taken from each part of the queue tree; where
free room and those bounds together are less than the demand, no simulation can be accepted.
"""

from collections.abc import Collection, Iterable
from typing import Final

from tenure.solver.framework.scenario import Batch, Scenario
from tenure.solver.framework.session import Session
from tenure.solver.model.resources import GPU
from tenure.solver.model.workload import TaskShape

Bounds = dict[int, tuple[int, int]]
"""By victims' leaf queue: the queue at which the bound holds, and the most that may be taken there."""

UNBOUNDED: Final = -1
"""In place of a queue: all queues that nothing bounds."""
NO_BOUND: Final = 1 << 62


class TakeBound:
    """Bounds of one preemptor's search. `free` is the GPU room of the whole cluster, at the very most."""

    def __init__(
        self, session: Session, action: str, preemptor: int, queues: Iterable[int], free: int
    ) -> None:
        self.session = session
        self.free = free
        self.bounds: Bounds = {}
        for queue in queues:
            for takeable in session.chains.takeable_gpu:
                bound = takeable(action, preemptor, queue)
                if bound is not None:
                    self.bounds[queue] = bound

    def is_possible(self, tasks: Collection[int], queues: Iterable[int]) -> bool:
        """Whether the demand could be met if every queue gave all it may."""
        if not self.bounds or any(queue not in self.bounds for queue in queues):
            return True
        most = sum(dict(self.bounds.values()).values())
        return self.session.demand(tasks)[GPU] <= self.free + most


def is_inexact(shape: TaskShape) -> bool:
    """Whether what it counts in queues differs from what it takes on a node; then bounds mean nothing."""
    return shape.gpu.memory_mib > 0 or shape.gpu.portion_milli % 10 > 0


class TakeCount:
    """What accumulated victims could give to one probe."""

    def __init__(self, bound: TakeBound, pending: Collection[int]) -> None:
        self._bound = bound
        self._missing = bound.session.demand(pending)[GPU] - bound.free
        self._held: dict[int, int] = {}
        self._sum = 0

    def add(self, batch: Batch) -> None:
        """These are victims from now on."""
        level, most, gpus = self._of(batch)
        held = self._held.get(level, 0)
        self._held[level] = held + gpus
        self._sum += min(most, held + gpus) - min(most, held)

    def suffice(self) -> bool:
        """Whether the victims added so far may give enough."""
        return self._sum >= self._missing

    def is_hopeless(self, scenario: Scenario) -> bool:
        """Whether the victims of this scenario may not give enough."""
        if self._missing <= 0:
            return False
        held: dict[tuple[int, int], int] = {}
        for batch in (*scenario.recorded, *scenario.potential):
            level, most, gpus = self._of(batch)
            held[level, most] = held.get((level, most), 0) + gpus
        return sum(min(most, gpus) for (_, most), gpus in held.items()) < self._missing

    def _of(self, batch: Batch) -> tuple[int, int, int]:
        session, ledger = self._bound.session, self._bound.session.ledger
        gpus = sum(ledger.freed_gpu_milli(task) for task in batch.tasks)
        queue = session.cluster.pod_groups[batch.pod_group].queue
        assert queue is not None
        level, most = self._bound.bounds.get(queue, (UNBOUNDED, NO_BOUND))
        return level, most, gpus
