"""Node fit, amounts apart: readiness, selectors, taints, kind of GPUs (semantics R3.60-R3.63)."""

from collections.abc import Mapping
from typing import ClassVar

from tenure.solver.framework.session import Session
from tenure.solver.model.node import MigStrategy, Node
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import TaskShape
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugins.nodes.pod_affinity import PodAffinityFilter, has_terms
from tenure.terms.reasons import ReasonCode


class Predicates:
    """Rejects nodes that tasks of a shape can never run on, and those that pod affinity forbids."""

    ARGUMENTS: ClassVar[Parsers] = {}
    HAS_STABLE_FITS: ClassVar = True

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        if has_terms(session.cluster):
            affinity = PodAffinityFilter(session)
            self.allows_placement = affinity.allows_placement
            self.on_move = affinity.on_move

    def fits(self, shape: TaskShape, node: Node) -> Rejection | None:
        """The first reason against the node."""
        problem = (
            node.unready
            or self._selection(shape, node)
            or self._taint(shape, node)
            or self._kind(shape, node)
        )
        return Rejection(ReasonCode.NO_NODE_MATCHES, problem) if problem else None

    def _selection(self, shape: TaskShape, node: Node) -> str:
        return "" if shape.constraints.selects(node.labels) else "its labels are not selected"

    def _taint(self, shape: TaskShape, node: Node) -> str:
        taint = shape.constraints.untolerated(node.taints)
        return "" if taint is None else f"its taint {taint.key} is not tolerated"

    def _kind(self, shape: TaskShape, node: Node) -> str:
        """MIG nodes take what their strategy partitions for (semantics R1.16, R1.28, R1.30)."""
        wants_mig = shape.mig_gpu_milli > 0
        regular = not wants_mig and not shape.gpu.is_shared
        match node.mig_strategy:
            case MigStrategy.MIXED if not wants_mig and not shape.is_cpu_only:
                return "it offers MIG slices only"
            case MigStrategy.SINGLE if not regular:
                return "it takes whole devices only"
            case MigStrategy.NONE if wants_mig:
                return "it has no MIG slices"
        if shape.gpu.is_shared and node.has_only_claimable_gpus:
            return "its GPUs are given through device claims only"
        if shape.gpu.memory_mib and not node.gpu_memory_known:
            return "its GPU memory is unknown"
        if shape.gpu.memory_mib > node.gpu_memory_mib:
            return "its GPUs have less memory"
        return ""
