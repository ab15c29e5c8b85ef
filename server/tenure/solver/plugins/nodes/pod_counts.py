"""Pods that terms of pod affinity select and that topology spread counts, by domain (semantics R3.70).

Which tasks count, and on which nodes, follows from `plugin_api.presence`.

A term is counted when a task that it concerns is placed for the first time; from then on its counts follow
every move. Most tasks of a cycle are never placed, and a namespace can have thousands of terms, each for few
tasks: `affinity_classes` finds them by their labels.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from tenure.solver.model.constraints import TopologySpread
from tenure.solver.model.placement import Placement
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.presence import (
    EFFECTS,
    PodRelation,
    Presence,
    Presences,
    presence_of_other,
)
from tenure.solver.plugins.nodes.affinity_classes import (
    AffinityClass,
    AffinityClasses,
    MatchingPods,
    SpreadCounts,
    Terms,
    TermUse,
)


class PodCounts:
    """Follows every move."""

    def __init__(self, context: PluginContext, use: TermUse) -> None:
        self._context = context
        self._ledger = context.ledger
        self._nodes = context.cluster.nodes
        self.labels: Final = [node.facts.labels for node in context.cluster.nodes]
        """Labels of each node."""
        self.classes: Final = AffinityClasses(context.cluster, use)
        self.presences: Final = Presences(context.cluster)
        self._selections: dict[tuple[str, Terms, str, PodRelation], MatchingPods] = {}
        """Selected pods by own namespace ("": it does not matter), terms, topology key and relation."""
        self._spreads: dict[object, SpreadCounts] = {}

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Count the task as it is after the move."""
        kind = self.classes.of_task[task]
        if kind.memberships or kind.spread_memberships:
            left, reached = list(self.presences.of(task, before)), list(self.presences.of(task, after))
            if left != reached:
                for pods in kind.memberships:
                    self._count(pods, left, -1)
                    self._count(pods, reached, 1)
                for counts in kind.spread_memberships:
                    _count_spread(counts, left, -1)
                    _count_spread(counts, reached, 1)

    def selected(self, kind: AffinityClass, terms: Terms, key: str, relation: PodRelation) -> MatchingPods:
        """Counts of the pods that all terms of a class select."""
        own = "" if all(term.is_wide for term in terms) else kind.namespace
        selectors = tuple([term._replace(topology_key="") for term in terms])
        pods = self._selections.get((own, selectors, key, relation))
        if pods is None:
            found = self.classes.selected(terms, kind.namespace, self._context.check_stop)
            pods = self._selections[own, selectors, key, relation] = self.count(key, found, relation)
        return pods

    def count(self, topology_key: str, kinds: Sequence[AffinityClass], relation: PodRelation) -> MatchingPods:
        """Counts of the pods of these classes, which follow their moves from now on."""
        pods = MatchingPods(topology_key, relation)
        for kind in kinds:
            for task in kind.tasks:
                self._context.check_stop()
                self._count(pods, self.presences.of(task, self._ledger.placement(task)), 1)
            for node, number, is_terminating in kind.others:
                self._count(pods, ((node, presence_of_other(is_terminating)),), number)
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
                self._count_class(counts, counted)
        return counts

    def _count(self, pods: MatchingPods, places: Iterable[tuple[int, Presence]], number: int) -> None:
        """Count pods on these nodes; a node without the topology key is in no domain."""
        for node, presence in places:
            value = self.labels[node].get(pods.topology_key)
            if value is not None:
                pods.count(value, presence, number)

    def _count_class(self, counts: SpreadCounts, kind: AffinityClass) -> None:
        for task in kind.tasks:
            self._context.check_stop()
            _count_spread(counts, self.presences.of(task, self._ledger.placement(task)), 1)
        for node, number, is_terminating in kind.others:
            _count_spread(counts, ((node, presence_of_other(is_terminating)),), number)
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


def _count_spread(counts: SpreadCounts, places: Iterable[tuple[int, Presence]], number: int) -> None:
    """A topology spread has one time: what it counts later decides."""
    for node, presence in places:
        if EFFECTS[PodRelation.COUNTS][presence].later:
            counts.count(node, number)
