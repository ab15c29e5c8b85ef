"""The ledger: the placement of every task, and the free amounts of every node.

`apply` un-charges the old placement, charges the new one and tells the listeners; a move is undone by
applying it the other way round. Nothing else changes state during a cycle.
"""

from collections.abc import Collection
from typing import Final

from tenure.solver.framework.claim_usage import ClaimUsage
from tenure.solver.framework.node_info import NodeInfo
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.node import Node
from tenure.solver.model.placement import PIPELINED, RELEASING, Placement, TaskStatus
from tenure.solver.model.resources import (
    GPU,
    NO_SHARE,
    WHOLE_GPU,
    MutableVector,
    Share,
    Vector,
    mig_gpu_milli,
)
from tenure.solver.model.workload import PodGroup, Task, add_shares
from tenure.solver.model.workload_parts import TaskShape, share_of, share_on
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.plugin_api.ledger_view import LedgerView
from tenure.solver.plugin_api.points import MoveListener
from tenure.solver.resolution.slot_map import SlotChange

NO: Final = 0
SOON: Final = 1
NOW: Final = 2
ABSENT: Final = Placement(TaskStatus.UNKNOWN)


class Ledger(LedgerView):
    """Mutable state of a cycle. Lists are indexed by task, node, pod set or pod group."""

    def __init__(self, cluster: Cluster, like: "Ledger | None" = None) -> None:
        """`like`: a ledger of this cluster to copy, instead of counting."""
        self.cluster = cluster
        if like is not None:
            self._copy_from(like)
            return
        self.tasks = cluster.tasks
        self.nodes = cluster.nodes
        self.placements = [task.placement for task in cluster.tasks]
        mig = tuple((i, mig_gpu_milli(n)) for i, n in enumerate(cluster.resource_names) if mig_gpu_milli(n))
        self.node_infos = [NodeInfo.of(node, mig) for node in cluster.nodes]
        self._own_node_infos: set[int] | None = None
        """Nodes whose `NodeInfo` belongs to this ledger alone, so that it may change; None: all of them."""
        pod_sets, paths = 0, list[tuple[int, ...]]()
        for group in cluster.pod_groups:
            paths.append(_path(cluster, group))
            for pod_set in group.pod_sets:
                if pod_set.index >= pod_sets:
                    pod_sets = pod_set.index + 1
        self.active_allocated = [0] * pod_sets
        self.active_used = [0] * pod_sets
        self.pipelined = [0] * pod_sets
        """Pipelined tasks of each pod set."""
        self.allocated = [0] * len(cluster.pod_groups)
        self.pending = [0] * len(cluster.pod_groups)
        """Pending tasks; those of an unknown subgroup are not counted."""
        self.versions = [0] * len(cluster.pod_groups)
        """Moves of each pod group, and of pod groups with which it shares device claims, for caches."""
        self.queue_versions = [0] * len(cluster.queues)
        """Moves of tasks below each queue, and of tasks that share device claims with them, for caches."""
        self._paths = paths
        self.touched_nodes: set[int] = set(range(len(cluster.nodes)))
        """Nodes whose free amounts changed since the last update of the node index."""
        self.capacity_epoch = 0
        """Changes whenever free amounts may have grown: until then, a placement that failed fails again."""
        self.listeners: tuple[MoveListener, ...] = ()
        kinds: dict[tuple[bool, ...], list[MutableVector]] = {}
        self._charges: list[list[MutableVector]] = []
        """By node and shape; shared by nodes that offer the same resources."""
        last: MutableVector | None = None
        for node, info in zip(cluster.nodes, self.node_infos, strict=True):
            is_same = last is not None and info.idle.equals(last)
            self._charges.append(self._charges[-1] if is_same else _charges(cluster, node, kinds))
            last = info.idle
        self.claims = ClaimUsage(cluster, self.node_infos)
        self._shares = [share_of(shape, shape.gpu.gpu_milli()) for shape in cluster.shapes]
        smallest, largest = cluster.min_gpu_memory_mib, cluster.max_gpu_memory_mib
        self.unplaced_shares = [self.share_on(shape, smallest) for shape in cluster.shapes]
        """By shape, what a task counts for before its node is known: by the smallest device (R1.18 a)."""
        self.least_shares = [self.share_on(shape, largest) for shape in cluster.shapes]
        """By shape, what a task counts for on the largest device (semantics R1.18 b)."""
        self._count_all(cluster)

    def _count_all(self, cluster: Cluster) -> None:
        """Charge and count all tasks; most of them just run, which takes few steps. All nodes are touched."""
        active, allocated, others = self.active_allocated, self.allocated, list[Task]()
        for task in cluster.tasks:
            placement, shape, pod_set = task.placement, task.shape, task.pod_set
            is_simple = placement.is_allocated and placement.previous is None and not shape.shares_devices
            if pod_set is None or not is_simple:
                others.append(task)
                continue
            node, pod_group = placement.node, task.pod_group
            self.node_infos[node].idle.subtract(self._charges[node][shape.index])
            active[pod_set] = active[pod_set] + 1
            allocated[pod_group] = allocated[pod_group] + 1
        self.active_used = active.copy()
        for task in others:
            self._charge(task, task.placement, 1)
            self._count(task, task.placement, 1)

    def copy(self) -> "Ledger":
        """Independent copy of a ledger without listeners, in a cluster without claims."""
        return Ledger(self.cluster, self)

    def _copy_from(self, other: "Ledger") -> None:
        """Copies everything that changes; a `NodeInfo` is copied when either ledger changes it."""
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
        """Release listeners and lists."""
        self.listeners = ()
        for counts in (self.active_allocated, self.active_used, self.pipelined, self.allocated, self.pending):
            counts.clear()
        self.versions.clear()
        self.placements.clear()
        self.node_infos.clear()

    def follow(self, cluster: Cluster, change: SlotChange) -> None:
        """Become the ledger of a cluster that differs by this change. Costs what changed."""
        for index in change.tasks:
            if index < len(self.tasks):
                task, placement = self.tasks[index], self.placements[index]
                self._charge(task, placement, -1)
                self._count(task, placement, -1)
        self.cluster, self.tasks = cluster, cluster.tasks
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
        """Move a task. `before` must be its current placement. The reversed call undoes the move."""
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
        self._recount(task, before, after)
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

    def demand(self, tasks: Collection[int]) -> Share:
        """What tasks request from their queue before they are placed (semantics R1.18 a)."""
        return self._sum(tasks, self.unplaced_shares)

    def least_demand(self, tasks: Collection[int]) -> Share:
        """What tasks request on the largest GPUs, for limits and quotas (semantics R1.18 b)."""
        return self._sum(tasks, self.least_shares)

    def _sum(self, tasks: Collection[int], shares: list[Share]) -> Share:
        """`shares` are by shape. A claim that tasks share counts once, if it is not in use."""
        # `list | tuple` would build a union on every call
        if len(tasks) == 1 and isinstance(tasks, (list, tuple)) and not self.cluster.claims:
            return shares[self.tasks[tasks[0]].shape.index]
        facts, total, is_first = self.tasks, NO_SHARE, True
        for task in tasks:
            share = shares[facts[task].shape.index]
            total = share if is_first else add_shares(total, share)
            is_first = False
        if not self.cluster.claims:
            return total
        claimed = self.claims.new_gpu_milli(facts[task].shape for task in tasks)
        return add_shares(total, (0, 0, claimed))

    def share(self, task: Task, node: int) -> Share:
        """What the task counts for in its queue when it is on the node (semantics R1.17, R2.19)."""
        shape = task.shape
        if not shape.gpu.memory_mib:
            return self._shares[shape.index]
        return share_on(shape, self.nodes[node].gpu_memory_mib)

    def freed_gpu_milli(self, task: int) -> int:
        """Upper bound of the GPUs that the task frees on its node, in thousandths."""
        facts = self.tasks[task]
        shape = facts.shape
        if not shape.gpu.memory_mib:
            return self._shares[shape.index][GPU] + shape.shared_gpu_milli
        return self.share(facts, self.placements[task].node)[GPU] + shape.shared_gpu_milli

    def request_share(self, shape: TaskShape) -> Share:
        """Share of the request itself, without GPUs sized by memory (semantics R1.8, R4.38)."""
        return self._shares[shape.index]

    def share_on(self, shape: TaskShape, device_memory: int) -> Share:
        """Share on devices of this memory (MiB), before a node is known; not in hundredths (R1.18)."""
        if not shape.gpu.memory_mib:
            return self._shares[shape.index]
        milli = -(-shape.gpu.memory_mib * WHOLE_GPU // device_memory)
        return share_of(shape, milli * shape.gpu.devices)

    def fit(self, shape: TaskShape, node: int) -> int:
        """NOW if the idle amounts of the node are enough and pipelined tasks keep theirs, SOON if they are
        enough with the releasing amounts, NO otherwise (semantics R1.21, R1.26).
        """
        if shape.shares_devices:
            if not self.fits_soon(shape, node):
                return NO
            return NOW if self.fits_idle(shape, node) else SOON
        info = self.node_infos[node]
        if not info.idle.cover_with(info.releasing, shape.request_vector):
            return NO
        return NOW if info.idle.cover(shape.request_vector) else SOON

    def fits_idle(self, shape: TaskShape, node: int) -> bool:
        """Whether the idle amounts of the node are enough (semantics R1.21, R1.26)."""
        info = self.node_infos[node]
        if not info.idle.cover(shape.request_vector):
            return False
        if not shape.shares_devices:
            return True
        if shape.shared_claims and not self.claims.fits(shape, node, soon=False):
            return False
        if not shape.gpu.is_shared:
            return True
        whole = (info.idle.gpu - shape.all_claimed_gpu_milli) // WHOLE_GPU
        return whole + info.fitting_gpus(info.share_memory(shape)) >= shape.gpu.devices

    def fits_soon(self, shape: TaskShape, node: int) -> bool:
        """Whether idle and releasing amounts of the node are enough (semantics R1.21, R1.26)."""
        info = self.node_infos[node]
        if not info.idle.cover_with(info.releasing, shape.request_vector):
            return False
        if not shape.shares_devices:
            return True
        if shape.shared_claims and not self.claims.fits(shape, node, soon=True):
            return False
        if not shape.gpu.is_shared:
            return True
        whole = (info.idle.gpu + info.releasing.gpu - shape.all_claimed_gpu_milli) // WHOLE_GPU
        return whole + info.fitting_gpus(info.share_memory(shape)) >= shape.gpu.devices

    def _count(self, task: Task, placement: Placement, sign: int) -> None:
        """Count the task in this placement; with sign -1, stop counting it."""
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

    def _recount(self, task: Task, before: Placement, after: Placement) -> None:
        """Count the task in another placement than before: only what differs, for this is done most often."""
        if not (before.use and after.use):
            self._count(task, before, -1)
            self._count(task, after, 1)
            return
        gained = after.is_allocated - before.is_allocated
        if gained:
            self.allocated[task.pod_group] = self.allocated[task.pod_group] + gained
        pod_set = task.pod_set
        if pod_set is None:
            return
        active = after.is_active_allocated - before.is_active_allocated
        if active:
            self.active_allocated[pod_set] = self.active_allocated[pod_set] + active
        if active != gained:
            self.pipelined[pod_set] = self.pipelined[pod_set] + active - gained

    def _change_use(self, task: Task, before: Placement, after: Placement) -> None:
        """A task without shared devices changes its status on its node."""
        info, shape = self._own_node_info(after.node), task.shape
        self._give_to(info, shape, after.node, before.use)
        self._take_from(info, shape, after.node, after.use)
        self.touched_nodes.add(after.node)

    def _charge(self, task: Task, placement: Placement, sign: int) -> None:
        """Charge what the task uses in this placement to the nodes; with sign -1, release it."""
        self._charge_new(task, placement, sign)
        if placement.previous is not None:
            self._charge(task, placement.previous, sign)

    def _charge_new(self, task: Task, placement: Placement, sign: int) -> None:
        """Charge a placement without the previous one, which the task still leaves."""
        use, node = placement.use, placement.node
        if not use:
            return
        info = self._own_node_info(node)
        if sign > 0:
            self._take_from(info, task.shape, node, use)
        else:
            self._give_to(info, task.shape, node, use)
        if task.shape.shares_devices and task.shape.gpu.is_shared:
            memory = info.share_memory(task.shape) * sign
            for group in placement.gpu_groups:
                info.charge_gpu(group, use, memory)
        if task.shape.shared_claims:
            self.claims.charge(task.shape, node, use, sign)
        self.touched_nodes.add(node)

    def charge(self, shape: TaskShape, node: int) -> MutableVector:
        """What a task takes from a node, beside shared devices (semantics R1.22)."""
        return self._charges[node][shape.index]

    def _own_node_info(self, node: int) -> NodeInfo:
        """Free amounts of a node, to be changed; copied first if another ledger reads them."""
        own = self._own_node_infos
        if own is not None and node not in own:
            own.add(node)
            self.node_infos[node] = self.node_infos[node].copy()
        return self.node_infos[node]

    def _take_from(self, node_info: NodeInfo, shape: TaskShape, node: int, use: int) -> None:
        """An allocated task takes its request from `idle`, and adds it to `releasing` while it terminates; a
        pipelined task takes it from `releasing` (semantics R1.19).
        """
        charge = self._charges[node][shape.index]
        if use == PIPELINED:
            node_info.releasing.subtract(charge)
            return
        node_info.idle.subtract(charge)
        if use == RELEASING:
            node_info.releasing.add(charge)

    def _give_to(self, node_info: NodeInfo, shape: TaskShape, node: int, use: int) -> None:
        """Undo `_take_from`."""
        charge = self._charges[node][shape.index]
        if use == PIPELINED:
            node_info.releasing.add(charge)
            return
        node_info.idle.add(charge)
        if use == RELEASING:
            node_info.releasing.subtract(charge)


LEDGER: Final = Derived(Ledger, Ledger.follow, Ledger.copy)
"""Only for clusters without device claims, which relate pods to each other."""


def _path(cluster: Cluster, group: PodGroup) -> tuple[int, ...]:
    return () if group.queue is None else cluster.queues[group.queue].path


def _charges(
    cluster: Cluster, node: Node, kinds: dict[tuple[bool, ...], list[MutableVector]]
) -> list[MutableVector]:
    """Amounts by shape that are charged to a node: only resources that it offers (semantics R1.22)."""
    offered = tuple([amount > 0 for amount in node.allocatable])
    charges = kinds.get(offered)
    if charges is None:
        charges = kinds[offered] = [_charge(shape.request, offered) for shape in cluster.shapes]
    return charges


def _charge(request: Vector, offered: tuple[bool, ...]) -> MutableVector:
    charged = [amount if is_there else 0 for amount, is_there in zip(request, offered, strict=True)]
    return MutableVector(tuple(charged))
