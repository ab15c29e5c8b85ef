"""Required pod affinity and anti-affinity, as in Kubernetes (semantics R3.63, R3.66).

Tasks count on their node, on the node where they are pipelined, and on the node where they terminate.

A term is counted when a task that it concerns is placed for the first time; from then on its counts follow
every move. Most tasks of a cycle are never placed, and a namespace can have thousands of terms, each for few
tasks: `affinity_classes` finds them by their labels.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import Placement
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugins.nodes.affinity_classes import AffinityClass, MatchingPods, classify
from tenure.terms.reasons import ReasonCode

FAR: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "its pod affinity is not satisfied")
NEAR: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "its pod anti-affinity is violated")


class PodAffinityFilter:
    """Follows every move, and checks single nodes."""

    def __init__(self, context: PluginContext) -> None:
        self._context = context
        self._ledger = context.ledger
        self._labels = [node.facts.labels for node in context.cluster.nodes]
        self._namespaces, self._kinds = classify(context.cluster)

    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        """A check, if the task has affinity terms or matches an anti-affinity term."""
        kind = self._kinds[task]
        if not kind.is_counted:
            self._count_terms(kind)
        if not (kind.affinity or kind.anti_affinity):
            return None
        return partial(self._check, kind, list(_nodes_of(self._ledger.placement(task))))

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Count the task where it is and where it is pipelined."""
        memberships = self._kinds[task].memberships
        if not memberships:
            return
        left, reached = list(_nodes_of(before)), list(_nodes_of(after))
        if left != reached:
            for pods in memberships:
                pods.count(self._values(pods, left), -1)
                pods.count(self._values(pods, reached), 1)

    def _count_terms(self, kind: AffinityClass) -> None:
        """Count the terms of a class, and the anti-affinity terms that select it."""
        namespace = self._namespaces[kind.namespace]
        wanted = tuple(sorted({label for term in kind.affinity_terms for label in term.match_labels}))
        kind.affinity = [self._selected(kind, wanted, term.topology_key) for term in kind.affinity_terms]
        against = [
            self._selected(kind, term.match_labels, term.topology_key) for term in kind.anti_affinity_terms
        ]
        for term in namespace.terms_against(kind):
            pods = namespace.owners.get(term)
            if pods is None:
                pods = self._count(term.topology_key, namespace.with_term(term))
                namespace.owners[term] = pods
            against.append(pods)
        kind.anti_affinity = against
        kind.is_counted = True

    def _selected(self, kind: AffinityClass, labels: Sequence[tuple[str, str]], key: str) -> MatchingPods:
        """Counts of the pods of its namespace with these labels."""
        namespace, chosen = self._namespaces[kind.namespace], (tuple(labels), key)
        pods = namespace.selections.get(chosen)
        if pods is None:
            pods = namespace.selections[chosen] = self._count(key, namespace.selected(chosen[0]))
        return pods

    def _count(self, topology_key: str, kinds: Sequence[AffinityClass]) -> MatchingPods:
        """Counts of the tasks of these classes, which follow their moves from now on."""
        pods = MatchingPods(topology_key)
        for kind in kinds:
            for task in kind.tasks:
                self._context.check_stop()
                pods.count(self._values(pods, _nodes_of(self._ledger.placement(task))), 1)
        for kind in kinds:
            kind.memberships[pods] = None
        return pods

    def _check(self, kind: AffinityClass, mine: list[int], node: int) -> Rejection | None:
        """Rejection of a node; the task does not count itself."""
        labels = self._labels[node]
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


def has_terms(cluster: Cluster) -> bool:
    """Whether any task of the cluster has pod affinity terms."""
    constraints = (shape.constraints for shape in cluster.shapes)
    return any(c.pod_affinity or c.pod_anti_affinity for c in constraints)


def _nodes_of(placement: Placement) -> Iterator[int]:
    """Nodes on which the task is allocated, pipelined or terminating."""
    if placement.use:
        yield placement.node
    if placement.previous is not None:
        yield from _nodes_of(placement.previous)
