"""Moved pods that fit where they were go home one by one, beside all that was placed (semantics R14.21)."""

from typing import Final, final

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Move, Statement
from tenure.solver.model.placement import TaskStatus
from tenure.solver.search.placer import Placer, has_topology
from tenure.solver.search.victim_sets.solutions import redo

MAX_TASKS: Final = 64
"""Moved tasks that are tried."""


@final
class StayHome:
    """Takes needless moves of single tasks out of a solution."""

    def __init__(self, session: Session, placer: Placer) -> None:
        self._session = session
        self._placer = placer

    def send(self, statement: Statement, moves: list[Move], beneficiaries: tuple[int, ...]) -> list[Move]:
        """The moves of a solution with fewer relocations, if there are such; they are in the statement.

        The beneficiaries and all other tasks stay where they were placed. Tasks of pod groups with a required
        topology keep their places, because these are chosen for all of them together.
        """
        for task in self._moved(statement, moves)[:MAX_TASKS]:
            self._session.stop.check()
            origin = statement.evicted[task][-1]
            left = [move for move in moves if move.task != task or move.after.status is TaskStatus.RELEASING]
            statement.rollback(0)
            redo(statement, left)
            place = self._placer.place_reserved
            is_placed = place(statement, task, origin.node, origin.gpu_groups, simulation=True) is None
            if (
                is_placed
                and self._session.ledger.placements[task] == origin
                and self._holds(beneficiaries, task)
            ):
                moves = statement.moves.copy()
                continue
            statement.rollback(0)
            redo(statement, moves)
        return moves

    def _holds(self, beneficiaries: tuple[int, ...], task: int) -> bool:
        """Whether no relation between pods is broken with the task at home."""
        chains = self._session.chains
        return not chains.reserved_pods or chains.can_stay(beneficiaries, (task,))

    def _moved(self, statement: Statement, moves: list[Move]) -> list[int]:
        tasks, groups = self._session.cluster.tasks, self._session.cluster.pod_groups
        return [
            move.task
            for move in moves
            if move.after.status is TaskStatus.PIPELINED
            and move.task in statement.evicted
            and not has_topology(groups[tasks[move.task].pod_group].root)
        ]
