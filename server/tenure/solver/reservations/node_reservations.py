"""Reserved capacity of nodes, and what is left of it for others (semantics R17.8).

The spare capacity of a node for a reservation is what the node has at the planned start, by the ends that the
plan rests on, beyond what is reserved. It follows every move of a task on the node.
"""

from collections.abc import Container, Mapping, Sequence

from tenure.solver.ends import End, end_after, end_of
from tenure.solver.model.caller_state import PLANNED_STARTS, Certainty, PlannedPods
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.requeue import ParsedValue
from tenure.solver.model.resources import GPU, WHOLE_GPU
from tenure.solver.model.workload import PodGroup
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.ledger_view import LedgerView

Amounts = list[int]
"""One amount per slot."""


class Owner:
    """A pod group with a planned start."""

    __slots__ = ("certainty", "index", "left", "placed", "places", "rank", "start", "until")

    def __init__(
        self,
        index: int,
        start: int | None,
        until: int,
        certainty: Certainty,
        places: Sequence[PlannedPods],
    ) -> None:
        self.index = index
        self.start = start
        """Planned start; None: not known."""
        self.until = until
        """Planned start, else the end of the hold."""
        self.certainty = certainty
        self.places = places
        self.left: dict[int, int] = {}
        """Number of planned pods by node that are not placed there."""
        for place in places:
            self.left[place.node] = self.left.get(place.node, 0) + place.pods
        self.rank = 0
        """Place in the order of planned starts."""
        self.placed = 0
        """Number of its tasks that are placed: then nothing is reserved for it any more."""


class NodeReservation:
    """What a reservation has on one node."""

    __slots__ = ("owner", "reserved", "spare")

    def __init__(self, owner: Owner, reserved: Amounts) -> None:
        self.owner = owner
        self.reserved = reserved
        self.spare: Amounts | None = None
        """Without a planned start there is none."""


class NodeReservations:
    """All reservations by node, and the ends of pod groups."""

    def __init__(self, cluster: Cluster, ledger: LedgerView, time: int) -> None:
        """`time` is when pod groups start that do not run: the snapshot's, or that of a plan."""
        self.by_node: dict[int, list[NodeReservation]] = {}
        self.time = time
        self.lent: Mapping[int, Container[int]] = {}
        """Owners on whose capacity pod groups start in this cycle, by pod group; for plans."""
        self._cluster, self._ledger = cluster, ledger
        self._ends: dict[int, End] = {}
        self._ends_of_new: dict[tuple[int | None, int, ParsedValue], End] = {}
        """Ends of pod groups that start at the time, by queue, time limit and expected runtime."""
        self._charges: dict[tuple[int, int], list[tuple[Amounts, Amounts]]] = {}
        """Spare amounts that a task on a node uses, with how much of each."""

    def end(self, group: PodGroup) -> End:
        """When a pod group ends that runs, or that starts at the time."""
        found = self._ends.get(group.index)
        if found is None:
            tasks, queues = self._cluster.tasks, self._cluster.queues
            if any(tasks[task].placement.is_active_allocated for task in group.tasks):
                found = end_of(group, queues, self._cluster.now)
            else:
                own = group.queue, group.facts.victim.time_limit, group.facts.requeue.expected_runtime
                known = self._ends_of_new.get(own)
                if known is None:
                    known = self._ends_of_new[own] = end_after(group, queues, self.time, self.time)
                found = known
            self._ends[group.index] = found
        return found

    def end_times(self, group: PodGroup) -> tuple[int | None, int | None]:
        """Hard and likely end of a pod group; None: it has none."""
        end = self.end(group)
        return end.hard, end.likely

    def move_to(self, time: int, pod_group: int) -> None:
        """The pod group, which does not run, would start at another time."""
        self.time = time
        self._ends_of_new.clear()
        self._ends.pop(pod_group, None)

    def add(self, owner: Owner, tasks_on: Mapping[int, Sequence[int]]) -> None:
        """Add a reservation. `tasks_on` are the placed tasks of its nodes."""
        reserved: dict[int, Amounts] = {}
        for place in owner.places:
            amounts = reserved.setdefault(place.node, [0] * len(self._cluster.resource_names))
            for slot, amount in enumerate(whole_demand(self._cluster.shapes[place.shape])):
                amounts[slot] += amount * place.pods
        for node, amounts in reserved.items():
            self.by_node.setdefault(node, []).append(NodeReservation(owner, amounts))
            self._open(node, tasks_on.get(node, ()))

    def remove(self, owner: Owner, tasks_on: Mapping[int, Sequence[int]]) -> None:
        """Remove a reservation."""
        for node in owner.left:
            self.by_node[node] = [entry for entry in self.by_node[node] if entry.owner is not owner]
            self._open(node, tasks_on.get(node, ()))
            if not self.by_node[node]:
                del self.by_node[node]

    def _open(self, node: int, tasks: Sequence[int]) -> None:
        """Compute the spare amounts of a node."""
        info, entries = self._ledger.node_info(node), self.by_node[node]
        free = [info.free_amount(slot) for slot in range(len(self._cluster.resource_names))]
        for task in tasks:
            for slot, amount in enumerate(self._cluster.tasks[task].shape.request):
                free[slot] += amount
        for entry in entries:
            if entry.owner.start is None:
                continue
            entry.spare = free.copy()
            for other in entries:
                if other.owner.start is not None and other.owner.until <= entry.owner.until:
                    for slot, amount in enumerate(other.reserved):
                        entry.spare[slot] -= amount
        for task in tasks:
            self._charges.pop((task, node), None)
            self.enter(task, node, self._cluster.tasks[task].shape.request)

    def enter(self, task: int, node: int, demand: Sequence[int], lent: Container[int] = ()) -> None:
        """A task on the node from now on uses spare amounts of reservations at whose start it is there.

        `lent`: owners that lend it their capacity.
        """
        group = self._cluster.pod_groups[self._cluster.tasks[task].pod_group]
        charged: list[tuple[Amounts, Amounts]] = []
        for entry in self.by_node[node]:
            if entry.spare is None or entry.owner.index == group.index or self.leaves(group, entry.owner):
                continue
            if entry.owner.index in lent or self.is_backfill(group, entry.owner):
                continue
            amounts = list(demand)
            for slot, amount in enumerate(amounts):
                entry.spare[slot] -= amount
            charged.append((entry.spare, amounts))
        if charged:
            self._charges[task, node] = charged

    def leave(self, task: int, node: int) -> None:
        """A task is no longer on the node."""
        for spare, amounts in self._charges.pop((task, node), ()):
            for slot, amount in enumerate(amounts):
                spare[slot] += amount

    def leaves(self, group: PodGroup, owner: Owner) -> bool:
        """Whether the pod group has ended when the owner starts, by the ends that its plan rests on."""
        end = self.end(group)
        if end.hard is not None and end.hard <= owner.until:
            return True
        return (
            owner.certainty is not Certainty.BOUNDED and end.likely is not None and end.likely <= owner.until
        )

    def is_backfill(self, group: PodGroup, owner: Owner) -> bool:
        """Whether a placed pod group can be told to yield to the owner."""
        if owner.index in self.lent.get(group.index, ()):
            return True
        if not self.is_stored_backfill(group, owner):
            return False
        tasks = self._cluster.tasks  # of one that waits again, the row is about an earlier run
        return any(tasks[task].placement.is_active_allocated for task in group.tasks)

    def is_stored_backfill(self, group: PodGroup, owner: Owner) -> bool:
        """Whether `backfill_for` of the pod group lists the owner."""
        owners = group.facts.victim.backfill_for
        return bool(owners) and self._cluster.pod_groups[owner.index].facts.uid in owners


def whole_demand(shape: TaskShape) -> tuple[int, ...]:
    """What a task takes from a node if it shares no devices with others."""
    request = shape.request
    if not shape.gpu.is_shared:
        return request
    devices = request[GPU] + shape.gpu.devices * WHOLE_GPU
    return (*request[:GPU], devices, *request[GPU + 1 :])


def placed_tasks(
    cluster: Cluster, ledger: LedgerView, nodes: Container[int] | None = None
) -> Mapping[int, Sequence[int]]:
    """The tasks that are placed on nodes, of all nodes or of these."""
    found: dict[int, list[int]] = {}
    for task in cluster.tasks:
        placement = ledger.placement(task.index)
        if placement.is_active_allocated and (nodes is None or placement.node in nodes):
            found.setdefault(placement.node, []).append(task.index)
    return found


def owners_of(cluster: Cluster, max_hold: int) -> list[Owner]:
    """Owners of the planned starts of a snapshot that are in force, by planned start; without one last."""
    stored = cluster.carried.rows(PLANNED_STARTS)
    rows = {row.pod_group: row for row in reversed(stored) if row.paused_until is None}
    if not rows:
        return []
    found: list[tuple[tuple[bool, int, int, str], Owner]] = []
    for group in cluster.pod_groups:
        row = rows.get(group.facts.uid)
        if row is None:
            continue
        known = [each for each in row.places if each.node >= 0 and each.shape >= 0]
        until = row.grown + max_hold if row.start is None else row.start
        owner = Owner(group.index, row.start, until, row.certainty, known)
        found.append(((row.start is None, until, row.since, row.pod_group), owner))
    found.sort(key=_by_start)
    for rank, (_, owner) in enumerate(found):
        owner.rank = rank
    return [owner for _, owner in found]


def _by_start(entry: tuple[tuple[bool, int, int, str], Owner]) -> tuple[bool, int, int, str]:
    return entry[0]
