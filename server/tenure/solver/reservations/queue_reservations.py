"""What reservations keep of limits and quotas, and what is left of it for others (semantics R17.4, R17.8).

The spare amount of a queue for a reservation is what its limit, or its quota, leaves at the planned start, by
the ends that the plan rests on, beyond what is reserved. It follows every move of a task below the queue.
GPUs of device claims do not count here.
"""

from collections.abc import Container, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple, final

from tenure.solver.ends import end_after
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.queue import Queue
from tenure.solver.model.resources import NO_SHARE, UNLIMITED, Share
from tenure.solver.model.workload import PodGroup, add_shares, leaves
from tenure.solver.plugin_api.ledger_view import LedgerView
from tenure.solver.reservations.node_reservations import NodeReservations, Owner

_RESOURCES: Final = (0, 1, 2)
_NO_BOUND: Final = (UNLIMITED, UNLIMITED, UNLIMITED)


class QueueReservation:
    """What a reservation has of the limit, or of the quota, of one queue."""

    __slots__ = ("bound", "demand", "is_quota", "owner", "spare")

    def __init__(self, owner: Owner, bound: Share, demand: Share, is_quota: bool) -> None:
        self.owner = owner
        self.bound = bound
        self.demand = demand
        """What the owner needs; nothing of unlimited resources."""
        self.is_quota = is_quota
        """Whether only non-preemptible pods count."""
        self.spare = list(bound)
        """At the planned start, without a start at the end of the hold; below 0 if the queue must shrink."""


class _Placed(NamedTuple):
    """Tasks of a pod group that are placed at the begin."""

    group: PodGroup
    share: Share
    firm: Share
    """The non-preemptible part."""


@final
class QueueReservations:
    """All reservations by queue with a limit or a quota that matters to them."""

    def __init__(
        self,
        cluster: Cluster,
        ledger: LedgerView,
        nodes: NodeReservations,
        fair_share_actions: AbstractSet[str],
    ) -> None:
        """`fair_share_actions`: names of the actions by which other queues reclaim resources."""
        self._cluster, self._ledger, self._nodes = cluster, ledger, nodes
        self._actions = fair_share_actions
        self.by_queue: dict[int, list[QueueReservation]] = {}
        self._owners: dict[int, Owner] = {}
        self._by_leaf: dict[int, list[_Placed]] | None = None
        self._firm: set[int] = set()
        """Placed tasks of semi-preemptible pod groups that count as their minimum."""
        self._charges: dict[int, list[tuple[list[int], Share]]] = {}
        """Spare amounts that tasks use which moved, with how much of each."""

    def add(self, owner: Owner) -> None:
        """Add a reservation, with the ledger as it is at the begin."""
        queues, group = self._cluster.queues, self._cluster.pod_groups[owner.index]
        if group.queue is None:
            return
        demand = NO_SHARE
        for place in owner.places:
            share = self._ledger.unplaced_share(self._cluster.shapes[place.shape])
            for _ in range(place.pods):
                demand = add_shares(demand, share)
        self._owners[owner.index] = owner
        is_soft = self._is_soft(group)
        for queue in queues[group.queue].path:
            limit, quota = queues[queue].facts.limit, queues[queue].facts.quota
            kept, firm = _bounded(demand, limit), NO_SHARE if is_soft else _bounded(demand, quota)
            if kept == firm == NO_SHARE:
                continue
            entries = self.by_queue.setdefault(queue, [])
            if kept != NO_SHARE:
                entries.append(QueueReservation(owner, limit, kept, False))
            if firm != NO_SHARE:
                entries.append(QueueReservation(owner, quota, firm, True))
            self._open(queue)

    def remove(self, owner: Owner) -> None:
        """Remove a reservation, with the ledger as it is at the begin."""
        self._owners.pop(owner.index, None)
        for queue in list(self.by_queue):
            left = [entry for entry in self.by_queue[queue] if entry.owner is not owner]
            if len(left) < len(self.by_queue[queue]):
                self.by_queue[queue] = left
                self._open(queue)
            if not left:
                del self.by_queue[queue]

    def concerned(self, group: PodGroup) -> Iterator[tuple[Queue, QueueReservation]]:
        """Reservations of limits and quotas that pods of the pod group use, from the leaf queue up."""
        queues = self._cluster.queues
        for queue in reversed(queues[group.queue].path) if group.queue is not None else ():
            for entry in self.by_queue.get(queue, ()):
                if entry.owner.index != group.index and not (entry.is_quota and self._is_soft(group)):
                    yield queues[queue], entry

    def enter(self, task: int, node: int, lent: Container[int]) -> None:
        """A task on a node from now on uses spare amounts of reservations at whose start it is there.

        `lent`: owners that lend it what they reserved.
        """
        facts = self._cluster.tasks[task]
        group, share = self._cluster.pod_groups[facts.pod_group], self._ledger.share(facts, node)
        charged = self._charges[task] = []
        is_firm = self._is_firm(group, task)
        for _, entry in self.concerned(group):
            if (
                entry.owner.index not in lent
                and self._stays(group, entry)
                and (is_firm or not entry.is_quota)
            ):
                charged.append((entry.spare, share))
                _change(entry.spare, share, -1)

    def leave(self, task: int, node: int) -> None:
        """A task is no longer on a node."""
        charged = self._charges.pop(task, None)
        if charged is None:  # it has been there since the begin
            facts = self._cluster.tasks[task]
            group, share = self._cluster.pod_groups[facts.pod_group], self._ledger.share(facts, node)
            is_firm = not group.is_semi_preemptible or group.is_firm(self._actions) or task in self._firm
            entries = [entry for _, entry in self.concerned(group) if is_firm or not entry.is_quota]
            charged = [(entry.spare, share) for entry in entries if self._stays(group, entry)]
        self._firm.discard(task)
        for spare, share in charged:
            _change(spare, share, 1)

    def _open(self, queue: int) -> None:
        """Compute the spare amounts of a queue."""
        self._charges.clear()
        entries = self.by_queue[queue]
        for entry in entries:
            entry.spare = list(entry.bound)
            for other in entries:
                if other.is_quota == entry.is_quota and self._is_there(other.owner, entry.owner):
                    _change(entry.spare, other.demand, -1)
            for placed in self._placed_below(queue):
                if self._stays(placed.group, entry):
                    _change(entry.spare, placed.firm if entry.is_quota else placed.share, -1)

    def _placed_below(self, queue: int) -> Iterator[_Placed]:
        if self._by_leaf is None:
            self._by_leaf = self._count()
        for leaf, placed in self._by_leaf.items():
            if queue in self._cluster.queues[leaf].path:
                yield from placed

    def _count(self) -> dict[int, list[_Placed]]:
        """All pod groups with placed tasks, by leaf queue."""
        found: dict[int, list[_Placed]] = {}
        for group in self._cluster.pod_groups:
            if group.queue is None:
                continue
            total = firm = NO_SHARE
            for task in group.tasks:
                placement = self._ledger.placement(task)
                if not placement.is_active_allocated:
                    continue
                share = self._ledger.share(self._cluster.tasks[task], placement.node)
                total = add_shares(total, share)
                if self._is_firm(group, task):
                    firm = add_shares(firm, share)
            if total != NO_SHARE:
                found.setdefault(group.queue, []).append(_Placed(group, total, firm))
        return found

    def _stays(self, group: PodGroup, entry: QueueReservation) -> bool:
        """Whether the pod group counts at the planned start of the owner, beside what is reserved."""
        own = self._owners.get(group.index)
        if own is not None and (own is entry.owner or self._is_there(own, entry.owner)):
            return False
        return not (self._nodes.leaves(group, entry.owner) or self._nodes.is_backfill(group, entry.owner))

    def _is_there(self, other: Owner, owner: Owner) -> bool:
        """Whether the pod group of a reservation runs when the owner starts, or is the owner."""
        if other is owner or other.until > owner.until:
            return other is owner
        group = self._cluster.pod_groups[other.index]
        hard = end_after(group, self._cluster.queues, other.until, other.until).hard
        return hard is None or hard > owner.until

    def _is_soft(self, group: PodGroup) -> bool:
        """Whether no pod of it needs quota (semantics R4.61)."""
        return not group.is_firm(self._actions) and not group.is_semi_preemptible

    def _is_firm(self, group: PodGroup, task: int) -> bool:
        """Whether a placed task needs quota: of semi-preemptible pod groups, as many as the minimum."""
        if not group.is_semi_preemptible or group.is_firm(self._actions):
            return not self._is_soft(group)
        least = sum([leaf.min_available for leaf in leaves(group.root)])
        if sum([each in self._firm for each in group.tasks]) < least:
            self._firm.add(task)
        return task in self._firm


def _bounded(demand: Share, bound: Share) -> Share:
    """What a demand has of limited resources."""
    if bound == _NO_BOUND:
        return NO_SHARE
    return (
        0 if bound[0] == UNLIMITED else demand[0],
        0 if bound[1] == UNLIMITED else demand[1],
        0 if bound[2] == UNLIMITED else demand[2],
    )


def _change(spare: list[int], share: Share, sign: int) -> None:
    for slot in _RESOURCES:
        spare[slot] += sign * share[slot]


def fits_spare(entry: QueueReservation, demand: Sequence[int]) -> bool:
    """Whether the spare amounts suffice for a demand, of the resources that the owner needs."""
    return all(
        not entry.demand[slot] or not demand[slot] or demand[slot] <= entry.spare[slot] for slot in _RESOURCES
    )
