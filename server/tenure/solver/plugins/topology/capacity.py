"""How many of the tasks a domain can take, and how full they would make it (semantics R9.24)."""

from collections.abc import Sequence

from tenure.solver.framework.room import NodeRoom
from tenure.solver.model.resources import GPU, PODS, WHOLE_GPU
from tenure.solver.model.workload import TaskShape

MISSING = 1000.0
"""Ratio of a resource that is asked for and not there."""


class Demand:
    """What a set of tasks asks of a domain."""

    def __init__(self, shapes: Sequence[TaskShape], rooms: Sequence[NodeRoom]) -> None:
        self._rooms = rooms
        self._count = len(shapes)
        vectors = [_vector(shape) for shape in shapes]
        self._largest = [max(column) for column in zip(*vectors, strict=True)]
        self._sum = [sum(column) for column in zip(*vectors, strict=True)]
        self._is_shared = any(shape.gpu.is_shared for shape in shapes)
        self._is_homogeneous = all(
            len({vector[slot] > 0 for vector in vectors}) == 1
            for slot in range(len(self._largest))
            if slot == GPU or slot > PODS
        )

    def fits(self, nodes: Sequence[int]) -> bool:
        """Whether the nodes together have the room: in pods when all tasks are alike, else in sum."""
        if self._is_homogeneous:
            return sum(self._pods_on(self._rooms[node]) for node in nodes) >= self._count
        return self.ratio(nodes) <= 1

    def ratio(self, nodes: Sequence[int]) -> float:
        """The largest part of any free resource of the nodes that the tasks would take."""
        worst = 0.0
        for slot, wanted in enumerate(self._sum):
            if wanted and slot != PODS:
                free = sum(self._free(self._rooms[node], slot) for node in nodes)
                worst = max(worst, wanted / free if free > 0 else MISSING)
        return worst

    def _pods_on(self, room: NodeRoom) -> int:
        counts = [
            max(0, self._free(room, slot)) // wanted for slot, wanted in enumerate(self._largest) if wanted
        ]
        return min(counts, default=0)

    def _free(self, room: NodeRoom, slot: int) -> int:
        """Free amount; for shares of a GPU the free parts of devices in shared use count too."""
        if slot == GPU and self._is_shared:
            return max(0, room.idle_gpu_milli()) + max(0, room.releasing_gpu_milli())
        return room.idle[slot] + room.releasing[slot]


def _vector(shape: TaskShape) -> list[int]:
    vector = list(shape.request)
    if shape.gpu.is_shared:
        vector[GPU] = shape.gpu.gpu_milli() or WHOLE_GPU
    return vector
