"""Pods that can be placed, and on which nodes, regardless of amounts (semantics R3.60-R3.63, R9.41)."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar

from tenure.solver.model.claims import MAX_CONSUMERS, ResourceClaim
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.node import MigStrategy, Node
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.rejection import Rejection, first_rejection
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import (
    MoveListener,
    NodeFilter,
    PlacementFilter,
    PodBlocking,
    PodDependency,
    ReservedPods,
    ScenarioValidator,
    SearchListener,
    TaskPreFilter,
)
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.plugin_api.traits import Traits, Validity
from tenure.solver.plugins.nodes.host_ports import HostPortFilter, has_host_ports
from tenure.solver.plugins.nodes.pod_affinity import PodAffinityFilter
from tenure.terms.reasons import ReasonCode


def make_predicates(context: PluginContext, arguments: Mapping[str, str]) -> NodeFilter:
    """Node selectors, node and pod affinity, topology spread, host ports, taints, readiness, kinds of GPUs.

    If no task depends on where other pods are, the filter of nodes is sufficient.
    """
    return PodPredicates(context) if _depends_on_pods(context.cluster) else Predicates()


def _depends_on_pods(cluster: Cluster) -> bool:
    """Whether the nodes of any task depend on where other pods are."""
    if any(shape.constraints.depends_on_pods for shape in cluster.shapes):
        return True
    return any(pods.anti_affinity for node in cluster.nodes for pods in node.other_pods)


class Predicates(NodeFilter):
    """Readiness, selectors, taints and kinds of GPUs."""

    TRAITS: ClassVar = Traits(node_fits=Validity.FACTS)

    def fits(self, shape: TaskShape, node: Node) -> Rejection | None:
        """The first reason against the node."""
        problem = node.unready or self._problem(shape, node)
        return Rejection(ReasonCode.NO_NODE_MATCHES, problem) if problem else None

    def accepts(self, shape: TaskShape, node: Node) -> bool:
        """Whether the node fits when it is ready."""
        return not self._problem(shape, node)

    def _problem(self, shape: TaskShape, node: Node) -> str:
        return self._selection(shape, node) or self._taint(shape, node) or self._kind(shape, node)

    def _selection(self, shape: TaskShape, node: Node) -> str:
        return "" if shape.constraints.selects(node.facts.labels) else "its labels are not selected"

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


class PodPredicates(
    Predicates,
    PlacementFilter,
    PodBlocking,
    PodDependency,
    ReservedPods,
    ScenarioValidator,
    SearchListener,
    MoveListener,
):
    """Rejects nodes because of other pods, too: pod affinity, topology spread, host ports."""

    TRAITS: ClassVar = Traits(node_fits=Validity.FACTS)

    def __init__(self, context: PluginContext) -> None:
        self._ledger = context.ledger
        self._affinity = PodAffinityFilter(context)
        self._host_ports = HostPortFilter(context) if has_host_ports(context.cluster) else None

    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        """Both checks: a node that the pod may take later is not one that it may never take."""
        by_pods = self._affinity.allows_placement(task)
        by_ports = None if self._host_ports is None else self._host_ports.allows_placement(task)
        if by_pods is None or by_ports is None:
            return by_pods or by_ports
        return partial(first_rejection, (by_pods, by_ports))

    def on_search_start(self, pod_group: int, tasks: Sequence[int]) -> None:
        """Note what is violated already: a search is not rejected for that."""
        self._affinity.final_state.begin_search()

    def needed(self, tasks: Sequence[int], others: Sequence[int], *, near: bool) -> Collection[int]:
        """What provides for a required affinity; else also what a topology spread counts."""
        return self._affinity.needed(tasks, others, near)

    def blocking(self, tasks: Sequence[int], others: Sequence[int]) -> Collection[int]:
        """What required anti-affinity keeps away from a domain of several nodes, in either direction."""
        return self._affinity.blocking(tasks, others)

    def can_stay(self, tasks: Sequence[int], returned: Sequence[int]) -> bool:
        """Whether nothing is violated, also by what the returned tasks leave (semantics R3.74)."""
        if not returned:
            return self._affinity.final_state.check_own(tasks) is None
        return self._affinity.final_state.check_placed([*tasks, *returned], ()) is None

    def allows_scenario(self, action: Action, scenario: Scenario) -> Rejection | None:
        """Whatever is placed may be where it is, beside all the rest (semantics R3.74)."""
        placement = self._ledger.placement
        moved = [task for tasks in ([*scenario.pending], *scenario.victims().values()) for task in tasks]
        return self._affinity.final_state.check_placed(
            [task for task in moved if placement(task).status is TaskStatus.PIPELINED],
            [task for task in moved if placement(task).status is TaskStatus.RELEASING],
        )

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Follow the move."""
        self._affinity.on_move(task, before, after)
        if self._host_ports is not None:
            self._host_ports.on_move(task, before, after)


class DynamicResources(TaskPreFilter):
    """Blocks pods whose resource claims are for another queue, or have the most consumers (R9.41)."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._cluster = context.cluster

    def blocked_tasks(self) -> Iterator[tuple[int, str]]:
        """Tasks with a claim that they cannot use."""
        claims, groups = self._cluster.claims, self._cluster.pod_groups
        for task in self._cluster.tasks if claims else ():
            for claim in task.facts.claims:
                problem = _problem(claims[claim], groups[task.pod_group].facts.queue_name)
                if problem:
                    yield task.index, f"device claim {claims[claim].id} {problem}"


def _problem(claim: ResourceClaim, queue: str) -> str:
    """Why pods of this queue cannot use the claim; empty if they can."""
    if claim.other_consumers >= MAX_CONSUMERS:
        return f"is used by {claim.other_consumers} pods already, of {MAX_CONSUMERS} at most"
    if claim.from_template or not claim.gpu_milli or claim.queue_name == queue:
        return ""
    if not claim.queue_name:
        return "is for GPUs that pods share, but carries no queue label"
    return f"is for queue {claim.queue_name}"
