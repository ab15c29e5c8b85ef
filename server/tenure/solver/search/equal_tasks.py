"""Equal tasks of a victim do not change places: who could stay where it is stays (semantics R5.67)."""

from typing import Final, final

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.search.search import NEVER

Kind = tuple[int | None, int, object]


@final
class EqualTasks:
    """Exchanges the targets of tasks that nothing distinguishes: pod set, shape and labels."""

    def __init__(self, session: Session) -> None:
        self._is_used: Final = session.options.fill_back != NEVER
        self._ledger: Final = session.ledger
        self._tasks: Final = session.cluster.tasks

    def stay(self, statement: Statement, mark: int) -> None:
        """Of what was placed again since the mark, let each task stay whose node an equal one moved to."""
        targets = self._targets(statement, mark) if self._is_used else {}
        if not targets:
            return
        moves = statement.moves[mark:]
        statement.rollback(mark)
        for move in moves:
            place = targets.get(move.task, move.after)
            statement.pipeline(move.task, place.node, place.gpu_groups, place.zones)

    def _targets(self, statement: Statement, mark: int) -> dict[int, Placement]:
        """New places of tasks, where an exchange lets one of them stay."""
        moved: dict[Kind, list[int]] = {}
        for move in statement.moves[mark:]:
            task, after = self._tasks[move.task], move.after
            if after.status is not TaskStatus.PIPELINED or task.shape.shares_devices or after.zones:
                continue
            moved.setdefault((task.pod_set, task.shape.index, task.facts.labels), []).append(move.task)
        found: dict[int, Placement] = {}
        for tasks in moved.values():
            if len(tasks) > 1:
                self._exchange(statement, tasks, found)
        return found

    def _exchange(self, statement: Statement, tasks: list[int], found: dict[int, Placement]) -> None:
        """Give each task its own node, if that is among the targets, and the other targets to the others."""
        targets = [self._ledger.placements[task] for task in tasks]
        left = list(range(len(targets)))
        others: list[int] = []
        stays = False
        for task in tasks:
            origin = statement.evicted[task][-1] if task in statement.evicted else None
            home = [n for n in left if origin is not None and targets[n].node == origin.node]
            if origin is None or not home or origin.zones:
                others.append(task)
                continue
            stays = True
            left.remove(home[0])
            found[task] = origin
        if not stays:
            return
        for task, number in zip(others, left, strict=True):
            found[task] = targets[number]
