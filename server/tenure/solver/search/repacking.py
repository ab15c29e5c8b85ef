"""Repacking: nodes on which a set of tasks fits together, by counting amounts (semantics R3.36).

Tasks that wait for a node are in a pool, the largest first. A task takes the node where it leaves the
least. If none has enough, it takes that of the tasks that are easiest to place elsewhere, and these wait in
the pool. A task is harder to place with each time that it found no node, so that the same ones do not take
turns. The number of looks at nodes is bounded; half of them are for an attempt from the beginning, with what
was learned.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, final

from tenure.solver.model.resources import NOTHING, MutableVector
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.search.fits import NO_BOUND
from tenure.solver.search.node_order import AllowedNodes, bits

NO_NODE: Final = -1
SCALE: Final = 1 << 20
"""What all that is there of a resource counts for."""
FREE_PART: Final = 4
"""What is free on a node is a part of the cost of leaving there: full nodes are better."""
NO_COST: Final = 1 << 62
"""Larger than any cost."""


@final
class Packing:
    """Nodes with free amounts, and tasks that may change their node."""

    def __init__(
        self,
        shapes: Mapping[int, TaskShape],
        allowed: AllowedNodes,
        free: Mapping[int, MutableVector],
        places: Mapping[int, int],
        looks: int,
    ) -> None:
        """`shapes` by task; `free` amounts by node, which change; `places` are the nodes of tasks that may
        move. It ends after so many `looks` at nodes.
        """
        self._shapes = shapes
        self._allowed = allowed
        self._free = free
        self.places: Final = dict(places)
        """Nodes by task, once all are placed."""
        self.looks = looks
        """That are left."""
        self._tasks: dict[int, list[int]] = {node: [] for node in free}
        """Tasks that may move, by node."""
        self._total = MutableVector(NOTHING)
        self._nodes = 0
        for node, amounts in free.items():
            self._nodes |= 1 << node
            _add_main(self._total, amounts)
        for task, node in places.items():
            self._tasks[node].append(task)
            _add_main(self._total, shapes[task].request_vector)
        self._nodes_of: dict[int, list[int]] = {}
        """By shape."""
        self._sizes: dict[int, int] = {}
        """By shape."""
        self._misses: dict[int, int] = {}
        """How often tasks found no node."""

    def could_hold(self, tasks: Sequence[int]) -> bool:
        """Whether there are slots for the tasks of each shape on nodes without any task that may move, and
        enough is free in total.
        """
        wanted, free, counts = MutableVector(NOTHING), MutableVector(NOTHING), dict[int, int]()
        for task in tasks:
            _add_main(wanted, self._shapes[task].request_vector)
            counts[self._shapes[task].index] = counts.get(self._shapes[task].index, 0) + 1
        for amounts in self._free.values():
            _add_main(free, amounts)
        if not free.cover(wanted):
            return False
        shapes = {self._shapes[task].index: self._shapes[task] for task in tasks}
        return all(self._has_slots(shapes[index], number) for index, number in counts.items())

    def add(self, tasks: Iterable[int]) -> bool:
        """Find nodes for these tasks beside the others; whether all have one before the looks are over.

        Once half of the looks are over, all tasks leave and are placed once more, the largest first.
        """
        pool, kept = list(tasks), self.looks // 2
        if self._settle(pool, kept):
            return True
        pool += self.places
        for task, node in list(self.places.items()):
            self._take(task, node)
        return self._settle(pool, 0)

    def _settle(self, pool: list[int], kept: int) -> bool:
        """Place the tasks of the pool until no more looks than those to keep are left; whether all are."""
        while pool and self.looks > kept:
            pool.sort(key=self._urgency)
            task = pool[-1]
            node = self._tightest(task)
            if node == NO_NODE:
                self._misses[task] = self._misses.get(task, 0) + 1
                node, leaving = self._cheapest(task)
                if node == NO_NODE:
                    return False
                for other in leaving:
                    self._take(other, node)
                pool += leaving
            pool.remove(task)
            self._put(task, node)
        return not pool

    def _urgency(self, task: int) -> tuple[int, int]:
        return self._size(task), -task

    def _has_slots(self, shape: TaskShape, number: int) -> bool:
        for node in self._candidates(shape):
            free = self._free[node].copy()
            for task in self._tasks[node]:
                free.add(self._shapes[task].request_vector)
            number -= max(0, free.times(shape.request_vector, NO_BOUND))
            if number <= 0:
                return True
        return False

    def _tightest(self, task: int) -> int:
        """The node with enough for the task where the least is free."""
        shape, best, least = self._shapes[task], NO_NODE, NO_COST
        for node in self._candidates(shape):
            free = self._free[node]
            if free.cover(shape.request_vector):
                left = self._weight(free)
                if left < least:
                    best, least = node, left
        return best

    def _cheapest(self, task: int) -> tuple[int, list[int]]:
        """The node where the easiest tasks free enough by leaving, and these tasks."""
        shape, best, least, found = self._shapes[task], NO_NODE, NO_COST, list[int]()
        for node in self._candidates(shape):
            leaving = self._leaving(shape, node)
            cost = self._weight(self._free[node]) // FREE_PART
            for other in leaving:
                cost += self._hardness(other)
            if leaving and cost < least:
                best, least, found = node, cost, leaving
        return best, found

    def _leaving(self, shape: TaskShape, node: int) -> list[int]:
        """Tasks that free enough on a node by leaving, none without need; empty: none do."""
        wanted, free, leaving = shape.request_vector, self._free[node].copy(), list[int]()
        for _, task in sorted([(self._hardness(task), task) for task in self._tasks[node]]):
            free.add(self._shapes[task].request_vector)
            leaving.append(task)
            if free.cover(wanted):
                break
        else:
            return []
        for task in leaving[-2::-1]:
            free.subtract(self._shapes[task].request_vector)
            if free.cover(wanted):
                leaving.remove(task)
            else:
                free.add(self._shapes[task].request_vector)
        return leaving

    def _candidates(self, shape: TaskShape) -> list[int]:
        """Nodes that accept a shape, each of which is looked at."""
        nodes = self._nodes_of.get(shape.index)
        if nodes is None:
            nodes = self._nodes_of[shape.index] = list(bits(self._allowed.of(shape) & self._nodes))
        self.looks -= len(nodes)
        return nodes

    def _hardness(self, task: int) -> int:
        return (self._misses.get(task, 0) + 1) * self._size(task)

    def _size(self, task: int) -> int:
        shape = self._shapes[task]
        size = self._sizes.get(shape.index)
        if size is None:
            size = self._sizes[shape.index] = self._weight(shape.request_vector)
        return size

    def _weight(self, amounts: MutableVector) -> int:
        """The sum of the parts that amounts are of all that is free or moves."""
        total = self._total
        gpu = SCALE * amounts.gpu // max(total.gpu, 1)
        return gpu + SCALE * amounts.cpu // max(total.cpu, 1) + SCALE * amounts.memory // max(total.memory, 1)

    def _put(self, task: int, node: int) -> None:
        self._free[node].subtract(self._shapes[task].request_vector)
        self._tasks[node].append(task)
        self.places[task] = node

    def _take(self, task: int, node: int) -> None:
        self._free[node].add(self._shapes[task].request_vector)
        self._tasks[node].remove(task)
        del self.places[task]


def _add_main(total: MutableVector, amounts: MutableVector) -> None:
    """Add what is positive of CPU, memory and GPUs."""
    total.cpu += max(amounts.cpu, 0)
    total.memory += max(amounts.memory, 0)
    total.gpu += max(amounts.gpu, 0)
