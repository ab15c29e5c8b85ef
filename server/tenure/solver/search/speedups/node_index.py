"""Saves: scoring every node for every task; nodes come out of an index in the preferred order.
Sound: nodes are bucketed by whole GPUs (idle, and idle plus releasing), and the four standard scores are
monotone in these (semantics R3.41-R3.55); a misfit of a shape is cached (`fit_cache`) until its node changes.
Switch: `node_index`. Plain: `node_order.ScoredNodes`, also for tasks that other scores distinguish nodes for.
Compared by: tests/properties/test_node_index.py (the same order after random moves).
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from tenure.solver.framework.ledger import NO, NOW, SOON, Ledger
from tenure.solver.framework.node_info import NodeInfo
from tenure.solver.framework.session import Session
from tenure.solver.model.node import Node
from tenure.solver.model.resources import CPU, GPU, WHOLE_GPU
from tenure.solver.model.workload import Task
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.resolution.slot_map import SlotChange
from tenure.solver.search.node_order import NodeFit, NodeOrder, ScoredNodes, bits
from tenure.solver.search.speedups.fit_cache import Buckets, FitCache, NodeChanges
from tenure.solver.search.speedups.ranked_nodes import RankedNodes

ROUNDING: Final = 20
"""Maximum amount hidden by rounding to hundredths on a device, idle and releasing parts together."""


class NodeIndex:
    """Follows the ledger lazily: only nodes touched since the last query are updated."""

    def __init__(self, nodes: Sequence[Node], ledger: Ledger) -> None:
        self._ledger = ledger
        self._idle = Buckets(len(nodes))
        self._soon = Buckets(len(nodes))
        self._changes = NodeChanges(len(ledger.nodes))
        self._fit_caches: dict[int, FitCache] = {}
        """Caches by shape."""
        self._left = [-1] * len(nodes)
        """Largest free part of a shared device on each node, in MiB; -1: none."""
        self._by_cpu: list[tuple[int, int]] = []
        self._cpu: dict[int, int] = {}
        self._cpu_touched: set[int] = set()
        """Nodes whose position in `_by_cpu` may be outdated: only CPU-only tasks use it."""
        self._capacity_touched: set[int] = set()
        """Nodes whose free GPUs may be outdated here: only victim searches use the sum."""
        self._shared_once: set[int] = set()
        self._uneven = 0
        """Number of nodes whose number of whole GPUs changes when terminating tasks are gone."""
        self._with_free_gpus = 0
        self._free_gpu = [0] * len(nodes)
        self._bounds = [0] * len(nodes)
        self._bound = 0
        self._shared = 0
        self._cpu_only = int("".join(["01"[node.is_cpu_only] for node in reversed(nodes)]) or "0", 2)

    @classmethod
    def of(cls, session: Session) -> "NodeIndex":
        """Index of a session; with a warm-start cache, only nodes with changed pods are updated."""
        cluster, ledger = session.cluster, session.ledger
        return cls(cluster.nodes, ledger) if cluster.claims else session.derived(NODE_INDEX)

    def follow(self, ledger: Ledger) -> None:
        """Follow a ledger, which noted all changes since the last update; drop caches of shapes."""
        if self._ledger is not ledger:  # of a fork: the index may contain moves that the ledger does not
            ledger.touched_nodes.update(range(len(ledger.nodes)))
        self._ledger, self._fit_caches, self._changes = ledger, {}, NodeChanges(len(ledger.nodes))

    def copy(self) -> "NodeIndex":
        """Independent copy, to be used with a copy of the ledger."""
        other = NodeIndex((), self._ledger)
        other._idle, other._soon, other._left = self._idle.copy(), self._soon.copy(), self._left.copy()
        other._by_cpu, other._cpu = self._by_cpu.copy(), self._cpu.copy()
        other._cpu_touched, other._capacity_touched = self._cpu_touched.copy(), self._capacity_touched.copy()
        other._shared_once, other._uneven = self._shared_once.copy(), self._uneven
        other._with_free_gpus, other._free_gpu = self._with_free_gpus, self._free_gpu.copy()
        other._bounds, other._bound = self._bounds.copy(), self._bound
        other._shared, other._cpu_only = self._shared, self._cpu_only
        return other

    def changes(self) -> NodeChanges:
        """Capacity changes of nodes up to now."""
        self._refresh()
        return self._changes

    def free_gpu_milli(self) -> list[int]:
        """Idle and releasing GPUs by node, parts of devices included, in thousandths."""
        self._refresh_capacity()
        return self._free_gpu

    def free_gpu_bound(self) -> int:
        """Upper bound of the free GPUs of the cluster, in thousandths.

        Counts rounding and devices that are only pipelined (whose rest can be used too) in full.
        """
        self._refresh_capacity()
        return self._bound

    def nodes_with_free_gpus(self) -> int:
        """Nodes with idle or releasing GPUs, parts of devices included (semantics R5.60)."""
        self._refresh_capacity()
        return self._with_free_gpus

    def in_order(self, shape: TaskShape, nodes: int) -> Iterator[NodeFit]:
        """Nodes of the set on which the task fits, best score first, then by name."""
        self._refresh()
        known = self._known(shape)
        nodes &= ~known.misfits
        if shape.is_cpu_only:
            return self._for_cpu(known, nodes)
        if shape.shares_devices:
            return self._for_share(known, nodes)
        return self._for_whole_devices(known, nodes, shape.request[GPU] // WHOLE_GPU)

    def _known(self, shape: TaskShape) -> FitCache:
        """Valid cache of a shape."""
        known = self._fit_caches.get(shape.index)
        if known is None:
            known = self._fit_caches[shape.index] = FitCache(shape, self._ledger)
            if shape.shares_devices:
                known.update_shared_fits(range(len(self._left)), self._left)
        else:
            changed = self._changes.since(known.seen_changes)
            known.invalidate(changed)
            if shape.shares_devices:
                known.update_shared_fits(changed, self._left)
        known.seen_changes = self._changes.count
        return known

    def _for_whole_devices(self, known: FitCache, nodes: int, devices: int) -> Iterator[NodeFit]:
        """Nodes where it fits now first (semantics R3.54), then with the fewest free GPUs (R3.51)."""
        soon = self._soon
        values = soon.values[bisect_left(soon.values, devices) :]
        now = nodes & self._idle.at_least(devices) if self._uneven else nodes
        for value in values if now else []:
            if found := soon.sets[value] & now:
                for node in bits(found):
                    if known.fit(node) == NOW:
                        yield node, True
        nodes &= ~known.misfits
        for value in values if nodes else []:
            if found := soon.sets[value] & nodes:
                for node in bits(found):
                    if known.fit(node) == SOON:
                        yield node, False

    def _for_share(self, known: FitCache, nodes: int) -> Iterator[NodeFit]:
        """Nodes with a suitable shared device first: +10000 (semantics R3.55)."""
        yield from self._for_whole_devices(known, nodes & known.shared_fits, 0)
        yield from self._for_whole_devices(known, nodes & ~known.shared_fits, known.shape.gpu.devices)

    def _for_cpu(self, known: FitCache, nodes: int) -> Iterator[NodeFit]:
        """Nodes with shared GPUs first (semantics R3.55)."""
        self._refresh_cpu()
        yield from self._by_free_cpu(known, nodes & self._shared)
        yield from self._by_free_cpu(known, nodes & ~self._shared)

    def _by_free_cpu(self, known: FitCache, nodes: int) -> Iterator[NodeFit]:
        """By tier (idle capacity, then CPU-only nodes), then by free CPU (semantics R3.51-R3.54)."""
        if not nodes:
            return
        cpu_only = self._cpu_only
        best = int(not nodes & cpu_only)
        tiers: list[list[NodeFit]] = [[] for _ in range(4)]
        start = bisect_left(self._by_cpu, (known.shape.request[CPU], -1))
        for _, node in islice(self._by_cpu, start, None):
            if not nodes >> node & 1:
                continue
            found = known.fit(node)
            if found == NO:
                continue
            tier = 2 * (found == SOON) + (not cpu_only >> node & 1)
            if tier == best:
                yield node, tier < 2
            else:
                tiers[tier].append((node, tier < 2))
        for rest in tiers:
            yield from rest

    def _refresh(self) -> None:
        touched = self._ledger.touched_nodes
        if not touched:
            return
        node_infos = self._ledger.node_infos
        for node in touched:
            self._follow(node, node_infos[node])
        self._changes.add(touched)
        self._cpu_touched |= touched
        self._capacity_touched |= touched
        touched.clear()

    def _follow(self, node: int, node_info: NodeInfo) -> None:
        bit = 1 << node
        idle, releasing = node_info.idle.gpu, node_info.releasing.gpu
        whole_idle, whole_soon = idle // WHOLE_GPU, (idle + releasing) // WHOLE_GPU
        self._idle.put(node, bit, whole_idle)
        self._soon.put(node, bit, whole_soon)
        if releasing or self._uneven:
            self._uneven = _with(self._uneven, bit, whole_idle != whole_soon)
        if node_info.gpus or node in self._shared_once:
            self._follow_shared(node, bit, node_info)

    def _follow_shared(self, node: int, bit: int, node_info: NodeInfo) -> None:
        """Update a node that has or had shared devices."""
        self._shared_once.add(node)
        left = self._left[node] = node_info.largest_free_share()
        self._shared = _with(self._shared, bit, left >= 0)

    def _refresh_capacity(self) -> None:
        self._refresh()
        node_infos = self._ledger.node_infos
        for node in self._capacity_touched:
            self._follow_capacity(node, node_infos[node])
        self._capacity_touched.clear()

    def _follow_capacity(self, node: int, node_info: NodeInfo) -> None:
        idle, releasing, loose = node_info.idle.gpu, node_info.releasing.gpu, 0
        if node_info.gpus or node_info.mig:
            idle, releasing = node_info.idle_gpu_milli(), node_info.releasing_gpu_milli()
            loose = sum(ROUNDING if gpu.allocated else WHOLE_GPU for gpu in node_info.gpus.values())
            loose += node_info.overused_gpu_milli()
        bound = max(0, idle + releasing) + loose
        self._bound += bound - self._bounds[node]
        self._bounds[node] = bound
        self._free_gpu[node] = idle + releasing
        self._with_free_gpus = _with(self._with_free_gpus, 1 << node, idle > 0 or releasing > 0)

    def _refresh_cpu(self) -> None:
        node_infos = self._ledger.node_infos
        for node in self._cpu_touched:
            node_info = node_infos[node]
            self._put_cpu(node, node_info.idle.cpu + node_info.releasing.cpu)
        self._cpu_touched.clear()

    def _put_cpu(self, node: int, free: int) -> None:
        old = self._cpu.get(node)
        if old == free:
            return
        if old is not None:
            del self._by_cpu[bisect_left(self._by_cpu, (old, node))]
        self._cpu[node] = free
        insort(self._by_cpu, (free, node))


class IndexedNodes(NodeOrder):
    """The node order of a session by its index; scores nodes where the index does not apply."""

    def __init__(self, session: Session, index: NodeIndex) -> None:
        super().__init__(len(session.cluster.nodes))
        self._index = index
        self._ledger = session.ledger
        self._scored = ScoredNodes(session)
        self._full: set[tuple[int, int]] = set()
        """Shapes without capacity on a set of nodes, in the ledger's current epoch."""
        self._full_epoch = 0
        self._unranked_scores = session.chains.unranked_scores
        rank = session.chains.state_rank
        self._ranked = None if rank is None else RankedNodes(rank, session.ledger)

    def in_order(self, task: Task, nodes: int) -> Iterator[NodeFit]:
        """By the index, unless the task is distinguished by other scores or the fit by more than capacity."""
        shape = task.shape
        if self._is_known_full(shape, nodes):
            return iter(())
        unranked = self._unranked_scores
        if unranked is not None and not (shape.mig_gpu_milli or shape.shared_claims):
            for score in unranked:
                if score.concerns(task.index):
                    break
            else:
                ranked = self._ranked
                if ranked is not None:
                    return ranked.in_order(shape, self._index.changes(), nodes)
                return self._index.in_order(shape, nodes)
        return self._scored.in_order(task, nodes)

    def has_capacity(self, shape: TaskShape, nodes: int) -> bool:
        """By the index; always true where the fit does not depend on capacity alone."""
        if shape.mig_gpu_milli or shape.shared_claims:
            return True
        takes_whole_gpus = shape.request[GPU] > 0 and not shape.shares_devices
        if takes_whole_gpus and not nodes & self._index.nodes_with_free_gpus():
            return False
        if self._is_known_full(shape, nodes):
            return False
        if next(self._index.in_order(shape, nodes), None) is not None:
            return True
        self._full.add((shape.index, nodes))
        return False

    def nodes_with_free_gpus(self) -> int:
        """Maintained by the index."""
        return self._index.nodes_with_free_gpus()

    def free_gpu_milli(self) -> Sequence[int]:
        """Maintained by the index."""
        return self._index.free_gpu_milli()

    def free_gpu_milli_on(self, node: int) -> int:
        """Maintained by the index."""
        return self._index.free_gpu_milli()[node]

    def note_full(self, shape: TaskShape, nodes: int) -> None:
        """Valid for the ledger's current epoch."""
        self._full.add((shape.index, nodes))

    def _is_known_full(self, shape: TaskShape, nodes: int) -> bool:
        """Whether it was noted in the ledger's current epoch, in which no capacity was freed."""
        if self._full_epoch != self._ledger.capacity_epoch:
            self._full_epoch = self._ledger.capacity_epoch
            self._full.clear()
        return bool(self._full) and (shape.index, nodes) in self._full


def _with(nodes: int, bit: int, is_in: bool) -> int:
    """Set with or without the node."""
    if bool(nodes & bit) == is_in:
        return nodes
    return nodes ^ bit


def _build(session: Session) -> NodeIndex:
    nodes, touched = session.cluster.nodes, session.ledger.touched_nodes
    if len(touched) < len(nodes):  # the ledger is older than this index
        touched.update(range(len(nodes)))
    return NodeIndex(session.cluster.nodes, session.ledger)


def _follow(index: NodeIndex, session: Session, _: SlotChange) -> None:
    index.follow(session.ledger)


NODE_INDEX: Final = Derived(_build, _follow, NodeIndex.copy)
