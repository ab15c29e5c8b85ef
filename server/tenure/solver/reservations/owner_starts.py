"""The begin of a cycle: owners of reservations start before all others, if they fit (semantics R17.12)."""

from collections.abc import Mapping
from contextlib import suppress
from typing import final

from tenure.solver.actions.allocate import ALLOCATE, allocate_next
from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.cycle_start import CycleStart
from tenure.solver.framework.session import Session
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.resources import NO_SHARE, Share
from tenure.solver.model.workload import add_shares
from tenure.solver.reservations.plugin import ReservedCapacity
from tenure.solver.reservations.rules import SessionRules
from tenure.solver.reservations.settings import BACKFILL_ACTION, NAME


def start_owners(start: CycleStart) -> None:
    """Put reservations in force, and try to start their owners, the earliest planned start first."""
    context, session = start.context, start.context.session
    reserved = reserved_capacity(session)
    if reserved is None:
        return
    rules = SessionRules(session, lends=BACKFILL_ACTION in session.profile.actions)
    reserved.put_in_force(rules)
    with suppress(CycleStopped):
        for owner in list(reserved.owners.values()):
            session.stop.check()
            if owner.index in session.phases.pending and is_waiting(context, owner.index):
                allocate_next(context, ALLOCATE, owner.index)
    reserved.count_requests(_idle_by_queue(session, reserved, rules))


def _idle_by_queue(session: Session, reserved: ReservedCapacity, rules: SessionRules) -> Mapping[int, Share]:
    """Free capacity that is reserved for pod groups below each queue."""
    held: dict[int, Share] = {}
    for owner in reserved.owners.values():
        queue = session.cluster.pod_groups[owner.index].queue
        amount = NO_SHARE if owner.placed else rules.idle_holds(owner, reserved.nodes)
        if queue is not None and amount != NO_SHARE:
            for each in session.cluster.queues[queue].path:
                held[each] = add_shares(held.get(each, NO_SHARE), amount)
    return held


def reserved_capacity(session: Session) -> ReservedCapacity | None:
    """The reservations of the session; None: it has none, or the profile does not name the plugin."""
    found = session.chains.plugin(NAME)
    return found if isinstance(found, ReservedCapacity) else None


def is_waiting(context: CycleContext, pod_group: int) -> bool:
    """Whether a pod group is ready to start, and nothing of it runs or is reserved by an in-flight group."""
    session = context.session
    group = session.cluster.pod_groups[pod_group]
    if group.queue is None or any(session.ledger.active_used[each.index] for each in group.pod_sets):
        return False
    return context.gangs.is_ready(pod_group) and bool(context.gangs.tasks_to_allocate(pod_group))


@final
class Backfills:
    """Pod groups that run, or start in this cycle, on capacity of owners that they were lent."""

    def __init__(self, session: Session) -> None:
        groups, reserved = session.cluster.pod_groups, reserved_capacity(session)
        self._found: dict[str, set[int]] = {}
        for index in session.phases.running:
            for uid in groups[index].facts.victim.backfill_for if groups[index].is_preemptible else ():
                self._found.setdefault(uid, set()).add(index)
        for index, owners in ({} if reserved is None else reserved.lent()).items():
            for owner in owners if groups[index].is_preemptible else ():
                self._found.setdefault(groups[owner].facts.uid, set()).add(index)
        self._groups = groups

    def of(self, owner: int) -> list[int]:
        """Those of one owner."""
        return sorted(self._found.get(self._groups[owner].facts.uid, ()))
