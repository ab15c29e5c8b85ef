"""The begin of a cycle: owners of reservations start before all others, if they fit (semantics R17.12)."""

from contextlib import suppress
from typing import Any, Final, final

from tenure.solver.actions.allocate import ALLOCATE, allocate_next
from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.notice_groups import settle_notices
from tenure.solver.framework.session import Session
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.resources import NO_SHARE, Share
from tenure.solver.model.workload import add_shares
from tenure.solver.plugin_api import points
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugins.reservation.plugin import ReservedCapacity
from tenure.solver.reservations.referee import SessionReferee

BACKFILL_ACTION: Final = "reservation"
"""Name of the action that ends backfills: without it, capacity is lent to none."""


def begin_cycle(context: CycleContext, profile: Profile) -> None:
    """Settle notices; then try to start the owners of reservations, the earliest planned start first."""
    settle_notices(context)
    reserved = reserved_capacity(context.session)
    if reserved is None:
        return
    reserved.is_lifted = False
    reserved.referee = SessionReferee(context.session, profile)
    reserved.lends = BACKFILL_ACTION in profile.actions
    with suppress(CycleStopped):
        for owner in list(reserved.owners.values()):
            context.session.stop.check()
            if owner.index in context.session.phases.pending and is_waiting(context, owner.index):
                allocate_next(context, ALLOCATE, owner.index)
    _count_holds(context.session, reserved, reserved.referee)


def _count_holds(session: Session, reserved: ReservedCapacity, referee: SessionReferee) -> None:
    """In the order of queues, free capacity that is reserved counts as theirs (semantics R17.4)."""
    held: dict[int, Share] = {}
    for owner in reserved.owners.values():
        queue = session.cluster.pod_groups[owner.index].queue
        amount = NO_SHARE if owner.placed else referee.idle_holds(owner, reserved.nodes)
        if queue is not None and amount != NO_SHARE:
            for each in session.cluster.queues[queue].path:
                held[each] = add_shares(held.get(each, NO_SHARE), amount)
    if held:
        by_queue = [held.get(queue, NO_SHARE) for queue in range(len(session.cluster.queues))]
        orders = [_WithHolds(each, by_queue) for each in session.chains.queue_orders]
        session.chains.queue_orders = tuple(orders)


@final
class _WithHolds(points.QueueOrder):
    """An order of queues in which what is reserved for a queue counts like a request."""

    def __init__(self, order: points.QueueOrder, held: list[Share]) -> None:
        """`held` is by queue."""
        self._order, self._held = order, held

    def queue_key(self, queue: int, request: Share, popped: Share) -> Any:
        """See the order. Queues of victims, which have no request, are compared by what runs."""
        if request != NO_SHARE:
            request = add_shares(request, self._held[queue])
        return self._order.queue_key(queue, request, popped)


def reserved_capacity(session: Session) -> ReservedCapacity | None:
    """The reservations of the session, if the plugin has any."""
    found = [each for each in session.chains.placement_filters if isinstance(each, ReservedCapacity)]
    return found[0] if found else None


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
