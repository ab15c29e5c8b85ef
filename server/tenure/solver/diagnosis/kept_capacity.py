"""Who waits because of reservations: reasons for pod groups that fit only where capacity is kept (R17.11)."""

from collections.abc import Callable, Hashable, Iterable
from typing import Protocol

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.diagnosis.other_pod_groups import name_pod_groups
from tenure.solver.framework.session import Session
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.reservations.owner_starts import reserved_capacity
from tenure.solver.reservations.plugin import ReservedCapacity
from tenure.solver.reservations.settings import NAME
from tenure.solver.search.placer import Placer
from tenure.terms.reasons import ReasonCode

Fits = Callable[[int, list[int], Placer], bool]
"""Whether a placer finds places for tasks of a pod group."""


class Kind(Protocol):
    """Pod groups that wait for the same reason, by the first of them."""

    group: PodGroup
    tasks: list[int]
    reason: Rejection | None


def explain_kept(context: CycleContext, kinds: Iterable[Kind], fits: Fits) -> None:
    """Give those without a reason theirs that fit only where capacity is kept, as the ledger is now."""
    session, components = context.session, context.components
    reserved = reserved_capacity(session)
    if reserved is None:
        return
    unreserved = session.chains.replacing(NAME, None)
    placer = Placer(session, components.allowed_nodes, components.node_order, unreserved)
    found = [kind for kind in kinds if kind.reason is None and fits(kind.group.index, kind.tasks, placer)]
    for kind in found:
        if not fits(kind.group.index, kind.tasks, context.placer):  # else evictions leave it a place
            kind.reason = _kept_for(session, kind.group.index, reserved)


def kept_key(session: Session, group: PodGroup) -> Hashable:
    """Equal for pod groups that reservations treat alike; nothing without reservations."""
    reserved = reserved_capacity(session)
    return None if reserved is None else reserved.nodes.end_times(group)


def _kept_for(session: Session, pod_group: int, reserved: ReservedCapacity) -> Rejection:
    """The reason, until the earliest planned start."""
    owners = [owner for owner in reserved.owners.values() if owner.index != pod_group and not owner.placed]
    starts = [owner.start for owner in owners if owner.start is not None]
    until = min([start for start in starts if start > session.cluster.now], default=None)
    who = name_pod_groups(session, pod_group, sorted([owner.index for owner in owners]))
    return Rejection(
        ReasonCode.RESERVED, f"it would fit, but capacity is reserved for {who}", until, "reservation"
    )
