"""Allocate: place pending pod groups on free capacity, in queue order (semantics section 3).

while a pod group is left
    take the first; place its next tasks, all or none
    if they do not fit, look whether they do with other nodes for what this cycle placed before
    if they are placed, keep them, and let the pod group compete again with its remaining tasks
"""

from typing import Final

from tenure.solver.actions.commit_patches import patch_start
from tenure.solver.actions.cycle_context import CycleContext, in_cycle
from tenure.solver.actions.time_slices import QueueSlices
from tenure.solver.framework.statement import Statement
from tenure.solver.model.decision import Atomicity
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action, QueueGate, Relation
from tenure.solver.search.placer import binds_any
from tenure.solver.search.victim_sets.solutions import redo
from tenure.terms.reasons import ReasonCode


def _allocate(context: CycleContext, action: Action) -> None:
    """Bind tasks that fit idle capacity; pipeline those that wait for releasing capacity."""
    context.slices.run(action.name, _Allocation(context, action))


class _Allocation:
    """The work of the action, in slices."""

    def __init__(self, context: CycleContext, action: Action) -> None:
        self._context = context
        self._action = action
        self._failures = context.failures()
        self._pending = QueueSlices(context.session, context.gangs)

    def go_on(self, end: int | None) -> bool:
        """Place pod groups until this time is left; return whether all had their chance."""
        context, pending, stop = self._context, self._pending, self._context.session.stop
        pending.begin(context.pending(_admit, self._failures), end, context.slices)
        while (pod_group := pending.pop()) is not None:
            stop.check()
            if self._failures.covers(pod_group):
                continue
            if allocate_next(context, self._action, pod_group):
                if context.gangs.has_pending(pod_group):
                    pending.push(context.entry(pod_group))
            elif not stop.is_slice_over:
                self._failures.add(pod_group)
                pending.add_failure(pod_group)
            else:
                pending.put_back(context.entry(pod_group))
                if pending.is_over:
                    return False
        return True


def _admit(group: PodGroup) -> Rejection | None:
    return None


def allocate_next(context: CycleContext, action: Action, pod_group: int) -> bool:
    """Place the next tasks of a pod group, all or none; whether they are placed.

    If not, it is rejected, unless the slice was over before it was evaluated.
    """
    session = context.session
    if not context.gangs.tasks_to_allocate(pod_group):
        return False
    with session.statement() as statement:
        rejection = allocate_within(context, statement, action, pod_group)
    if rejection is None or (not session.stop.is_slice_over and _place_by_moves(context, action, pod_group)):
        return True
    if not session.stop.is_slice_over:
        session.reject(pod_group, rejection)
    return False


def _place_by_moves(context: CycleContext, action: Action, pod_group: int) -> bool:
    """Place the next tasks of a pod group, and pods that this cycle binds on other nodes (semantics R3.36).

    The moved pods stay decisions for their own pod groups.
    """
    session, tasks = context.session, context.gangs.tasks_to_allocate(pod_group)
    is_start = session.ledger.allocated[pod_group] == 0
    with session.statement() as moves, session.statement() as statement:
        if not context.planned_places.place(moves, statement, pod_group, tasks):
            return False
        session.commit(statement, action, pod_group, ReasonCode.ALLOCATED)
        session.commits[-1].take_along(moves)
    patch_start(session, pod_group, is_start)
    return True


def allocate_within(
    context: CycleContext, statement: Statement, action: Action, pod_group: int
) -> Rejection | None:
    """Place the next tasks of a pod group by an empty statement and commit it, or leave it empty."""
    session, tasks = context.session, context.gangs.tasks_to_allocate(pod_group)
    is_start = session.ledger.allocated[pod_group] == 0
    rejection = context.placer.place(statement, pod_group, tasks, context.components.node_order.all_nodes)
    if rejection is not None:
        return rejection
    binds = binds_any(statement, session)
    reason = ReasonCode.ALLOCATED if binds else ReasonCode.PIPELINED
    session.commit(statement, action, pod_group, reason)
    if binds:
        patch_start(session, pod_group, is_start)
    return None


ALLOCATE: Final = Action(
    "allocate",
    victims_from=Relation.NONE,
    gate=QueueGate.NONE,
    reason=ReasonCode.ALLOCATED,
    atomicity=Atomicity.ALL,
    run=in_cycle(_allocate),
)


def replace_by_allocation(context: CycleContext, statement: Statement, pod_group: int) -> bool:
    """Commit what a search placed without victims as an allocation, if allocate was interrupted (R2.23)."""
    if not context.slices.is_unfinished(ALLOCATE.name):
        return False
    moves = statement.moves.copy()
    statement.rollback(0)
    if allocate_within(context, statement, ALLOCATE, pod_group) is None:
        return True
    redo(statement, moves)
    return False
