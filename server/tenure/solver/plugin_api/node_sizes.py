"""Which requests some node could hold if it were empty (semantics R3.64)."""

from typing import Any, Final, Protocol

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import Constraints
from tenure.solver.model.node import Node
from tenure.solver.model.resources import GPU, WHOLE_GPU, Vector
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.derived import Derived

PASSING_TAINTS: Final = "node.kubernetes.io/"
"""Taints with this prefix tell the condition of a node, which passes."""


class NodeSizes:
    """Nodes by their amounts: a cluster has few kinds of machines. Ready or not, all of them count."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes: dict[tuple[Vector, int], list[Node]] = {}
        """By allocatable amounts, and MiB of a GPU if that is known, else 0."""
        self._claims = cluster.claims
        for node in cluster.nodes:
            memory = node.gpu_memory_mib if node.gpu_memory_known else 0
            self._nodes.setdefault((node.allocatable, memory), []).append(node)

    def could_hold(self, shape: TaskShape) -> bool:
        """Whether any node could, with the devices of its shared claims."""
        amounts, constraints = list[tuple[int, int]](), shape.constraints
        for claim in shape.shared_claims:
            amounts.extend(self._claims[claim].amounts)
        amounts.extend((slot, amount) for slot, amount in enumerate(shape.request) if amount)
        if shape.gpu.is_shared:
            amounts.append((GPU, shape.gpu.devices * WHOLE_GPU))
        for (allocatable, gpu_memory), nodes in self._nodes.items():
            if 0 < gpu_memory < shape.gpu.memory_mib:
                continue
            if any(amount > allocatable[slot] for slot, amount in amounts):
                continue
            if any(_permits(constraints, node) for node in nodes):
                return True
        return False


def _permits(constraints: Constraints, node: Node) -> bool:
    if not constraints.selects(node.facts.labels):
        return False
    taint = constraints.untolerated(node.taints)
    return taint is None or taint.key.startswith(PASSING_TAINTS)


class _HasCluster(Protocol):
    @property
    def cluster(self) -> Cluster: ...


def _build(source: _HasCluster) -> NodeSizes:
    return NodeSizes(source.cluster)


NODE_SIZES: Final[Derived[Any, NodeSizes]] = Derived(_build)
"""For sessions and plugins: whatever has a cluster."""
