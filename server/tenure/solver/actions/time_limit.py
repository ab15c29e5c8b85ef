"""Time limit: pod groups end when their time is over, with notice before that (semantics R19.20).

for every running pod group with a time limit
    if its time is over, or its notice must begin: evict all of its pods, as far as disruption budgets allow
    else wake up when its notice must begin

Folding makes notices of evictions whose pods are given notice (`solver.notices`). No guard protects from the
pod group's own limit.
"""

from collections.abc import Sequence
from typing import Final

from tenure.solver.actions.cycle_context import CycleContext, in_cycle
from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Atomicity, Patch, PatchKind
from tenure.solver.model.fate import HoldReason
from tenure.solver.model.inherited_settings import fate_at_time_limit, time_limit
from tenure.solver.model.queue import Queue
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action, OwnEnd, QueueGate, Relation
from tenure.terms.reasons import ReasonCode


def _end_pod_groups(context: CycleContext, action: Action) -> None:
    """Evict, or announce the eviction of, every pod group whose time is over at the end of its notice."""
    session = context.session
    if session.stop.is_set:
        return
    for index in sorted(session.phases.running):
        group = session.cluster.pod_groups[index]
        end = end_of_run(group, session.cluster.queues)
        if end is None:
            continue
        lead = session.guards.leads.get(index)
        begin = end if lead is None else end - lead.notice
        if session.cluster.now < begin:
            session.wake_times.append(begin)
        else:
            _evict(session, action, group)


def end_of_run(group: PodGroup, queues: Sequence[Queue]) -> int | None:
    """When its time is over, in nanoseconds; None: it has no time limit, or nothing says when it started."""
    limit, start = time_limit(group, queues), group.facts.last_start
    return None if limit is None or start is None else start + limit


def _evict(session: Session, action: Action, group: PodGroup) -> None:
    """Evict what runs of it, as far as disruption budgets allow; a later cycle goes on (semantics R15.6)."""
    session.disruptions.begin(action, group.index)
    session.disruptions.override()
    with session.statement() as statement:
        for task in group.tasks:
            is_there = session.ledger.placements[task].status.is_active_allocated
            if is_there and task not in session.reserved_tasks and session.disruptions.allows((task,)):
                statement.evict(task)
        slowed = session.disruptions.slowed(action, group.index, group.tasks)
        if slowed is not None:
            session.wake_times.extend([] if slowed.until is None else [slowed.until])
        elif statement.moves:
            session.commit(statement, action, group.index, action.reason)
            session.add_patch(Patch(group.index, PatchKind.LAST_EVICTION_TIME, session.cluster.now))


TIME_LIMIT: Final = Action(
    "timelimit",
    victims_from=Relation.NONE,
    gate=QueueGate.NONE,
    reason=ReasonCode.TIME_LIMIT,
    atomicity=Atomicity.BEST_EFFORT,
    run=in_cycle(_end_pod_groups),
    own_end=OwnEnd(end_of_run, fate_at_time_limit, HoldReason.TIME_LIMIT),
)
"""The evictions are for no other pod group: each has an effect by itself."""
