"""Pods that terms of pod affinity select and that topology spread counts, by domain (semantics R3.66).

For affinity, tasks count on their node, on the node where they are pipelined, and on the node where they
terminate. For spread, terminating tasks do not count.

A term is counted when a task that it concerns is placed for the first time; from then on its counts follow
every move. Most tasks of a cycle are never placed, and a namespace can have thousands of terms, each for few
tasks: `affinity_classes` finds them by their labels.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tenure.solver.model.constraints import TopologySpread
from tenure.solver.model.placement import Placement
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugins.nodes.affinity_classes import (
    AffinityClass,
    AffinityClasses,
    MatchingPods,
    SpreadCounts,
    Terms,
    TermUse,
)

HOSTNAME: Final = "kubernetes.io/hostname"


class PodCounts:
    """Follows every move."""

    def __init__(self, context: PluginContext, use: TermUse) -> None:
        self._context = context
        self._ledger = context.ledger
        self._nodes = context.cluster.nodes
        self.labels: Final = [node.facts.labels for node in context.cluster.nodes]
        """Labels of each node."""
        self.classes: Final = AffinityClasses(context.cluster, use)
        self._selections: dict[tuple[str, Terms, str], MatchingPods] = {}
        """Selected pods by own namespace ("": it does not matter), terms and topology key."""
        self._spreads: dict[object, SpreadCounts] = {}

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Count the task where it is and where it is pipelined."""
        kind = self.classes.of_task[task]
        if kind.memberships:
            left, reached = list(nodes_of(before)), list(nodes_of(after))
            if left != reached:
                for pods in kind.memberships:
                    pods.count(self.values(pods, left), -1)
                    pods.count(self.values(pods, reached), 1)
        if kind.spread_memberships:
            for counts in kind.spread_memberships:
                if before.is_active_allocated:
                    counts.count(before.node, -1)
                if after.is_active_allocated:
                    counts.count(after.node, 1)

    def selected(self, kind: AffinityClass, terms: Terms, key: str) -> MatchingPods:
        """Counts of the pods that all terms of a class select."""
        own = "" if all(term.is_wide for term in terms) else kind.namespace
        selectors = tuple([term._replace(topology_key="") for term in terms])
        pods = self._selections.get((own, selectors, key))
        if pods is None:
            pods = self.count(key, self.classes.selected(terms, kind.namespace, self._context.check_stop))
            self._selections[own, selectors, key] = pods
        return pods

    def count(self, topology_key: str, kinds: Sequence[AffinityClass]) -> MatchingPods:
        """Counts of the pods of these classes, which follow their moves from now on."""
        pods = MatchingPods(topology_key)
        for kind in kinds:
            for task in kind.tasks:
                self._context.check_stop()
                pods.count(self.values(pods, nodes_of(self._ledger.placement(task))), 1)
            for node, number, _ in kind.others:
                pods.count(self.values(pods, (node,)), number)
        for kind in kinds:
            kind.memberships[pods] = None
        return pods

    def spread(
        self, kind: AffinityClass, spread: TopologySpread, keys: Sequence[str], *, by_node: bool = False
    ) -> SpreadCounts:
        """Counts for a topology spread of a class, on nodes with all these labels.

        `by_node`: each node is a domain of its own, whatever its labels.
        """
        constraints = kind.constraints
        selection = (constraints.node_selector, constraints.node_affinity, constraints.tolerations)
        key = (kind.namespace, spread, keys, selection, by_node)
        counts = self._spreads.get(key)
        if counts is None:
            domains: Sequence[str | None] = [str(node.index) for node in self._nodes]
            if not by_node:
                domains = self._domains(kind, spread, keys)
            counts = self._spreads[key] = SpreadCounts(spread, domains)
            for counted in self.classes.counted(spread, kind.namespace):
                self._count_spread(counts, counted)
        return counts

    def values(self, pods: MatchingPods, nodes: Iterable[int]) -> Iterator[str]:
        """Values of the topology key on these nodes; a node without the key has none."""
        labels = (self.labels[node].get(pods.topology_key) for node in nodes)
        return (value for value in labels if value is not None)

    def _count_spread(self, counts: SpreadCounts, kind: AffinityClass) -> None:
        for task in kind.tasks:
            self._context.check_stop()
            placement = self._ledger.placement(task)
            if placement.is_active_allocated:
                counts.count(placement.node, 1)
        for node, number, is_terminating in kind.others:
            if not is_terminating:
                counts.count(node, number)
        kind.spread_memberships[counts] = None

    def _domains(
        self, kind: AffinityClass, spread: TopologySpread, keys: Sequence[str]
    ) -> Sequence[str | None]:
        """Domain of each node; None: the node does not count."""
        constraints, domains = kind.constraints, list[str | None]()
        for node in self._nodes:
            labels = node.facts.labels
            counts = all(key in labels for key in keys)
            counts = counts and (spread.counts_unselected_nodes or constraints.selects(labels))
            if counts and spread.omits_tainted_nodes:
                counts = constraints.untolerated(node.taints) is None
            domains.append(labels[spread.topology_key] if counts else None)
        return domains


def nodes_of(placement: Placement) -> Iterator[int]:
    """Nodes on which the task is allocated, pipelined or terminating."""
    if placement.use:
        yield placement.node
    if placement.previous is not None:
        yield from nodes_of(placement.previous)
