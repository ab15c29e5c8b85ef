"""Required pod affinity and anti-affinity, as in Kubernetes (semantics R3.63, R3.66).

Tasks count on their node, on the node where they are pipelined, and on the node where they terminate.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import Labels, PodAffinityTerm
from tenure.solver.model.placement import Placement
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import Task
from tenure.solver.plugin_api.context import PluginContext
from tenure.terms.reasons import ReasonCode

FAR: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "its pod affinity is not satisfied")
NEAR: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "its pod anti-affinity is violated")

Terms = tuple[PodAffinityTerm, ...]


@dataclass(eq=False, slots=True)
class MatchingPods:
    """Pods that match a term, counted by the value of a topology key."""

    topology_key: str
    counts: Counter[str] = field(default_factory=Counter)

    def count(self, values: Iterable[str], sign: int) -> None:
        """Add pods with these values, or remove them with sign -1."""
        for value in values:
            self.counts[value] += sign


@dataclass(eq=False, slots=True)
class AffinityClass:
    """Tasks with the same namespace, labels and terms."""

    memberships: list[MatchingPods]
    """Counts that include the tasks."""
    affinity: list[MatchingPods]
    anti_affinity: list[MatchingPods]
    matches_own_affinity: bool
    """Whether the first of them may be placed on any node."""


class PodAffinityFilter:
    """Follows every move, and checks single nodes."""

    def __init__(self, context: PluginContext) -> None:
        self._ledger = context.ledger
        self._labels = [node.facts.labels for node in context.cluster.nodes]
        self._kinds = _kinds(context.cluster)
        for task in context.cluster.tasks:
            self._count(task.index, task.placement, 1)

    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        """A check, if the task has affinity terms or matches an anti-affinity term."""
        kind = self._kinds[task]
        if not (kind.affinity or kind.anti_affinity):
            return None
        return partial(self._check, kind, list(_nodes_of(self._ledger.placement(task))))

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Count the task where it is and where it is pipelined."""
        if self._kinds[task].memberships and list(_nodes_of(before)) != list(_nodes_of(after)):
            self._count(task, before, -1)
            self._count(task, after, 1)

    def _count(self, task: int, placement: Placement, sign: int) -> None:
        nodes = list(_nodes_of(placement))
        for crowd in self._kinds[task].memberships:
            crowd.count(self._values(crowd, nodes), sign)

    def _check(self, kind: AffinityClass, mine: list[int], node: int) -> Rejection | None:
        """Rejection of a node; the task does not count itself."""
        labels = self._labels[node]
        for crowd in kind.anti_affinity:
            value = labels.get(crowd.topology_key)
            if value is not None and self._others(kind, mine, crowd)[value] > 0:
                return NEAR
        if any(crowd.topology_key not in labels for crowd in kind.affinity):
            return FAR
        near = [self._others(kind, mine, crowd) for crowd in kind.affinity]
        if all(n[labels[c.topology_key]] > 0 for n, c in zip(near, kind.affinity, strict=True)):
            return None
        is_first = kind.matches_own_affinity and not any(counts.total() for counts in near)
        return None if is_first else FAR

    def _others(self, kind: AffinityClass, mine: list[int], crowd: MatchingPods) -> Counter[str]:
        if not mine or crowd not in kind.memberships:
            return crowd.counts
        counts = Counter(crowd.counts)
        counts.subtract(self._values(crowd, mine))
        return counts

    def _values(self, crowd: MatchingPods, nodes: Iterable[int]) -> Iterator[str]:
        """Values of the topology key on these nodes; a node without the key has none."""
        labels = (self._labels[node].get(crowd.topology_key) for node in nodes)
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


class _MatchingPodSets:
    """Counts of a cluster, by the pods that are counted and the topology key."""

    def __init__(self, cluster: Cluster) -> None:
        self._namespaces = [group.facts.namespace for group in cluster.pod_groups]
        self.affinity: dict[tuple[str, Terms], list[MatchingPods]] = {}
        """Pods that match all terms, by each term's key."""
        self.anti_affinity: dict[tuple[str, PodAffinityTerm], MatchingPods] = {}
        """Pods that match a term of an anti-affinity."""
        self.anti_affinity_owners: dict[tuple[str, PodAffinityTerm], MatchingPods] = {}
        """Pods with the term."""
        for task in cluster.tasks:
            self._add(self.namespace(task), task.shape.constraints.pod_affinity)
            for term in task.shape.constraints.pod_anti_affinity:
                key = (self.namespace(task), term)
                self.anti_affinity.setdefault(key, MatchingPods(term.topology_key))
                self.anti_affinity_owners.setdefault(key, MatchingPods(term.topology_key))

    def namespace(self, task: Task) -> str:
        """Namespace of a task: terms are about pods of their own namespace."""
        return self._namespaces[task.pod_group]

    def kind(self, namespace: str, labels: Labels, affinity: Terms, anti_affinity: Terms) -> AffinityClass:
        """Counts that such tasks are part of, require and avoid."""
        wants = self.affinity[namespace, affinity] if affinity else []
        mine = [self.anti_affinity[namespace, term] for term in anti_affinity]
        against_me = [
            c
            for (space, t), c in self.anti_affinity_owners.items()
            if space == namespace and t.selects(labels)
        ]
        belongs_to = [self.anti_affinity_owners[namespace, term] for term in anti_affinity]
        belongs_to += [
            c for (space, t), c in self.anti_affinity.items() if space == namespace and t.selects(labels)
        ]
        for (space, terms), crowds in self.affinity.items():
            if space == namespace and all(term.selects(labels) for term in terms):
                belongs_to += crowds
        return AffinityClass(
            belongs_to, wants, mine + against_me, all(term.selects(labels) for term in affinity)
        )

    def _add(self, namespace: str, affinity: Terms) -> None:
        if affinity and (namespace, affinity) not in self.affinity:
            self.affinity[namespace, affinity] = [MatchingPods(term.topology_key) for term in affinity]


def _kinds(cluster: Cluster) -> list[AffinityClass]:
    """The class of every task."""
    crowds = _MatchingPodSets(cluster)
    known: dict[tuple[str, Labels, Terms, Terms], AffinityClass] = {}
    kinds = []
    for task in cluster.tasks:
        constraints = task.shape.constraints
        terms = (constraints.pod_affinity, constraints.pod_anti_affinity)
        key = (crowds.namespace(task), task.facts.labels, *terms)
        if key not in known:
            known[key] = crowds.kind(*key)
        kinds.append(known[key])
    return kinds
