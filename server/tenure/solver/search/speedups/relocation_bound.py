"""Saves, with `pruning`: simulating relocations that cannot all find a place, and drawing victims for them.
Sound: where every victim must be placed again, all tasks must fit at once. A node with n free GPUs has n // s
places of s GPUs, and a task of g GPUs takes at least g // s of them, for any s. If the nodes have too few
places for the tasks, for any s, no simulation is accepted. More victims bring the places that they take.
Switch: `pruning`. Plain: the simulation.
Compared by: tests/solver/search/speedups/test_relocation_bound.py, and the check `differential`.
"""

from collections.abc import Sequence
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import GPU, WHOLE_GPU
from tenure.solver.plugin_api.scenario import Batch
from tenure.solver.search.attempts import Attempt
from tenure.solver.search.node_order import bits
from tenure.solver.search.search import Search
from tenure.solver.search.speedup import NecessaryCondition, Speedup
from tenure.solver.search.speedups.fit_counts import requests_whole_gpus
from tenure.solver.search.speedups.node_index import NodeIndex

_MAX_SIZES: Final = 16
"""Different sizes of tasks that are counted, the smallest ones."""


class RelocationBound(NecessaryCondition):
    """Places for the tasks of one search, by the sizes of all tasks in whole GPUs."""

    def __init__(self, session: Session, sizes: Sequence[int], index: NodeIndex, feasible: int) -> None:
        """Tasks are placed on feasible nodes and on those of victims."""
        self._session = session
        self._sizes = sizes
        self._index = index
        self._places = [0] * len(sizes)
        """Without victims."""
        free = index.free_gpu_milli()
        for node in bits(feasible):
            self._add_places(self._places, max(0, free[node]) // WHOLE_GPU)
        self._needed: list[int] = []
        """Places for the pending tasks of the current attempt."""
        self._recorded: tuple[Batch, ...] = ()

    def first_prefix(self, attempt: Attempt) -> int | None:
        """The first prefix of the victims with which there are places for all."""
        self._recorded, self._needed = attempt.recorded, [0] * len(self._sizes)
        for task in attempt.tasks:
            self._add_places(self._needed, self._gpus(task))
        left, freed = self._left(), dict[int, int]()
        for batch in attempt.recorded:
            self._evict(left, freed, batch)
        number = 0
        while left and min(left) < 0:
            if not attempt.sequence.reaches(number):
                return None
            if number not in attempt.skips:
                self._evict(left, freed, attempt.sequence.batches[number])
            number += 1
        return number

    def rules_out(self, potential: Sequence[Batch]) -> bool:
        """Whether there are too few places with the recorded victims and these."""
        left, freed = self._left(), dict[int, int]()
        for batch in (*self._recorded, *potential):
            self._evict(left, freed, batch)
        return bool(left) and min(left) < 0

    def _left(self) -> list[int]:
        """Places beyond those of the pending tasks, without victims."""
        return [places - needed for places, needed in zip(self._places, self._needed, strict=True)]

    def _evict(self, left: list[int], freed: dict[int, int], batch: Batch) -> None:
        """Add the places that evicting a batch brings, less those that it takes again; never fewer."""
        ledger, free_gpus = self._session.ledger, self._index.free_gpu_milli()
        for task in batch.tasks:
            node = ledger.placements[task].node
            before = freed.get(node, 0)
            after = freed[node] = before + ledger.freed_gpu_milli(task)
            free, gpus = free_gpus[node], self._gpus(task)
            old, new = max(0, free + before) // WHOLE_GPU, max(0, free + after) // WHOLE_GPU
            for i, size in enumerate(self._sizes):
                left[i] += max(0, new // size - old // size - gpus // size)

    def _add_places(self, places: list[int], gpus: int) -> None:
        for i, size in enumerate(self._sizes):
            places[i] += gpus // size

    def _gpus(self, task: int) -> int:
        return self._session.cluster.tasks[task].shape.request[GPU] // WHOLE_GPU


class Relocations(Speedup):
    """Bounds the searches of actions that relocate all victims, if all tasks take whole GPUs."""

    def __init__(self, session: Session, index: NodeIndex) -> None:
        self._session = session
        self._index = index
        shapes = session.cluster.shapes
        sizes = {shape.request[GPU] // WHOLE_GPU for shape in shapes}
        self._sizes = sorted([size for size in sizes if size > 1])[:_MAX_SIZES]
        self._is_enabled = bool(self._sizes) and all(map(requests_whole_gpus, shapes))

    def necessary_condition(self, search: Search, feasible: int) -> NecessaryCondition | None:
        """The places that its tasks and victims need."""
        if not (self._is_enabled and search.action.relocates_all):
            return None
        return RelocationBound(self._session, self._sizes, self._index, feasible)
