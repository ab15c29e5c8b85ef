"""Skipping simulations that cannot succeed, by a necessary condition that is cheap to check.

Evicting a scenario's victims frees at most what they hold. If the pending tasks would not even find slots
when nobody else competed for that room, the simulation would fail. Placing victims again only takes room,
so the first scenario that works is the same with and without pruning; `tests/properties` checks that.
"""

from collections.abc import Callable, Iterable, Sequence

from tenure.solver.framework.session import Session
from tenure.solver.model.workload import TaskShape
from tenure.solver.search.gains import Gains
from tenure.solver.search.place import Placer


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
        self._wanted: dict[int, list[tuple[TaskShape, int]]] = {}

    def is_possible(self) -> bool:
        """Whether there would be slots for all tasks if every possible victim left; counted once."""
        if self._is_possible is None:
            count = SlotCount(self, self._pending)
            count.add(self._victims())
            self._is_possible = count.suffice()
        return self._is_possible

    def wanted(self, pending: Sequence[int]) -> list[tuple[TaskShape, int]]:
        """Shapes that lack slots for these tasks as it is, and how many slots each lacks.

        To be asked about all the tasks of the search, or the first of them.
        """
        wanted = self._wanted.get(len(pending))
        if wanted is None:
            counts: dict[int, int] = {}
            shapes: dict[int, TaskShape] = {}
            for task in pending:
                shape = self._session.cluster.tasks[task].shape
                shapes[shape.index] = shape
                counts[shape.index] = counts.get(shape.index, 0) + 1
            missing = [(shapes[i], count - self.free_slots(shapes[i])[0]) for i, count in counts.items()]
            wanted = self._wanted[len(pending)] = [(shape, count) for shape, count in missing if count > 0]
        return wanted

    def gains(self, shape: TaskShape) -> Gains:
        """A count of the slots that the shape gains from victims, of whom there are none yet."""
        return Gains(self._session, shape, self._placer.allowed(shape), self.free_slots(shape)[1])

    def free_slots(self, shape: TaskShape) -> tuple[int, dict[int, int]]:
        """Slots without any eviction: in sum, and by node; looked up once per shape."""
        known = self._free.get(shape.index)
        if known is None:
            nodes = self._feasible & self._placer.allowed(shape)
            by_node = self._placer.free_slots.on(shape, nodes)
            known = self._free[shape.index] = (sum(by_node.values()), by_node)
        return known


class SlotCount:
    """Slots for the pending tasks of one probe, followed as victims are added."""

    def __init__(self, pruner: Pruner, pending: Sequence[int]) -> None:
        self._short = [(pruner.gains(shape), missing) for shape, missing in pruner.wanted(pending)]

    def add(self, tasks: Iterable[int]) -> None:
        """These tasks are victims from now on."""
        victims = list(tasks)
        for gains, _ in self._short:
            gains.add(victims)

    def suffice(self) -> bool:
        """Whether every shape has enough slots if all victims added so far left."""
        return all(gains.total() >= missing for gains, missing in self._short)


def asks_for_whole_gpus(shape: TaskShape) -> bool:
    """Whether it asks for GPUs as whole devices, or not at all."""
    return not (shape.shares_devices or shape.mig_gpu_milli or shape.claimed_gpu_milli)
