"""What was kept of a statement: one decision group, with its beneficiary."""

from collections.abc import Mapping

from tenure.solver.framework.statement import Move, Statement
from tenure.solver.model.decision import Requeue
from tenure.solver.model.verdict import GuardVerdict, VictimSet
from tenure.solver.plugin_api.action import Action
from tenure.terms.reasons import ReasonCode


class Commit:
    """Moves that were kept: one decision group."""

    def __init__(
        self,
        action: Action,
        beneficiary: int,
        reason: ReasonCode,
        moves: tuple[Move, ...],
        requeues: tuple[Requeue, ...],
        in_flight: str,
        guards: Mapping[int, tuple[GuardVerdict, ...]],
        overridden_budgets: tuple[str, ...] = (),
    ) -> None:
        """`in_flight` is the id of the in-flight group that it fulfills; `guards` are the verdicts for each
        pod group that loses tasks. `overridden_budgets` hold no longer, and permit fewer disruptions.
        """
        self.action = action
        self.beneficiary = beneficiary
        self.reason = reason
        self.moves = moves
        self.requeues = requeues
        self.in_flight = in_flight
        self.guards = guards
        self.overridden_budgets = overridden_budgets
        self.victim_set: VictimSet | None = None
        self.moves_of_others: tuple[Move, ...] = ()
        """Of tasks that earlier commits bound, and that stay decisions of those."""
        self.frees_for_others = action.is_guarded or reason is ReasonCode.BACKFILL_ENDED

    def take_along(self, others: Statement) -> None:
        """Keep moves of tasks that earlier commits bound: they change their node with this one."""
        others.commit()
        self.moves_of_others = tuple(others.moves)

    def all_moves(self) -> tuple[Move, ...]:
        """Everything to undo, with tasks that stay decisions of earlier commits. No task is in both."""
        return (*self.moves_of_others, *self.moves)
