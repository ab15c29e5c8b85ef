"""Who waits because capacity is kept for pod groups with reservations (semantics R17.8, R13.40)."""

from collections.abc import Callable, Iterable
from typing import Protocol

from tenure.solver.actions.protection_turns import name_pod_groups
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.inherited_settings import expected_runtime, time_limit
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugins.reservation.plugin import ReservedCapacity
from tenure.solver.reservations.first_turn import reserved_capacity
from tenure.terms.reasons import ReasonCode


class Kind(Protocol):
    """Pod groups that wait for the same reason, by the first of them."""

    group: PodGroup
    tasks: list[int]
    reason: Rejection | None


def explain_kept(session: Session, kinds: Iterable[Kind], fits: Callable[[int, list[int]], bool]) -> None:
    """Give those without a reason theirs that fit only where capacity is kept, as the ledger is now."""
    reserved = reserved_capacity(session)
    if reserved is None:
        return
    reserved.is_lifted = True
    for kind in kinds:
        if kind.reason is None and fits(kind.group.index, kind.tasks):
            kind.reason = _kept_for(session, kind.group.index, reserved)
    reserved.is_lifted = False


def kept_key(cluster: Cluster, group: PodGroup) -> tuple[object, ...]:
    """Equal for pod groups that reservations treat alike; nothing without reservations."""
    if not cluster.reservations:
        return ()
    queues = cluster.queues
    return (time_limit(group, queues), expected_runtime(group, queues)[0].value)


def _kept_for(session: Session, pod_group: int, reserved: ReservedCapacity) -> Rejection:
    """The reason, until the earliest planned start."""
    owners = [owner for owner in reserved.owners.values() if owner.index != pod_group and not owner.placed]
    starts = [owner.start for owner in owners if owner.start is not None]
    until = min([start for start in starts if start > session.cluster.now], default=None)
    who = name_pod_groups(session, pod_group, sorted([owner.index for owner in owners]))
    return Rejection(
        ReasonCode.RESERVED, f"it would fit, but capacity is reserved for {who}", until, "reservation"
    )
