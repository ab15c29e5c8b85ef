"""Nodes in the order in which a task wants them, without looking at all of them.

Sets of nodes are bit sets in plain integers: bit i is the node of index i, and indices follow names, so the
lowest bit is the first name. Nodes are bucketed by whole GPUs (idle, and idle plus releasing) and by the
largest free part of a shared device; the default scores are monotone in these, so walking the buckets gives
the same order as scoring every node (semantics R3.41-R3.55). `tests/properties` holds the two against each
other.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Final

from tenure.solver.framework.ledger import Ledger
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.resources import CPU, GPU, WHOLE_GPU
from tenure.solver.model.workload import TaskShape

ROUNDING: Final = 20
"""Most that rounding to hundredths hides on a device, idle and releasing parts together."""


def bits(nodes: int) -> Iterator[int]:
    """Node indices of a bit set, lowest first."""
    while nodes:
        low = nodes & -nodes
        yield low.bit_length() - 1
        nodes ^= low


class Buckets:
    """Nodes by a small integer value."""

    def __init__(self) -> None:
        self.sets: dict[int, int] = {}
        self._values: dict[int, int] = {}

    def put(self, node: int, value: int) -> None:
        """The node now has this value."""
        old = self._values.get(node)
        if old == value:
            return
        if old is not None:
            self.sets[old] ^= 1 << node
        self._values[node] = value
        self.sets[value] = self.sets.get(value, 0) | 1 << node

    def at_least(self, value: int) -> int:
        """Nodes with this value or more."""
        nodes = 0
        for key, members in self.sets.items():
            if key >= value:
                nodes |= members
        return nodes

    def ascending(self) -> list[int]:
        """Values that some node has, smallest first."""
        return sorted(value for value, nodes in self.sets.items() if nodes)


class NodeIndex:
    """Follows the ledger lazily: only nodes touched since the last question are looked at again."""

    def __init__(self, cluster: Cluster, ledger: Ledger) -> None:
        self.all_nodes = (1 << len(cluster.nodes)) - 1
        self._ledger = ledger
        self._idle = Buckets()
        self._soon = Buckets()
        self._shareable = Buckets()
        """By the largest free part of a device in shared use, in hundredths."""
        self._by_cpu: list[tuple[int, int]] = []
        self._cpu: dict[int, int] = {}
        self._with_room = 0
        self._free_gpu = [0] * len(cluster.nodes)
        self._bounds = [0] * len(cluster.nodes)
        self._bound = 0
        self._shared = 0
        self._cpu_only = sum(1 << node.index for node in cluster.nodes if node.is_cpu_only)

    def free_gpu_milli(self) -> list[int]:
        """Idle and releasing GPUs by node, parts of devices included, in thousandths."""
        self._refresh()
        return self._free_gpu

    def free_gpu_bound(self) -> int:
        """GPU room of the whole cluster, in thousandths, never too low: rounding and devices that are only
        promised (whose rest can be promised too) are counted in full.
        """
        self._refresh()
        return self._bound

    def nodes_with_gpu_room(self) -> int:
        """Nodes with idle or releasing GPUs, parts of devices included (semantics R5.60)."""
        self._refresh()
        return self._with_room

    def in_order(self, shape: TaskShape, nodes: int) -> Iterator[int]:
        """Nodes of the set on which the task fits, the best score first, then by name."""
        self._refresh()
        if shape.is_cpu_only:
            return self._for_cpu(shape, nodes)
        if shape.gpu.is_shared:
            return self._for_share(shape, nodes)
        return self._for_whole(shape, nodes, shape.request[GPU] // WHOLE_GPU)

    def _for_whole(self, shape: TaskShape, nodes: int, devices: int) -> Iterator[int]:
        fits_idle, fits_soon = self._ledger.fits_idle, self._ledger.fits_soon
        buckets = self._soon.sets
        values = [value for value in self._soon.ascending() if value >= devices]
        now = nodes & self._idle.at_least(devices)
        for value in values:
            for node in bits(buckets[value] & now):
                if fits_idle(shape, node) and fits_soon(shape, node):
                    yield node
        for value in values:
            for node in bits(buckets[value] & nodes):
                if not fits_idle(shape, node) and fits_soon(shape, node):
                    yield node

    def _for_share(self, shape: TaskShape, nodes: int) -> Iterator[int]:
        """Devices in shared use that fit come first: +10000 (semantics R3.55)."""
        portion = shape.gpu.portion_milli // 10 if not shape.gpu.memory_mib else 0
        sharing = nodes & self._shareable.at_least(portion)
        rooms = self._ledger.rooms
        joins = 0
        for node in bits(sharing):
            room = rooms[node]
            if room.fitting_gpus(room.share_memory(shape)):
                joins |= 1 << node
        yield from self._by_gpu_room(shape, joins)
        yield from self._for_whole(shape, nodes & ~joins, shape.gpu.devices)

    def _by_gpu_room(self, shape: TaskShape, nodes: int) -> Iterator[int]:
        fits_idle, fits_soon = self._ledger.fits_idle, self._ledger.fits_soon
        later = []
        for value in self._soon.ascending():
            for node in bits(self._soon.sets[value] & nodes):
                if fits_soon(shape, node):
                    if fits_idle(shape, node):
                        yield node
                    else:
                        later.append(node)
        yield from later

    def _for_cpu(self, shape: TaskShape, nodes: int) -> Iterator[int]:
        """By tier (shared GPUs, idle room, CPU-only node), then by free CPU (semantics R3.51-R3.55)."""
        fits_idle, fits_soon = self._ledger.fits_idle, self._ledger.fits_soon
        tiers: list[list[int]] = [[] for _ in range(8)]
        start = bisect_left(self._by_cpu, (shape.request[CPU], -1))
        for _, node in self._by_cpu[start:]:
            bit = 1 << node
            if not nodes & bit or not fits_soon(shape, node):
                continue
            tier = 4 * (not self._shared & bit) + 2 * (not fits_idle(shape, node))
            tier += not self._cpu_only & bit
            if tier:
                tiers[tier].append(node)
            else:
                yield node
        for rest in tiers:
            yield from rest

    def _refresh(self) -> None:
        touched = self._ledger.touched
        if not touched:
            return
        rooms = self._ledger.rooms
        for node in touched:
            room, bit = rooms[node], 1 << node
            soon = room.idle[GPU] + room.releasing[GPU]
            self._idle.put(node, room.idle[GPU] // WHOLE_GPU)
            self._soon.put(node, soon // WHOLE_GPU)
            free, shared = -1, False
            for gpu in room.gpus.values():
                if gpu.allocated != gpu.releasing:
                    left = room.memory - gpu.allocated + gpu.releasing
                    free = max(free, left * 100 // room.memory)
                    shared = shared or left >= 0
            idle_gpu, releasing_gpu = room.idle_gpu_milli(), room.releasing_gpu_milli()
            has_room = idle_gpu > 0 or releasing_gpu > 0
            self._free_gpu[node] = idle_gpu + releasing_gpu
            loose = sum(ROUNDING if gpu.allocated else WHOLE_GPU for gpu in room.gpus.values())
            bound = max(0, idle_gpu + releasing_gpu) + loose
            self._bound += bound - self._bounds[node]
            self._bounds[node] = bound
            self._shareable.put(node, free)
            self._shared = self._shared | bit if shared else self._shared & ~bit
            self._with_room = self._with_room | bit if has_room else self._with_room & ~bit
            self._put_cpu(node, room.idle[CPU] + room.releasing[CPU])
        touched.clear()

    def _put_cpu(self, node: int, free: int) -> None:
        old = self._cpu.get(node)
        if old == free:
            return
        if old is not None:
            del self._by_cpu[bisect_left(self._by_cpu, (old, node))]
        self._cpu[node] = free
        insort(self._by_cpu, (free, node))
