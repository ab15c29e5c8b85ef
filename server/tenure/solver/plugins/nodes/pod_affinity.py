"""Required pod affinity and anti-affinity, and topology spread, as in Kubernetes (semantics R3.63, R3.66).

For affinity, tasks count on their node, on the node where they are pipelined, and on the node where they
terminate. For spread, terminating tasks do not count.

A term is counted when a task that it concerns is placed for the first time; from then on its counts follow
every move. Most tasks of a cycle are never placed, and a namespace can have thousands of terms, each for few
tasks: `affinity_classes` finds them by their labels.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from tenure.solver.model.constraints import TopologySpread
from tenure.solver.model.placement import Placement
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugins.nodes.affinity_classes import (
    AffinityClass,
    AffinityClasses,
    MatchingPods,
    SpreadCounts,
    Terms,
)
from tenure.terms.reasons import ReasonCode

FAR: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "its pod affinity is not satisfied")
NEAR: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "its pod anti-affinity is violated")
UNEVEN: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "its topology spread is violated")


class PodAffinityFilter:
    """Follows every move, and checks single nodes."""

    def __init__(self, context: PluginContext) -> None:
        self._context = context
        self._ledger = context.ledger
        self._nodes = context.cluster.nodes
        self._labels = [node.facts.labels for node in context.cluster.nodes]
        self._classes = AffinityClasses(context.cluster)
        self._selections: dict[tuple[str, Terms, str], MatchingPods] = {}
        """Selected pods by own namespace ("": it does not matter), terms and topology key."""
        self._owners: dict[tuple[str, Terms], MatchingPods] = {}
        """Pods with an anti-affinity term, by namespace and term."""
        self._spreads: dict[object, SpreadCounts] = {}

    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        """A check, if the task has terms or a topology spread, or matches an anti-affinity term."""
        kind = self._classes.of_task[task]
        if not kind.is_counted:
            self._count_terms(kind)
        if not (kind.affinity or kind.anti_affinity or kind.spread):
            return None
        return partial(self._check, kind, list(_nodes_of(self._ledger.placement(task))))

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Count the task where it is and where it is pipelined."""
        kind = self._classes.of_task[task]
        if kind.memberships:
            left, reached = list(_nodes_of(before)), list(_nodes_of(after))
            if left != reached:
                for pods in kind.memberships:
                    pods.count(self._values(pods, left), -1)
                    pods.count(self._values(pods, reached), 1)
        if kind.spread_memberships:
            for counts in kind.spread_memberships:
                if before.is_active_allocated:
                    counts.count(before.node, -1)
                if after.is_active_allocated:
                    counts.count(after.node, 1)

    def _count_terms(self, kind: AffinityClass) -> None:
        """Count the terms of a class, and the anti-affinity terms that select it."""
        constraints = kind.constraints
        terms = constraints.pod_affinity
        kind.affinity = [self._selected(kind, terms, term.topology_key) for term in terms]
        against = [self._selected(kind, (term,), term.topology_key) for term in constraints.pod_anti_affinity]
        for term, owners in self._classes.owners_against(kind):
            self._context.check_stop()
            key = (kind.namespace, (term,))
            pods = self._owners.get(key)
            if pods is None:
                pods = self._owners[key] = self._count(term.topology_key, owners)
            against.append(pods)
        kind.anti_affinity = against
        kind.spread = [self._spread(kind, spread) for spread in constraints.topology_spread]
        kind.is_counted = True

    def _selected(self, kind: AffinityClass, terms: Terms, key: str) -> MatchingPods:
        """Counts of the pods that all terms of a class select."""
        own = "" if all(term.is_wide for term in terms) else kind.namespace
        selectors = tuple([term._replace(topology_key="") for term in terms])
        pods = self._selections.get((own, selectors, key))
        if pods is None:
            pods = self._count(key, self._classes.selected(terms, kind.namespace, self._context.check_stop))
            self._selections[own, selectors, key] = pods
        return pods

    def _count(self, topology_key: str, kinds: Sequence[AffinityClass]) -> MatchingPods:
        """Counts of the pods of these classes, which follow their moves from now on."""
        pods = MatchingPods(topology_key)
        for kind in kinds:
            for task in kind.tasks:
                self._context.check_stop()
                pods.count(self._values(pods, _nodes_of(self._ledger.placement(task))), 1)
            for node, number, _ in kind.others:
                pods.count(self._values(pods, (node,)), number)
        for kind in kinds:
            kind.memberships[pods] = None
        return pods

    def _spread(self, kind: AffinityClass, spread: TopologySpread) -> tuple[SpreadCounts, int]:
        """Counts for a topology spread of a class, and the greatest skew of a domain that takes one more."""
        constraints = kind.constraints
        keys = tuple(sorted({each.topology_key for each in constraints.topology_spread}))
        selection = (constraints.node_selector, constraints.node_affinity, constraints.tolerations)
        key = (kind.namespace, spread, keys, selection)
        counts = self._spreads.get(key)
        if counts is None:
            counts = self._spreads[key] = SpreadCounts(spread, self._domains(kind, spread, keys))
            kinds = self._classes.counted(spread, kind.namespace)
            for counted in kinds:
                self._count_spread(counts, counted)
        is_counted = spread.selects(kind.labels) or not (spread.match_labels or spread.expressions)
        return counts, spread.max_skew - is_counted

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

    def _check(self, kind: AffinityClass, mine: list[int], node: int) -> Rejection | None:
        """Rejection of a node; the task does not count itself."""
        labels = self._labels[node]
        for counts, greatest in kind.spread:
            domain = labels.get(counts.spread.topology_key)
            if domain is None or counts.skew(domain) > greatest:
                return UNEVEN
        for pods in kind.anti_affinity:
            value = labels.get(pods.topology_key)
            if value is not None and self._others(kind, mine, pods)[value] > 0:
                return NEAR
        if any(pods.topology_key not in labels for pods in kind.affinity):
            return FAR
        near = [self._others(kind, mine, pods) for pods in kind.affinity]
        if all(n[labels[c.topology_key]] > 0 for n, c in zip(near, kind.affinity, strict=True)):
            return None
        is_first = kind.matches_own_affinity and not any(counts.total() for counts in near)
        return None if is_first else FAR

    def _others(self, kind: AffinityClass, mine: list[int], pods: MatchingPods) -> Counter[str]:
        if not mine or pods not in kind.memberships:
            return pods.counts
        counts = Counter(pods.counts)
        counts.subtract(self._values(pods, mine))
        return counts

    def _values(self, pods: MatchingPods, nodes: Iterable[int]) -> Iterator[str]:
        """Values of the topology key on these nodes; a node without the key has none."""
        labels = (self._labels[node].get(pods.topology_key) for node in nodes)
        return (value for value in labels if value is not None)


def _nodes_of(placement: Placement) -> Iterator[int]:
    """Nodes on which the task is allocated, pipelined or terminating."""
    if placement.use:
        yield placement.node
    if placement.previous is not None:
        yield from _nodes_of(placement.previous)
