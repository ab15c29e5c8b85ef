"""The tree of domains of a topology (R9.20), and whether tasks fit in a domain (semantics R9.24)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tenure.solver.model.node import Node
from tenure.solver.model.resources import GPU, PODS, WHOLE_GPU
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.ledger_view import LedgerView, NodeInfoView


@dataclass(slots=True)
class Domain:
    """Nodes with the same label values of all levels down to `depth` (0 is the root)."""

    name: str
    depth: int
    nodes: int = 0
    children: dict[str, "Domain"] = field(default_factory=dict)

    def descendants(self) -> Iterator["Domain"]:
        """This domain and its descendants, by name within each parent."""
        yield self
        for key in sorted(self.children):
            yield from self.children[key].descendants()


def build(levels: Sequence[str], nodes: Sequence[Node]) -> Domain:
    """The root domain. A node without the labels of all levels is outside the topology."""
    root = Domain("", 0)
    for node in nodes:
        values = [node.facts.labels.get(level) for level in levels]
        if None in values:
            continue
        domain = root
        domain.nodes |= 1 << node.index
        for depth, value in enumerate(values, start=1):
            name = f"{domain.name}.{value}" if domain.name else str(value)
            domain = domain.children.setdefault(name, Domain(name, depth))
            domain.nodes |= 1 << node.index
    return root


MISSING = 1000.0
"""Ratio of a requested resource without free amount."""


class Demand:
    """Requests of a set of tasks. A GPU that is sized by its memory counts as no request for GPUs."""

    def __init__(self, shapes: Sequence[TaskShape], ledger: LedgerView) -> None:
        self._ledger = ledger
        self._count = len(shapes)
        vectors = [_vector(shape) for shape in shapes]
        self._largest = [max(column) for column in zip(*vectors, strict=True)]
        self._sum = [sum(column) for column in zip(*vectors, strict=True)]
        self._takes_parts = 0 < self._largest[GPU] < WHOLE_GPU
        self._is_homogeneous = all(
            len({vector[slot] > 0 for vector in vectors}) == 1
            for slot in range(len(self._largest))
            if slot == GPU or slot > PODS
        )

    def fits(self, nodes: Sequence[int]) -> bool:
        """Whether the nodes have enough capacity: in pods if all tasks are alike, else in sum."""
        if self._is_homogeneous:
            return sum(self._pods_on(self._ledger.node_info(node)) for node in nodes) >= self._count
        return self.ratio(nodes) <= 1

    def ratio(self, nodes: Sequence[int]) -> float:
        """The largest part of a free resource of the nodes that the tasks would use; whole GPUs only."""
        worst = 0.0
        for slot, wanted in enumerate(self._sum):
            if wanted and slot != PODS:
                free = sum(self._ledger.node_info(node).free_amount(slot) for node in nodes)
                worst = max(worst, wanted / free if free > 0 else MISSING)
        return worst

    def _pods_on(self, node_info: NodeInfoView) -> int:
        counts = [
            max(0, self._free(node_info, slot)) // wanted
            for slot, wanted in enumerate(self._largest)
            if wanted
        ]
        return min(counts, default=0)

    def _free(self, node_info: NodeInfoView, slot: int) -> int:
        """Free amount; for parts of a GPU, including free parts of devices in shared use."""
        if slot == GPU and self._takes_parts:
            return node_info.free_amount(slot) + node_info.free_shared_milli()
        return node_info.free_amount(slot)


def _vector(shape: TaskShape) -> list[int]:
    vector = list(shape.request)
    if shape.gpu.is_shared:
        vector[GPU] = shape.gpu.gpu_milli()
    return vector
