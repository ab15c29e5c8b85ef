"""NUMA zones for tasks, as the Topology Manager of the kubelet chooses them (semantics R9.40)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, combinations
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.node import Node, NumaPolicy
from tenure.solver.model.placement import PIPELINED, RELEASING, NumaPlacement, Placement, TaskStatus, Zones
from tenure.solver.model.resources import CPU, GPU, MEMORY, PODS, WHOLE_GPU, Amounts, Vector
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import MoveListener, NodeScore, NumaZoneSelector
from tenure.solver.plugin_api.traits import ScoreConcerns

WHOLE_CORE = 1000
"""Milli-cores; only whole cores are aligned."""

Vectors = Sequence[Sequence[int]]
"""One vector of amounts per zone."""


def aligned_request(shape: TaskShape, names: Sequence[str]) -> Amounts:
    """Aligned part of a request: devices; CPU, memory and huge pages of guaranteed pods only."""
    devices = 0 if shape.gpu.is_shared else shape.gpu.devices * WHOLE_GPU
    amounts = {GPU: devices}
    for slot in range(PODS + 1, len(names)):
        if shape.is_guaranteed or not names[slot].startswith("hugepages-"):
            amounts[slot] = shape.request[slot]
    if shape.is_guaranteed:
        cpu = shape.request[CPU]
        amounts[CPU] = cpu if cpu % WHOLE_CORE == 0 else 0
        amounts[MEMORY] = shape.request[MEMORY]
    return tuple(sorted((slot, amount) for slot, amount in amounts.items() if amount))


def choose_zones(
    policy: NumaPolicy, allocatable: Sequence[Vector], free: Vectors, request: Amounts
) -> tuple[int, ...] | None:
    """The fewest zones that hold the request, lowest first; None if the policy allows none."""
    if not request:
        return ()
    for width in _widths(policy, allocatable, request):
        for zones in combinations(range(len(free)), width):
            if all(sum(free[zone][slot] for zone in zones) >= amount for slot, amount in request):
                return zones
    return None


def split(zones: Iterable[int], free: Vectors, request: Amounts) -> Zones:
    """Part of the request in each zone: what is free there, lowest zone first."""
    missing = dict(request)
    shares = []
    for zone in zones:
        taken = {slot: max(0, min(amount, free[zone][slot])) for slot, amount in missing.items()}
        for slot, amount in taken.items():
            missing[slot] -= amount
        amounts = tuple((slot, amount) for slot, amount in taken.items() if amount)
        if amounts:
            shares.append(NumaPlacement(zone, amounts))
    return tuple(shares)


def _widths(policy: NumaPolicy, allocatable: Sequence[Vector], request: Amounts) -> Sequence[int]:
    """Permitted numbers of zones.

    Restricted: the number that the request needs on an empty node, and only if it is the same for all
    resources.
    """
    if policy is NumaPolicy.SINGLE_NUMA_NODE:
        return (1,)
    if policy is NumaPolicy.BEST_EFFORT:
        return range(1, len(allocatable) + 1)
    widths = {_least_width(sorted(v[slot] for v in allocatable), amount) for slot, amount in request}
    return tuple(widths) if len(widths) == 1 else ()


def _least_width(amounts: Sequence[int], needed: int) -> int:
    """Number of the largest zones that suffice; one more than there are if all do not."""
    sums = accumulate(reversed(amounts))
    return 1 + sum(total < needed for total in sums)


class ZoneUsage:
    """Idle and releasing amounts by node, zone and slot; follows every move."""

    def __init__(self, cluster: Cluster) -> None:
        zones = [node.numa_zones for node in cluster.nodes]
        self._idle = [[list(zone.available or zone.allocatable) for zone in on_node] for on_node in zones]
        self._releasing = [[[0] * len(zone.allocatable) for zone in on_node] for on_node in zones]
        is_given = [[zone.available is not None for zone in on_node] for on_node in zones]
        for task in cluster.tasks:
            placement = task.placement
            for share in placement.zones if placement.use else ():
                self._charge(placement, (share,), 1, is_allocated=is_given[placement.node][share.zone])

    def move(self, before: Placement, after: Placement) -> None:
        """Change the placement of a task."""
        self._change(before, -1)
        self._change(after, 1)

    def free_zones(self, node: int, soon: bool) -> list[list[int]]:
        """Free amounts by zone and slot; `soon` includes what terminating tasks release.

        Otherwise, the idle amounts without those of pipelined tasks that exceed the releasing amounts.
        """
        return [
            [i + (r if soon else min(r, 0)) for i, r in zip(idle, releasing, strict=True)]
            for idle, releasing in zip(self._idle[node], self._releasing[node], strict=True)
        ]

    def fits(self, node: int, zones: Zones) -> bool:
        """Whether these amounts of the zones are free or releasing."""
        free = self.free_zones(node, soon=True)
        return all(amount <= free[share.zone][slot] for share in zones for slot, amount in share.amounts)

    def _change(self, placement: Placement, sign: int) -> None:
        if placement.zones and placement.use:
            self._charge(placement, placement.zones, sign)
        if placement.previous is not None:
            self._change(placement.previous, sign)

    def _charge(self, placement: Placement, zones: Zones, sign: int, is_allocated: bool = False) -> None:
        """Subtract from idle, unless already subtracted, and add to or subtract from releasing (R1.19)."""
        use, node = placement.use, placement.node
        for zone, amounts in zones:
            idle, releasing = self._idle[node][zone], self._releasing[node][zone]
            for slot, amount in amounts:
                if use == PIPELINED:
                    releasing[slot] -= sign * amount
                    continue
                if use == RELEASING:
                    releasing[slot] += sign * amount
                if not is_allocated:
                    idle[slot] -= sign * amount


BEST: Final = 100.0
"""Score of a node where one zone suffices (semantics R3.50)."""


class Numa(MoveListener, NumaZoneSelector, NodeScore, ScoreConcerns):
    """Excludes nodes whose NUMA zones cannot hold the pod, and prefers few zones. Off by default."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._tasks = context.cluster.tasks
        self._nodes = context.cluster.nodes
        self._ledger = context.ledger
        self._zone_usage = ZoneUsage(context.cluster)
        names = context.cluster.resource_names
        self._requests = [aligned_request(shape, names) for shape in context.cluster.shapes]
        self._listed = [_listed_slots(node) for node in self._nodes]
        self._most_zones = max((len(node.numa_zones) for node in self._nodes), default=0)
        self._all_nodes = frozenset().union(*self._listed)

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Update the free amounts of the zones."""
        self._zone_usage.move(before, after)

    def zones(self, task: int, node: int, soon: bool) -> Zones | None:
        """Zones that the node would choose; on the node that it left, the zones that it had."""
        if not self._aligns(task, node):
            return ()
        current = self._ledger.placement(task)
        comes_back = current.status is TaskStatus.RELEASING and current.node == node
        if comes_back and self._zone_usage.fits(node, current.zones):
            return current.zones
        free, request = self._zone_usage.free_zones(node, soon), self._request(task, node)
        chosen = self._choose(node, free, request)
        if chosen is not None:
            return split(chosen, free, request)
        return () if self._nodes[node].numa_policy is NumaPolicy.BEST_EFFORT else None

    def scores(self, task: int, nodes: Sequence[int]) -> Sequence[float]:
        """Higher for fewer zones; 0 for a node that would reject the task."""
        return [self._score(task, node) for node in nodes]

    def concerns(self, task: int) -> bool:
        """Whether a node aligns any resource of the task."""
        shape = self._tasks[task].shape
        if shape.is_guaranteed:
            return self._most_zones > 0
        return any(slot in self._all_nodes for slot, _ in self._requests[shape.index])

    def _score(self, task: int, node: int) -> float:
        """A node without zones counts like the node with the most; one that does not align uses all zones."""
        if not self.concerns(task):
            return 0.0
        if not self._aligns(task, node):
            return BEST / (len(self._nodes[node].numa_zones) or self._most_zones)
        chosen = self._choose(node, self._zone_usage.free_zones(node, soon=True), self._request(task, node))
        return 0.0 if chosen is None else BEST / max(1, len(chosen))

    def _aligns(self, task: int, node: int) -> bool:
        """Whether the node aligns a resource of the task."""
        if not self._listed[node]:
            return False
        return self._tasks[task].shape.is_guaranteed or bool(self._request(task, node))

    def _request(self, task: int, node: int) -> Amounts:
        listed = self._listed[node]
        return tuple(pair for pair in self._requests[self._tasks[task].shape.index] if pair[0] in listed)

    def _choose(self, node: int, free: list[list[int]], request: Amounts) -> tuple[int, ...] | None:
        facts = self._nodes[node]
        allocatable = [zone.allocatable for zone in facts.numa_zones]
        return choose_zones(facts.numa_policy, allocatable, free, request)


def _listed_slots(node: Node) -> frozenset[int]:
    """Slots of the resources that the node aligns: those of its zones."""
    if node.numa_policy is NumaPolicy.NONE:
        return frozenset()
    zones = (zone.allocatable for zone in node.numa_zones)
    return frozenset(slot for amounts in zones for slot, amount in enumerate(amounts) if amount > 0)
