"""The ledger: where every task is, and what that leaves on every node.

`apply` un-charges the old placement, charges the new one and tells the listeners; a move is undone by
applying it the other way round. Nothing else changes state during a cycle.
"""

from collections.abc import Callable
from typing import Final

from tenure.solver.framework.claims import ClaimUses
from tenure.solver.framework.room import NodeRoom
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.node import Node
from tenure.solver.model.placement import PIPELINED, RELEASING, Placement, TaskStatus
from tenure.solver.model.quantities import Quantities
from tenure.solver.model.resources import CPU, GPU, MEMORY, WHOLE_GPU, Share, Vector, mig_gpu_milli
from tenure.solver.model.slots import Change
from tenure.solver.model.workload import PodGroup, Task, TaskShape

Listener = Callable[[int, Placement, Placement], None]
NO: Final = 0
SOON: Final = 1
NOW: Final = 2
NOT_THERE: Final = Placement(TaskStatus.UNKNOWN)


class Ledger:
    """Mutable state of a cycle. Lists are indexed by task, node, pod set or pod group."""

    def __init__(self, cluster: Cluster, like: "Ledger | None" = None) -> None:
        """`like`: a ledger of this cluster to begin with, instead of counting."""
        self._cluster = cluster
        if like is not None:
            self._begin_as(like)
            return
        self.tasks = cluster.tasks
        self.nodes = cluster.nodes
        self.placements = [task.placement for task in cluster.tasks]
        mig = tuple((i, mig_gpu_milli(n)) for i, n in enumerate(cluster.resource_names) if mig_gpu_milli(n))
        self.rooms = [NodeRoom.of(node, mig) for node in cluster.nodes]
        self._own_rooms: set[int] | None = None
        """Nodes whose rooms are this ledger's alone, and may be changed; None: all of them."""
        pod_sets = 1 + max([s.index for group in cluster.pod_groups for s in group.pod_sets], default=-1)
        self.active_allocated = [0] * pod_sets
        self.active_used = [0] * pod_sets
        self.promised = [0] * pod_sets
        """Tasks of each pod set that are promised room and no more."""
        self.allocated = [0] * len(cluster.pod_groups)
        self.pending = [0] * len(cluster.pod_groups)
        """Tasks that wait to be scheduled; those whose sub group does not exist wait for nothing."""
        self.versions = [0] * len(cluster.pod_groups)
        """Counts the moves of each pod group, and of those it shares device claims with, for caches."""
        self.queue_versions = [0] * len(cluster.queues)
        """Counts the moves of tasks below each queue, and of those that share device claims, for caches."""
        self._paths = [_path(cluster, group) for group in cluster.pod_groups]
        self.touched: set[int] = set(range(len(cluster.nodes)))
        """Nodes whose room changed since the node index looked last."""
        self.room_epoch = 0
        """Changes whenever room may have become larger anywhere: a placement that failed fails until then."""
        self.listeners: tuple[Listener, ...] = ()
        self.claims = ClaimUses(cluster, self.rooms)
        kinds: dict[tuple[bool, ...], list[Quantities]] = {}
        self._charges = [_charges(cluster, node, kinds) for node in cluster.nodes]
        """By node and shape; nodes that offer the same resources have theirs in common."""
        self._shares = [_share(shape, shape.gpu.gpu_milli()) for shape in cluster.shapes]
        smallest, largest = cluster.min_gpu_memory_mib, cluster.max_gpu_memory_mib
        self.unplaced_shares = [self.share_on(shape, smallest) for shape in cluster.shapes]
        """By shape, what a task counts before a node is known: by the smallest device (semantics R1.18 a)."""
        self.least_shares = [self.share_on(shape, largest) for shape in cluster.shapes]
        """The same by the largest device (semantics R1.18 b)."""
        for task in cluster.tasks:
            self._charge(task, task.placement, 1)
            self._count(task, task.placement, 1)

    def copy(self) -> "Ledger":
        """The same, to be changed apart; of a ledger that nothing listens to, in a cluster without claims."""
        return Ledger(self._cluster, self)

    def _begin_as(self, other: "Ledger") -> None:
        """Everything that changes is copied; rooms are when either changes them."""
        self.tasks, self.nodes = other.tasks, other.nodes
        self.placements, self.rooms = other.placements.copy(), other.rooms.copy()
        self._own_rooms, other._own_rooms = set(), set()
        self.active_allocated, self.active_used = other.active_allocated.copy(), other.active_used.copy()
        self.promised = other.promised.copy()
        self.allocated, self.pending = other.allocated.copy(), other.pending.copy()
        self.versions, self.queue_versions = other.versions.copy(), other.queue_versions.copy()
        self.touched, self.room_epoch = other.touched.copy(), other.room_epoch
        self._paths, self.listeners, self.claims = other._paths.copy(), (), other.claims
        self._charges, self._shares = other._charges, other._shares
        self.unplaced_shares, self.least_shares = other.unplaced_shares, other.least_shares

    def close(self) -> None:
        """Let go of the listeners, and of what is this ledger's alone."""
        self.listeners = ()
        for counts in (self.active_allocated, self.active_used, self.promised, self.allocated, self.pending):
            counts.clear()
        self.versions.clear()
        self.placements.clear()
        self.rooms.clear()

    def follow(self, cluster: Cluster, change: Change) -> None:
        """Be the ledger of a cluster, which may differ by a change from this; what stays is not looked at."""
        for index in change.tasks:
            if index < len(self.tasks):
                task, placement = self.tasks[index], self.placements[index]
                self._charge(task, placement, -1)
                self._count(task, placement, -1)
        self._cluster, self.tasks = cluster, cluster.tasks
        self._paths.extend([()] * (len(cluster.pod_groups) - len(self._paths)))
        for index in change.pod_groups:
            group = cluster.pod_groups[index]
            self._paths[index] = _path(cluster, group)
            self._make_room(1 + max([pod_set.index for pod_set in group.pod_sets], default=-1))
        new_groups = [0] * (len(cluster.pod_groups) - len(self.allocated))
        for counts in (self.allocated, self.pending, self.versions):
            counts.extend(new_groups)
        self.placements.extend([NOT_THERE] * (len(cluster.tasks) - len(self.placements)))
        for index in change.tasks:
            task = cluster.tasks[index]
            self.placements[index] = task.placement
            self._charge(task, task.placement, 1)
            self._count(task, task.placement, 1)

    def _make_room(self, pod_sets: int) -> None:
        for counts in (self.active_allocated, self.active_used, self.promised):
            counts.extend([0] * (pod_sets - len(counts)))

    def apply(self, index: int, before: Placement, after: Placement) -> None:
        """Move a task. `before` must be its placement; the other way round the move is undone."""
        task = self.tasks[index]
        if task.shape.shares_devices:
            self._charge(task, before, -1)
            self._charge(task, after, 1)
        elif before.leaving is None and after.leaving is None:
            if before.node == after.node:
                self._change_use(task, before, after)
            else:
                self._charge_new(task, before, -1)
                self._charge_new(task, after, 1)
        elif after.leaving is not None and after.leaving == before:
            self._charge_new(task, after, 1)
        elif before.leaving is not None and before.leaving == after:
            self._charge_new(task, before, -1)
        else:
            self._charge(task, before, -1)
            self._charge(task, after, 1)
        self._count(task, before, -1)
        self._count(task, after, 1)
        self.placements[index] = after
        if before.is_active_allocated or not after.is_active_allocated:
            self.room_epoch += 1
        versions, pod_group = self.queue_versions, task.pod_group
        self.versions[pod_group] = self.versions[pod_group] + 1
        for queue in self._paths[pod_group]:
            versions[queue] = versions[queue] + 1
        if task.shape.shared_claims:
            self.queue_versions[:] = [version + 1 for version in self.queue_versions]
            for pod_group in self.claims.pod_groups(task.shape):
                self.versions[pod_group] += 1
        for listener in self.listeners:
            listener(index, before, after)

    def share(self, task: Task, node: int) -> Share:
        """What the task counts for in its queue when it is on the node (semantics R1.17, R2.19)."""
        shape = task.shape
        if not shape.gpu.memory_mib:
            return self._shares[shape.index]
        milli = -(-shape.gpu.memory_mib * 100 // self.nodes[node].gpu_memory_mib) * 10
        return _share(shape, milli * shape.gpu.devices)

    def freed_gpu_milli(self, task: int) -> int:
        """At most so many GPUs of its node are free when the task leaves it."""
        facts = self.tasks[task]
        shape = facts.shape
        if not shape.gpu.memory_mib:
            return self._shares[shape.index][GPU] + shape.shared_gpu_milli
        return self.share(facts, self.placements[task].node)[GPU] + shape.shared_gpu_milli

    def request_share(self, shape: TaskShape) -> Share:
        """What the request itself counts; nothing for GPUs sized by memory (semantics R1.8, R4.38)."""
        return self._shares[shape.index]

    def share_on(self, shape: TaskShape, device_memory: int) -> Share:
        """Before a node is known, on devices of a given memory, not in hundredths (semantics R1.18)."""
        if not shape.gpu.memory_mib:
            return self._shares[shape.index]
        milli = -(-shape.gpu.memory_mib * WHOLE_GPU // device_memory)
        return _share(shape, milli * shape.gpu.devices)

    def fit(self, shape: TaskShape, node: int) -> int:
        """NOW when the node has idle room for the task and keeps what it promised to others, SOON when it
        has room once its terminating tasks are gone, NO otherwise (semantics R1.21, R1.26).
        """
        if shape.shares_devices:
            if not self.fits_soon(shape, node):
                return NO
            return NOW if self.fits_idle(shape, node) else SOON
        room = self.rooms[node]
        if not room.idle.cover_with(room.releasing, shape.quantities):
            return NO
        return NOW if room.idle.cover(shape.quantities) else SOON

    def fits_idle(self, shape: TaskShape, node: int) -> bool:
        """Whether the node has idle room (semantics R1.21, R1.26)."""
        room = self.rooms[node]
        if not room.idle.cover(shape.quantities):
            return False
        if not shape.shares_devices:
            return True
        if shape.shared_claims and not self.claims.fits(shape, node, soon=False):
            return False
        if not shape.gpu.is_shared:
            return True
        whole = (room.idle.gpu - shape.all_claimed_gpu_milli) // WHOLE_GPU
        return whole + room.fitting_gpus(room.share_memory(shape)) >= shape.gpu.devices

    def fits_soon(self, shape: TaskShape, node: int) -> bool:
        """Whether the node has room once its terminating tasks are gone (semantics R1.21, R1.26)."""
        room = self.rooms[node]
        if not room.idle.cover_with(room.releasing, shape.quantities):
            return False
        if not shape.shares_devices:
            return True
        if shape.shared_claims and not self.claims.fits(shape, node, soon=True):
            return False
        if not shape.gpu.is_shared:
            return True
        whole = (room.idle.gpu + room.releasing.gpu - shape.all_claimed_gpu_milli) // WHOLE_GPU
        return whole + room.fitting_gpus(room.share_memory(shape)) >= shape.gpu.devices

    def _count(self, task: Task, placement: Placement, sign: int) -> None:
        """The task is in this placement from now on, or (with sign -1) no longer."""
        pod_set = task.pod_set
        if placement.use:
            if pod_set is not None:
                self.active_used[pod_set] = self.active_used[pod_set] + sign
                if placement.is_active_allocated:
                    self.active_allocated[pod_set] = self.active_allocated[pod_set] + sign
                    if not placement.is_allocated:
                        self.promised[pod_set] = self.promised[pod_set] + sign
            if placement.is_allocated:
                self.allocated[task.pod_group] = self.allocated[task.pod_group] + sign
        elif pod_set is not None and placement.status is TaskStatus.PENDING:
            self.pending[task.pod_group] = self.pending[task.pod_group] + sign

    def _change_use(self, task: Task, before: Placement, after: Placement) -> None:
        """A task that shares nothing stays on its node and uses it in another way."""
        room, shape = self._own_room(after.node), task.shape
        self._give(room, shape, after.node, before.use)
        self._take(room, shape, after.node, after.use)
        self.touched.add(after.node)

    def _charge(self, task: Task, placement: Placement, sign: int) -> None:
        """Take from nodes what the task uses in this placement, or (with sign -1) give it back."""
        self._charge_new(task, placement, sign)
        if placement.leaving is not None:
            self._charge(task, placement.leaving, sign)

    def _charge_new(self, task: Task, placement: Placement, sign: int) -> None:
        """The same without the room that it still leaves elsewhere."""
        use, node = placement.use, placement.node
        if not use:
            return
        room = self._own_room(node)
        if sign > 0:
            self._take(room, task.shape, node, use)
        else:
            self._give(room, task.shape, node, use)
        if task.shape.shares_devices and task.shape.gpu.is_shared:
            memory = room.share_memory(task.shape) * sign
            for group in placement.gpu_groups:
                room.charge_gpu(group, use, memory)
        if task.shape.shared_claims:
            self.claims.charge(task.shape, node, use, sign)
        self.touched.add(node)

    def _own_room(self, node: int) -> NodeRoom:
        """The room of a node, to be changed: a copy of its own, if others read it as well."""
        own = self._own_rooms
        if own is not None and node not in own:
            own.add(node)
            self.rooms[node] = self.rooms[node].copy()
        return self.rooms[node]

    def _take(self, room: NodeRoom, shape: TaskShape, node: int, use: int) -> None:
        """Who holds room takes what is idle; who terminates leaves that as releasing; who is promised room
        takes from there (semantics R1.19).
        """
        charge = self._charges[node][shape.index]
        if use == PIPELINED:
            room.releasing.subtract(charge)
            return
        room.idle.subtract(charge)
        if use == RELEASING:
            room.releasing.add(charge)

    def _give(self, room: NodeRoom, shape: TaskShape, node: int, use: int) -> None:
        """The reverse."""
        charge = self._charges[node][shape.index]
        if use == PIPELINED:
            room.releasing.add(charge)
            return
        room.idle.add(charge)
        if use == RELEASING:
            room.releasing.subtract(charge)


def _path(cluster: Cluster, group: PodGroup) -> tuple[int, ...]:
    return () if group.queue is None else cluster.queues[group.queue].path


def _share(shape: TaskShape, gpu_milli: int) -> Share:
    return (shape.request[CPU], shape.request[MEMORY], gpu_milli + shape.extra_gpu_milli)


def _charges(
    cluster: Cluster, node: Node, kinds: dict[tuple[bool, ...], list[Quantities]]
) -> list[Quantities]:
    """By shape, what is charged to a node; what it does not offer is not (semantics R1.22)."""
    offered = tuple([amount > 0 for amount in node.allocatable])
    charges = kinds.get(offered)
    if charges is None:
        charges = kinds[offered] = [_charge(shape.request, offered) for shape in cluster.shapes]
    return charges


def _charge(request: Vector, offered: tuple[bool, ...]) -> Quantities:
    charged = [amount if is_there else 0 for amount, is_there in zip(request, offered, strict=True)]
    return Quantities(tuple(charged))
