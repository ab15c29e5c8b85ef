"""Stale gang eviction: what runs below its minimum for too long is evicted (semantics 6.4).

That is a gang, or the pods of an optional subgroup that can never reach its own minimum, if another pod group
waits for what they hold.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Final

from tenure.solver.actions.cycle_context import CycleContext, in_cycle
from tenure.solver.framework.statement import Statement
from tenure.solver.model.decision import Atomicity, Patch, PatchKind
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action, QueueGate, Relation
from tenure.terms.reasons import ReasonCode

MOST_WAITING: Final = 32
"""Pod groups that are tried on the capacity of an incomplete subgroup."""


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
        stale = stale_tasks(context, group)
        if not stale:
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
            _evict(context, action, group, stale)
        elif grace >= 0:
            session.wake_times.append(since + grace)


def stale_tasks(context: CycleContext, group: PodGroup) -> Sequence[int]:
    """Tasks that run below a minimum, while no task has succeeded (semantics R1.58).

    All, if the pod group is below its own; else those of incomplete subgroups.
    """
    placements, used = context.session.ledger.placements, context.session.ledger.active_used
    pod_sets = [pod_set for pod_set in group.pod_sets if used[pod_set.index]]
    if pod_sets and context.gangs.is_satisfied(group.index):
        pod_sets = group.incomplete(used, _usable(context, group))
    if not pod_sets or any(placements[task].status is TaskStatus.SUCCEEDED for task in group.tasks):
        return ()
    return [task for pod_set in pod_sets for task in pod_set.tasks]


def _usable(context: CycleContext, group: PodGroup) -> dict[int, int]:
    """Number of living tasks by pod set, without those that no node could hold, ready or not."""
    session, could_hold = context.session, context.components.allowed_nodes.could_hold
    placements, tasks, usable = session.ledger.placements, session.cluster.tasks, dict[int, int]()
    for pod_set in group.pod_sets:
        alive = [task for task in pod_set.tasks if placements[task].status.is_alive]
        waits = [task for task in alive if placements[task].status is TaskStatus.PENDING]
        impossible = [task for task in waits if not could_hold(tasks[task].shape)]
        usable[pod_set.index] = len(alive) - len(impossible)
    return usable


def _evict(context: CycleContext, action: Action, group: PodGroup, tasks: Sequence[int]) -> None:
    """Evict as many of these tasks as disruption budgets allow; a later cycle goes on (semantics R15.6)."""
    session, reason = context.session, action.reason
    session.disruptions.begin(action, group.index)
    with session.statement() as statement:
        waiting = list[int]()
        if context.gangs.is_satisfied(group.index):
            reason, waiting = ReasonCode.STALE_SUB_GROUP, _waiting(context, statement, group)
            if not waiting:
                return
        for task in tasks:
            is_there = session.ledger.placements[task].status.is_active_allocated
            if is_there and task not in session.reserved_tasks and session.disruptions.allows((task,)):
                statement.evict(task)
        if waiting and not any(_could_start(context, statement, each) for each in waiting):
            return
        slowed = session.disruptions.slowed(action, group.index, tasks)
        if slowed is not None:
            session.wake_times.extend([] if slowed.until is None else [slowed.until])
        elif statement.moves:
            session.commit(statement, action, group.index, reason)


def _waiting(context: CycleContext, statement: Statement, group: PodGroup) -> list[int]:
    """Other pod groups that cannot start as things are, first in queue order."""
    others = (each for each in context.pending_pod_groups() if each != group.index)
    return [each for each in islice(others, MOST_WAITING) if not _could_start(context, statement, each)]


def _could_start(context: CycleContext, statement: Statement, pod_group: int) -> bool:
    mark, tasks = statement.checkpoint(), context.tasks_to_allocate(pod_group)
    fits = bool(tasks) and context.place(statement, pod_group, tasks) is None
    statement.rollback(mark)
    return fits


STALE_GANG_EVICTION: Final = Action(
    "stalegangeviction",
    victims_from=Relation.NONE,
    gate=QueueGate.NONE,
    reason=ReasonCode.STALE_GANG,
    atomicity=Atomicity.BEST_EFFORT,
    run=in_cycle(_evict_stale_gangs),
)
"""The evictions are for no other pod group: each has an effect by itself."""
