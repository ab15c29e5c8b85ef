"""Allocate: place pending pod groups on free capacity, in queue order (semantics section 3).

while a pod group is left
    take the first; place its next tasks, all or none
    if they are placed, keep them, and let the pod group compete again with its remaining tasks
"""

from typing import Final

from tenure.solver.actions.commit_patches import patch_start
from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.model.decision import Atomicity
from tenure.solver.plugin_api.action import Action, QueueGate, Relation
from tenure.solver.search.placer import binds_any
from tenure.terms.reasons import ReasonCode


def _allocate(context: CycleContext, action: Action) -> None:
    """Bind tasks that fit idle capacity; pipeline those that wait for releasing capacity."""
    failures = context.failures()
    tree = context.pending(lambda group: None, failures)
    while (entry := tree.pop()) is not None:
        context.session.stop.check()
        if failures.covers(entry.pod_group):
            continue
        if not allocate_next(context, action, entry.pod_group):
            failures.add(entry.pod_group)
        elif context.gangs.has_pending(entry.pod_group):
            queue = context.session.cluster.pod_groups[entry.pod_group].queue
            assert queue is not None
            tree.push(queue, context.entry(entry.pod_group))


def allocate_next(context: CycleContext, action: Action, pod_group: int) -> bool:
    """Place the next tasks of a pod group, all or none; whether they are placed."""
    session = context.session
    tasks = context.gangs.tasks_to_allocate(pod_group)
    if not tasks:
        return False
    is_start = session.ledger.allocated[pod_group] == 0
    with session.statement() as statement:
        rejection = context.placer.place(statement, pod_group, tasks, context.parts.node_order.all_nodes)
        if rejection is not None:
            session.reject(pod_group, rejection)
            return False
        binds = binds_any(statement, session)
        reason = ReasonCode.ALLOCATED if binds else ReasonCode.PIPELINED
        session.commit(statement, action, pod_group, reason)
        if binds:
            patch_start(session, pod_group, is_start)
        return True


ALLOCATE: Final = Action(
    "allocate",
    victims_from=Relation.NONE,
    gate=QueueGate.NONE,
    reason=ReasonCode.ALLOCATED,
    atomicity=Atomicity.ALL,
    run=_allocate,
)
