"""Necessary conditions on accumulated victims, checked before any simulation (semantics R5.30-R5.33)."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

from tenure.solver.framework.session import Session
from tenure.solver.search.nodesets import bits


def gpu_demands(session: Session, pending: Iterable[int]) -> list[int]:
    """GPU amounts of pending tasks, largest first."""
    shapes = [session.cluster.tasks[task].shape for task in pending]
    return sorted((shape.gpu.gpu_milli() + shape.extra_gpu_milli for shape in shapes), reverse=True)


class GpuRoomFilter:
    """Could the pending tasks' GPUs be packed if all accumulated victims left? (semantics R5.30)

    Keeps the free amount of every node up to date as victims are added. Tasks that all ask for the same
    amount are counted in slots; others are packed greedily on the largest nodes, as the reference does.
    """

    def __init__(self, session: Session, pending: Sequence[int], free: Sequence[int], with_room: int) -> None:
        self._ledger = session.ledger
        self.demands = gpu_demands(session, pending)
        self.free = list(free)
        self._uniform = self.demands[0] if self.demands[0] == self.demands[-1] else 0
        self._slots = 0
        if self._uniform:
            self._slots = sum(max(0, self.free[node]) // self._uniform for node in bits(with_room))
        self._order = [] if self._uniform else sorted((-free, node) for node, free in enumerate(self.free))

    def add(self, tasks: Iterable[int]) -> None:
        """Count the GPUs that evicting these tasks frees."""
        for task in tasks:
            self._free(self._ledger.placements[task].node, self._ledger.freed_gpu_milli(task))

    def _free(self, node: int, amount: int) -> None:
        before = self.free[node]
        after = self.free[node] = before + amount
        if self._uniform:
            self._slots += max(0, after) // self._uniform - max(0, before) // self._uniform
        else:
            del self._order[bisect_left(self._order, (-before, node))]
            insort(self._order, (-after, node))

    def passes(self) -> bool:
        """Whether every demand finds a node."""
        if self._uniform:
            return self._slots >= len(self.demands)
        left = [-free for free, _ in self._order[: len(self.demands)]]
        for demand in self.demands:
            if demand == 0:
                return True
            at = next((i for i, free in enumerate(left) if free >= demand), None)
            if at is None:
                return False
            left[at] -= demand
        return True
