"""Sets of nodes for subgroups with topology constraints, and scores for preferred levels."""

from collections.abc import Iterator, Mapping, Sequence
from math import floor
from typing import Final

from tenure.solver.model.cluster import Topology as Levels
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.workload import Member, PodSet, Task, leaves
from tenure.solver.model.workload_parts import TopologyConstraint
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import NodeScore, NodeSubsetProvider
from tenure.solver.plugin_api.traits import ScoreConcerns
from tenure.solver.plugins.nodes.topology_tree import Demand, Domain, build

PREFERRED: Final = 100_000.0


class TopologyPlugin(NodeSubsetProvider, NodeScore, ScoreConcerns):
    """Applies topology constraints: the narrowest level first, full domains first (semantics R9.21-R9.31)."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._cluster = context.cluster
        self._ledger = context.ledger
        self._levels: dict[str, Levels] = {t.name: t for t in context.cluster.topologies}
        self._roots: dict[str, Domain] = {}
        self._scores: dict[int, float] = {}

    def node_sets(self, constraint: TopologyConstraint, tasks: Sequence[int], nodes: int) -> Iterator[int]:
        """Domains of the relevant levels with enough capacity for all tasks, preferred domains first.

        While a set is tried, nodes in preferred domains have scores; inner subgroups without a preference of
        their own inherit them.
        """
        topology = self._levels.get(constraint.topology)
        if topology is None or not tasks:
            return
        root = self._root(topology)
        inside = nodes & root.nodes
        depths = _relevant_depths(topology.levels, constraint)
        demand = Demand([self._cluster.tasks[task].shape for task in tasks], self._ledger)
        start = _lowest_common(root, inside, max(depths, default=0))
        if not depths or not demand.fits(_indices(start.nodes)):
            return
        ordered = list(self._in_order(start, demand, max(depths)))
        outer = self._scores
        self._scores = self._preferred(topology, constraint, ordered, inside) or outer
        allowed = self._already_used(topology, constraint, tasks, root)
        try:
            for depth in sorted(depths, reverse=True):
                for domain in ordered:
                    within = domain.nodes & inside & allowed
                    if domain.depth == depth and within and demand.fits(_indices(domain.nodes)):
                        yield within
        finally:
            self._scores = outer

    def scores(self, task: int, nodes: Sequence[int]) -> Sequence[float]:
        """Score of the preferred domain of the node (semantics R3.58)."""
        return [self._scores.get(node, 0.0) for node in nodes]

    def concerns(self, task: int) -> bool:
        """Whether a preference applies."""
        return bool(self._scores)

    def _root(self, topology: Levels) -> Domain:
        if topology.name not in self._roots:
            self._roots[topology.name] = build(topology.levels, self._cluster.nodes)
        return self._roots[topology.name]

    def _in_order(self, domain: Domain, demand: Demand, deepest: int) -> Iterator[Domain]:
        """The domain and its descendants; full siblings first, then by name (semantics R9.27)."""
        yield domain
        if domain.depth < deepest:
            children = list(domain.children.values())
            children.sort(key=lambda child: (-demand.ratio(_indices(child.nodes)), child.name))
            for child in children:
                yield from self._in_order(child, demand, deepest)

    def _preferred(
        self, topology: Levels, constraint: TopologyConstraint, ordered: Sequence[Domain], inside: int
    ) -> dict[int, float]:
        """Scores by node; later domains of the preferred level score higher (semantics R9.29, R9.31)."""
        if constraint.preferred_level not in topology.levels:
            return {}
        depth = topology.levels.index(constraint.preferred_level) + 1
        domains = [domain for domain in ordered if domain.depth == depth]
        points = {}
        for position, domain in enumerate(domains, start=1):
            for node in _indices(domain.nodes & inside):
                points[node] = floor(10 * position / len(domains)) * PREFERRED
        return points

    def _already_used(
        self, topology: Levels, constraint: TopologyConstraint, tasks: Sequence[int], root: Domain
    ) -> int:
        """With a required level, the domains in which pods of the subgroup already run (semantics R9.26)."""
        if constraint.required_level not in topology.levels:
            return root.nodes
        depth = topology.levels.index(constraint.required_level) + 1
        used = self._nodes_in_use(constraint, tasks[0])
        if not used:
            return root.nodes
        allowed = 0
        for domain in root.descendants():
            if domain.depth == depth and domain.nodes & used:
                allowed |= domain.nodes
        return allowed

    def _nodes_in_use(self, constraint: TopologyConstraint, index: int) -> int:
        """Nodes of the subgroup of a task that has the constraint, or of its pod group."""
        task, used = self._cluster.tasks[index], 0
        root = self._cluster.pod_groups[task.pod_group].root
        for pod_set in leaves(_constrained(root, constraint, task) or root):
            for other in pod_set.tasks:
                placement = self._ledger.placement(other)
                if placement.status.is_active_allocated and placement.node != NOWHERE:
                    used |= 1 << placement.node
        return used


def _constrained(member: Member, constraint: TopologyConstraint, task: Task) -> Member | None:
    """The outermost member with this constraint that the task belongs to."""
    if all(pod_set.index != task.pod_set for pod_set in leaves(member)):
        return None
    if member.topology is constraint or isinstance(member, PodSet):
        return member
    found = (_constrained(inner, constraint, task) for inner in member.members)
    return next((each for each in found if each is not None), None)


def _relevant_depths(levels: Sequence[str], constraint: TopologyConstraint) -> list[int]:
    """Depths of the relevant levels, from the preferred (or required) level up (semantics R9.22)."""
    depth = {level: i for i, level in enumerate(levels, start=1)}
    required, preferred = depth.get(constraint.required_level), depth.get(constraint.preferred_level)
    if preferred is None:
        return [] if required is None else [required]
    if required is None:
        return list(range(preferred + 1))
    return list(range(required, preferred + 1))


def _lowest_common(root: Domain, inside: int, deepest: int) -> Domain:
    """The lowest domain that holds all the nodes, not below the deepest level (semantics R9.23)."""
    domain = root
    while domain.depth < deepest:
        inner = next((child for child in domain.children.values() if inside & ~child.nodes == 0), None)
        if inner is None:
            break
        domain = inner
    return domain


def _indices(nodes: int) -> list[int]:
    indices = []
    while nodes:
        low = nodes & -nodes
        indices.append(low.bit_length() - 1)
        nodes ^= low
    return indices
