"""The numa plugin: zones for tasks on nodes that align them, and nodes where few zones do (R9.40).

In which zones of a node a request goes, as the kubelet's Topology Manager would have it (R9.40).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, combinations
from typing import ClassVar, Final

from tenure.solver.framework.session import Session
from tenure.solver.model.node import Node, NumaPlacement, NumaPolicy, Zones
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.resources import CPU, GPU, MEMORY, PODS, WHOLE_GPU, Amounts, Vector
from tenure.solver.model.workload import TaskShape
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugins.nodes.zone_usage import ZoneUsage

WHOLE_CORE = 1000
"""Milli-cores; only whole cores are tied to a zone."""

Vectors = Sequence[Sequence[int]]
"""One vector of amounts per zone."""


def aligned_request(shape: TaskShape, names: Sequence[str]) -> Amounts:
    """What of a request is tied to zones: devices always; CPU, memory and huge pages of guaranteed pods."""
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
    """The fewest zones that hold the request together, the lowest first; None when the policy allows none."""
    if not request:
        return ()
    for width in _widths(policy, allocatable, request):
        for zones in combinations(range(len(free)), width):
            if all(sum(free[zone][slot] for zone in zones) >= amount for slot, amount in request):
                return zones
    return None


def split(zones: Iterable[int], free: Vectors, request: Amounts) -> Zones:
    """How much of the request each zone gives: what it has, the lowest zone first."""
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
    """Numbers of zones that the policy lets the request have.

    Restricted: as many as the request would need on an empty node, and only if all resources agree on it.
    """
    if policy is NumaPolicy.SINGLE_NUMA_NODE:
        return (1,)
    if policy is NumaPolicy.BEST_EFFORT:
        return range(1, len(allocatable) + 1)
    widths = {_least_width(sorted(v[slot] for v in allocatable), amount) for slot, amount in request}
    return tuple(widths) if len(widths) == 1 else ()


def _least_width(amounts: Sequence[int], needed: int) -> int:
    """How many of the largest zones it takes; one more than there are when all do not suffice."""
    sums = accumulate(reversed(amounts))
    return 1 + sum(total < needed for total in sums)


BEST: Final = 100.0
"""Score of a node on which one zone suffices (semantics R3.50)."""


class Numa:
    """Keeps tasks off nodes that would refuse them, and prefers few zones. Not in the default profile."""

    ARGUMENTS: ClassVar[Parsers] = {}

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._tasks = session.cluster.tasks
        self._nodes = session.cluster.nodes
        self._placements = session.ledger.placements
        self._zone_usage = ZoneUsage(session.cluster)
        names = session.cluster.resource_names
        self._requests = [aligned_request(shape, names) for shape in session.cluster.shapes]
        self._listed = [_listed_slots(node) for node in self._nodes]
        self._most_zones = max((len(node.numa_zones) for node in self._nodes), default=0)
        self._all_nodes = frozenset().union(*self._listed)

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """What is free in the zones."""
        self._zone_usage.move(before, after)

    def zones(self, task: int, node: int, soon: bool) -> Zones | None:
        """The zones the node would give the task; where it came from, those it had."""
        if not self._aligns(task, node):
            return ()
        current = self._placements[task]
        comes_back = current.status is TaskStatus.RELEASING and current.node == node
        if comes_back and self._zone_usage.fits(node, current.zones):
            return current.zones
        free, request = self._zone_usage.free_zones(node, soon), self._request(task, node)
        chosen = self._choose(node, free, request)
        if chosen is not None:
            return split(chosen, free, request)
        return () if self._nodes[node].numa_policy is NumaPolicy.BEST_EFFORT else None

    def scores(self, task: int, nodes: Sequence[int]) -> Sequence[float]:
        """The fewer zones, the better; nothing for a node that would refuse the task."""
        return [self._score(task, node) for node in nodes]

    def concerns(self, task: int) -> bool:
        """Whether zones matter to the task anywhere."""
        shape = self._tasks[task].shape
        if shape.is_guaranteed:
            return self._most_zones > 0
        return any(slot in self._all_nodes for slot, _ in self._requests[shape.index])

    def _score(self, task: int, node: int) -> float:
        """A node without zones counts like the one with the most; one that does not align has it spread."""
        if not self.concerns(task):
            return 0.0
        if not self._aligns(task, node):
            return BEST / (len(self._nodes[node].numa_zones) or self._most_zones)
        chosen = self._choose(node, self._zone_usage.free_zones(node, soon=True), self._request(task, node))
        return 0.0 if chosen is None else BEST / max(1, len(chosen))

    def _aligns(self, task: int, node: int) -> bool:
        """Whether the node aligns anything of the task with its zones."""
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
    """Slots of the resources that the node aligns: those that some zone has."""
    if node.numa_policy is NumaPolicy.NONE:
        return frozenset()
    zones = (zone.allocatable for zone in node.numa_zones)
    return frozenset(slot for amounts in zones for slot, amount in enumerate(amounts) if amount > 0)
