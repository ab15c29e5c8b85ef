"""A statement: a savepoint over moves. Moves that are not committed are undone.

The one reversible primitive: a task changes its placement.
"""

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from tenure.solver.framework.ledger import Ledger
from tenure.solver.model.placement import NOWHERE, Placement, TaskStatus, Zones


class Move:
    """A change of the placement of a task: evict, allocate, pipeline, or put back."""

    __slots__ = ("after", "before", "task")

    def __init__(self, task: int, before: Placement, after: Placement) -> None:
        self.task = task
        self.before = before
        self.after = after


class Statement:
    """Moves that become one decision, or none.

    Used as a context manager: leaving the block without `commit()` undoes everything. A checkpoint is the
    length of the list of moves; `rollback` undoes the moves after it, newest first (semantics R2.10, R2.11).
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.moves: list[Move] = []
        self.evicted: dict[int, list[Placement]] = {}
        """Evicted tasks with their earlier placements: only these may be put back."""
        self.committed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.committed:
            self.rollback(0)

    def checkpoint(self) -> int:
        """Mark for `rollback`."""
        return len(self.moves)

    def rollback(self, mark: int) -> None:
        """Undo every move after the mark."""
        while len(self.moves) > mark:
            move = self.moves.pop()
            self._ledger.apply(move.task, move.after, move.before)
            if move.after.status is TaskStatus.RELEASING and move.task in self.evicted:
                self.evicted[move.task].pop()
                if not self.evicted[move.task]:
                    del self.evicted[move.task]

    def commit(self) -> None:
        """Keep the moves."""
        self.committed = True

    def evict(self, task: int) -> None:
        """Evict the task; its capacity becomes releasing (semantics R2.13)."""
        before = self._ledger.placements[task]
        self.evicted.setdefault(task, []).append(before)
        self._apply(task, before, before.with_status(TaskStatus.RELEASING))

    def allocate(self, task: int, node: int, gpu_groups: tuple[str, ...] = (), zones: Zones = ()) -> None:
        """Bind the task to the node now."""
        before = self._ledger.placements[task]
        self._apply(task, before, Placement(TaskStatus.BINDING, node, gpu_groups, None, zones))

    def pipeline(self, task: int, node: int, gpu_groups: tuple[str, ...] = (), zones: Zones = ()) -> None:
        """Pipeline the task to the node, for when its capacity is free.

        Put back on a node where it still is, the task was never evicted and keeps what it had (semantics
        R2.14). Put elsewhere, even on another device or in another NUMA zone of its node, it moves: its old
        capacity is being released. The same holds for a task that was terminating before.
        """
        before = self._ledger.placements[task]
        origin = self.evicted[task][-1] if task in self.evicted else None
        if origin is None:
            leaving = before if before.node != NOWHERE else None
            after = Placement(TaskStatus.PIPELINED, node, gpu_groups, leaving, zones)
        elif origin.gpu_groups == gpu_groups and self._can_return(task, origin, node, zones):
            after = origin
        else:
            leaving = origin.with_status(TaskStatus.RELEASING)
            after = Placement(TaskStatus.PIPELINED, node, gpu_groups, leaving, zones)
        self._apply(task, before, after)

    def withdraw(self, task: int, placement: Placement) -> None:
        """Take the reservation of a task back, or give it back: this is its placement from now on."""
        self._apply(task, self._ledger.placements[task], placement)

    def replace_by_pipelined(self, pod_group: int, mark: int) -> None:
        """Replace every binding of the pod group since the mark by a pipelined placement (R2.17)."""
        tasks = self._ledger.tasks
        self.pipeline_bound([move for move in self.moves[mark:] if tasks[move.task].pod_group == pod_group])

    def pipeline_bound(self, moves: Iterable[Move]) -> None:
        """Replace the bindings among these moves of the statement by pipelined placements."""
        for move in moves:
            placement = self._ledger.placements[move.task]
            if move.after.status is TaskStatus.BINDING and placement is move.after:
                self._apply(move.task, placement, placement.with_status(TaskStatus.PIPELINED))

    def _can_return(self, task: int, origin: Placement, node: int, zones: Zones) -> bool:
        """Whether the task is still on the node, and still fits there."""
        if origin.node == node:
            return origin.zones == zones
        shape = self._ledger.tasks[task].shape
        if shape.gpu.is_shared:
            return False
        return origin.is_present_on(node) and self._ledger.fits_soon(shape, origin.node)

    def _apply(self, task: int, before: Placement, after: Placement) -> None:
        self._ledger.apply(task, before, after)
        self.moves.append(Move(task, before, after))
