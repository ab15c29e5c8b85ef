"""The numa plugin: zones for tasks on nodes that align them, and nodes where few zones do (R9.40)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from tenure.solver.framework.profile import Parsers
from tenure.solver.framework.session import Session
from tenure.solver.model.node import Node
from tenure.solver.model.numa import NumaPolicy, Zones
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.resources import Amounts
from tenure.solver.plugins.numa.align import aligned_request, choose_zones, split
from tenure.solver.plugins.numa.zonerooms import ZoneRooms

BEST: Final = 100.0
"""Score of a node on which one zone suffices (semantics R3.50)."""


class Numa:
    """Keeps tasks off nodes that would refuse them, and prefers few zones. Not in the default profile."""

    ARGUMENTS: ClassVar[Parsers] = {}

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._tasks = session.cluster.tasks
        self._nodes = session.cluster.nodes
        self._placements = session.ledger.placements
        self._rooms = ZoneRooms(session.cluster)
        names = session.cluster.resource_names
        self._requests = [aligned_request(shape, names) for shape in session.cluster.shapes]
        self._listed = [_listed_slots(node) for node in self._nodes]
        self._most_zones = max((len(node.numa_zones) for node in self._nodes), default=0)
        self._everywhere = frozenset().union(*self._listed)

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """What is free in the zones."""
        self._rooms.move(before, after)

    def zones(self, task: int, node: int, soon: bool) -> Zones | None:
        """The zones the node would give the task; where it came from, those it had."""
        if not self._aligns(task, node):
            return ()
        current = self._placements[task]
        comes_back = current.status is TaskStatus.RELEASING and current.node == node
        if comes_back and self._rooms.has_room(node, current.zones):
            return current.zones
        free, request = self._rooms.free(node, soon), self._request(task, node)
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
        return any(slot in self._everywhere for slot, _ in self._requests[shape.index])

    def _score(self, task: int, node: int) -> float:
        """A node without zones counts like the one with the most; one that does not align has it spread."""
        if not self.concerns(task):
            return 0.0
        if not self._aligns(task, node):
            return BEST / (len(self._nodes[node].numa_zones) or self._most_zones)
        chosen = self._choose(node, self._rooms.free(node, soon=True), self._request(task, node))
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
