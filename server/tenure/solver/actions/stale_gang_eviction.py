"""Stale gang eviction: gangs that stay below their minimum are evicted (semantics 6.4)."""

from typing import Final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Atomicity, Patch, PatchKind
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action, QueueGate, Relation
from tenure.terms.reasons import ReasonCode


def _evict_stale_gangs(context: CycleContext, action: Action) -> None:
    """Evict after the grace period; patch since when a gang is stale, and reset it when it is complete again.

    A stopped cycle evicts none, because what was not tried might have completed the gang. A gang that was
    complete when the cycle began is complete if none of its tasks moved.
    """
    session = context.session
    if session.stop.is_set:
        return
    for index in sorted(session.phases.stale | session.moved_pod_groups()):
        group = session.cluster.pod_groups[index]
        if not is_stale(context, group):
            if group.facts.stale_since is not None:
                session.add_standalone_patch(action.name, Patch(group.index, PatchKind.CLEAR_STALE_SINCE))
            continue
        if group.facts.stale_since is None:
            session.add_standalone_patch(
                action.name, Patch(group.index, PatchKind.STALE_SINCE, session.cluster.now)
            )
        since = session.cluster.now if group.facts.stale_since is None else group.facts.stale_since
        grace = group.facts.staleness_grace_period
        if grace is None:
            grace = session.options.staleness_grace_period
        if grace >= 0 and session.cluster.now - since >= grace:
            _evict(session, action, group)
        elif grace >= 0:
            session.wake_times.append(since + grace)


def is_stale(context: CycleContext, group: PodGroup) -> bool:
    """Whether it runs, has no succeeded task, and is below its minimum (semantics R1.58)."""
    if context.gangs.is_satisfied(group.index):
        return False
    placements, used = context.session.ledger.placements, context.session.ledger.active_used
    if not any(used[pod_set.index] for pod_set in group.pod_sets):
        return False
    return all(placements[task].status is not TaskStatus.SUCCEEDED for task in group.tasks)


def _evict(session: Session, action: Action, group: PodGroup) -> None:
    """Evict as many of its tasks as disruption budgets allow; a later cycle goes on (semantics R15.6)."""
    with session.statement() as statement:
        for pod_set in group.pod_sets:
            for task in pod_set.tasks:
                is_there = session.ledger.placements[task].status.is_active_allocated
                if is_there and task not in session.reserved_tasks and session.disruptions.allows((task,)):
                    statement.evict(task)
        slowed = session.disruptions.slowed(action, group.index, group.tasks)
        if slowed is not None:
            session.wake_times.extend([] if slowed.until is None else [slowed.until])
        elif statement.moves:
            session.commit(statement, action, group.index, action.reason)


STALE_GANG_EVICTION: Final = Action(
    "stalegangeviction",
    victims_from=Relation.NONE,
    gate=QueueGate.NONE,
    reason=ReasonCode.STALE_GANG,
    atomicity=Atomicity.BEST_EFFORT,
    run=_evict_stale_gangs,
)
"""The evictions are for no other pod group: each has an effect by itself."""
