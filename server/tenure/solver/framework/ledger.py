"""The ledger: where every task is, and what that leaves on every node.

`apply` un-charges the old placement, charges the new one and tells the listeners; a move is undone by
applying it the other way round. Nothing else changes state during a cycle.
"""

from typing import Final

from tenure.solver.framework.claim_usage import ClaimUsage
from tenure.solver.framework.node_info import NodeInfo
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.node import Node
from tenure.solver.model.placement import PIPELINED, RELEASING, Placement, TaskStatus
from tenure.solver.model.resources import (
    CPU,
    GPU,
    MEMORY,
    WHOLE_GPU,
    MutableVector,
    Share,
    Vector,
    mig_gpu_milli,
)
from tenure.solver.model.workload import PodGroup, Task
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.context import LedgerView
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.plugin_api.points import MoveListener
from tenure.solver.resolution.slot_map import SlotChange

NO: Final = 0
SOON: Final = 1
NOW: Final = 2
ABSENT: Final = Placement(TaskStatus.UNKNOWN)


class Ledger(LedgerView):
    """Mutable state of a cycle. Lists are indexed by task, node, pod set or pod group."""

    def __init__(self, cluster: Cluster, like: "Ledger | None" = None) -> None:
        """`like`: a ledger of this cluster to begin with, instead of counting."""
        self._cluster = cluster
        if like is not None:
            self._copy_from(like)
            return
        self.tasks = cluster.tasks
        self.nodes = cluster.nodes
        self.placements = [task.placement for task in cluster.tasks]
        mig = tuple((i, mig_gpu_milli(n)) for i, n in enumerate(cluster.resource_names) if mig_gpu_milli(n))
        self.node_infos = [NodeInfo.of(node, mig) for node in cluster.nodes]
        self._own_node_infos: set[int] | None = None
        """Nodes whose rooms are this ledger's alone, and may be changed; None: all of them."""
        pod_sets = 1 + max([s.index for group in cluster.pod_groups for s in group.pod_sets], default=-1)
        self.active_allocated = [0] * pod_sets
        self.active_used = [0] * pod_sets
        self.pipelined = [0] * pod_sets
        """Tasks of each pod set that are promised room and no more."""
        self.allocated = [0] * len(cluster.pod_groups)
        self.pending = [0] * len(cluster.pod_groups)
        """Tasks that wait to be scheduled; those whose sub group does not exist wait for nothing."""
        self.versions = [0] * len(cluster.pod_groups)
        """Counts the moves of each pod group, and of those it shares device claims with, for caches."""
        self.queue_versions = [0] * len(cluster.queues)
        """Counts the moves of tasks below each queue, and of those that share device claims, for caches."""
        self._paths = [_path(cluster, group) for group in cluster.pod_groups]
        self.touched_nodes: set[int] = set(range(len(cluster.nodes)))
        """Nodes whose room changed since the node index looked last."""
        self.capacity_epoch = 0
        """Changes whenever room may have become larger anywhere: a placement that failed fails until then."""
        self.listeners: tuple[MoveListener, ...] = ()
        self.claims = ClaimUsage(cluster, self.node_infos)
        kinds: dict[tuple[bool, ...], list[MutableVector]] = {}
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

    def _copy_from(self, other: "Ledger") -> None:
        """Everything that changes is copied; rooms are when either changes them."""
        self.tasks, self.nodes = other.tasks, other.nodes
        self.placements, self.node_infos = other.placements.copy(), other.node_infos.copy()
        self._own_node_infos, other._own_node_infos = set(), set()
        self.active_allocated, self.active_used = other.active_allocated.copy(), other.active_used.copy()
        self.pipelined = other.pipelined.copy()
        self.allocated, self.pending = other.allocated.copy(), other.pending.copy()
        self.versions, self.queue_versions = other.versions.copy(), other.queue_versions.copy()
        self.touched_nodes, self.capacity_epoch = other.touched_nodes.copy(), other.capacity_epoch
        self._paths, self.listeners, self.claims = other._paths.copy(), (), other.claims
        self._charges, self._shares = other._charges, other._shares
        self.unplaced_shares, self.least_shares = other.unplaced_shares, other.least_shares

    def close(self) -> None:
        """Let go of the listeners, and of what is this ledger's alone."""
        self.listeners = ()
        for counts in (self.active_allocated, self.active_used, self.pipelined, self.allocated, self.pending):
            counts.clear()
        self.versions.clear()
        self.placements.clear()
        self.node_infos.clear()

    def follow(self, cluster: Cluster, change: SlotChange) -> None:
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
            self._extend_pod_sets(1 + max([pod_set.index for pod_set in group.pod_sets], default=-1))
        new_groups = [0] * (len(cluster.pod_groups) - len(self.allocated))
        for counts in (self.allocated, self.pending, self.versions):
            counts.extend(new_groups)
        self.placements.extend([ABSENT] * (len(cluster.tasks) - len(self.placements)))
        for index in change.tasks:
            task = cluster.tasks[index]
            self.placements[index] = task.placement
            self._charge(task, task.placement, 1)
            self._count(task, task.placement, 1)

    def _extend_pod_sets(self, pod_sets: int) -> None:
        for counts in (self.active_allocated, self.active_used, self.pipelined):
            counts.extend([0] * (pod_sets - len(counts)))

    def apply(self, index: int, before: Placement, after: Placement) -> None:
        """Move a task. `before` must be its placement; the other way round the move is undone."""
        task = self.tasks[index]
        if task.shape.shares_devices:
            self._charge(task, before, -1)
            self._charge(task, after, 1)
        elif before.previous is None and after.previous is None:
            if before.node == after.node:
                self._change_use(task, before, after)
            else:
                self._charge_new(task, before, -1)
                self._charge_new(task, after, 1)
        elif after.previous is not None and after.previous == before:
            self._charge_new(task, after, 1)
        elif before.previous is not None and before.previous == after:
            self._charge_new(task, before, -1)
        else:
            self._charge(task, before, -1)
            self._charge(task, after, 1)
        self._count(task, before, -1)
        self._count(task, after, 1)
        self.placements[index] = after
        if before.is_active_allocated or not after.is_active_allocated:
            self.capacity_epoch += 1
        versions, pod_group = self.queue_versions, task.pod_group
        self.versions[pod_group] = self.versions[pod_group] + 1
        for queue in self._paths[pod_group]:
            versions[queue] = versions[queue] + 1
        if task.shape.shared_claims:
            self.queue_versions[:] = [version + 1 for version in self.queue_versions]
            for pod_group in self.claims.pod_groups(task.shape):
                self.versions[pod_group] += 1
        for listener in self.listeners:
            listener.on_move(index, before, after)

    def placement(self, task: int) -> Placement:
        """Where the task is."""
        return self.placements[task]

    def node_info(self, node: int) -> NodeInfo:
        """Free amounts of a node."""
        return self.node_infos[node]

    def is_claim_active(self, claim: int) -> bool:
        """Whether a task that is not terminating uses the device claim."""
        return self.claims.is_active(claim)

    def unplaced_share(self, shape: TaskShape) -> Share:
        """What a task counts for before its node is known (semantics R1.18 a)."""
        return self.unplaced_shares[shape.index]

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
        room = self.node_infos[node]
        if not room.idle.cover_with(room.releasing, shape.request_vector):
            return NO
        return NOW if room.idle.cover(shape.request_vector) else SOON

    def fits_idle(self, shape: TaskShape, node: int) -> bool:
        """Whether the node has idle room (semantics R1.21, R1.26)."""
        room = self.node_infos[node]
        if not room.idle.cover(shape.request_vector):
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
        room = self.node_infos[node]
        if not room.idle.cover_with(room.releasing, shape.request_vector):
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
                        self.pipelined[pod_set] = self.pipelined[pod_set] + sign
            if placement.is_allocated:
                self.allocated[task.pod_group] = self.allocated[task.pod_group] + sign
        elif pod_set is not None and placement.status is TaskStatus.PENDING:
            self.pending[task.pod_group] = self.pending[task.pod_group] + sign

    def _change_use(self, task: Task, before: Placement, after: Placement) -> None:
        """A task that shares nothing stays on its node and uses it in another way."""
        room, shape = self._own_node_info(after.node), task.shape
        self._give_to(room, shape, after.node, before.use)
        self._take_from(room, shape, after.node, after.use)
        self.touched_nodes.add(after.node)

    def _charge(self, task: Task, placement: Placement, sign: int) -> None:
        """Take from nodes what the task uses in this placement, or (with sign -1) give it back."""
        self._charge_new(task, placement, sign)
        if placement.previous is not None:
            self._charge(task, placement.previous, sign)

    def _charge_new(self, task: Task, placement: Placement, sign: int) -> None:
        """The same without the room that it still leaves elsewhere."""
        use, node = placement.use, placement.node
        if not use:
            return
        room = self._own_node_info(node)
        if sign > 0:
            self._take_from(room, task.shape, node, use)
        else:
            self._give_to(room, task.shape, node, use)
        if task.shape.shares_devices and task.shape.gpu.is_shared:
            memory = room.share_memory(task.shape) * sign
            for group in placement.gpu_groups:
                room.charge_gpu(group, use, memory)
        if task.shape.shared_claims:
            self.claims.charge(task.shape, node, use, sign)
        self.touched_nodes.add(node)

    def _own_node_info(self, node: int) -> NodeInfo:
        """The room of a node, to be changed: a copy of its own, if others read it as well."""
        own = self._own_node_infos
        if own is not None and node not in own:
            own.add(node)
            self.node_infos[node] = self.node_infos[node].copy()
        return self.node_infos[node]

    def _take_from(self, node_info: NodeInfo, shape: TaskShape, node: int, use: int) -> None:
        """Who holds room takes what is idle; who terminates leaves that as releasing; who is promised room
        takes from there (semantics R1.19).
        """
        charge = self._charges[node][shape.index]
        if use == PIPELINED:
            node_info.releasing.subtract(charge)
            return
        node_info.idle.subtract(charge)
        if use == RELEASING:
            node_info.releasing.add(charge)

    def _give_to(self, node_info: NodeInfo, shape: TaskShape, node: int, use: int) -> None:
        """The reverse."""
        charge = self._charges[node][shape.index]
        if use == PIPELINED:
            node_info.releasing.add(charge)
            return
        node_info.idle.add(charge)
        if use == RELEASING:
            node_info.releasing.subtract(charge)


LEDGER: Final = Derived(Ledger, Ledger.follow, Ledger.copy)
"""Of a cluster without device claims: they tie pods to each other."""


def _path(cluster: Cluster, group: PodGroup) -> tuple[int, ...]:
    return () if group.queue is None else cluster.queues[group.queue].path


def _share(shape: TaskShape, gpu_milli: int) -> Share:
    return (shape.request[CPU], shape.request[MEMORY], gpu_milli + shape.extra_gpu_milli)


def _charges(
    cluster: Cluster, node: Node, kinds: dict[tuple[bool, ...], list[MutableVector]]
) -> list[MutableVector]:
    """By shape, what is charged to a node; what it does not offer is not (semantics R1.22)."""
    offered = tuple([amount > 0 for amount in node.allocatable])
    charges = kinds.get(offered)
    if charges is None:
        charges = kinds[offered] = [_charge(shape.request, offered) for shape in cluster.shapes]
    return charges


def _charge(request: Vector, offered: tuple[bool, ...]) -> MutableVector:
    charged = [amount if is_there else 0 for amount, is_there in zip(request, offered, strict=True)]
    return MutableVector(tuple(charged))
