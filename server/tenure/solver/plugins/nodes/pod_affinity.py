"""Required pod affinity and anti-affinity, as Kubernetes means it (semantics R3.63, R3.66).

Who is on a node counts, and so do those who are promised room there and those who terminate there.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import Labels, PodAffinityTerm
from tenure.solver.model.placement import Placement
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import Task
from tenure.terms.reasons import ReasonCode

FAR: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "its pod affinity is not satisfied")
NEAR: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "its pod anti-affinity is violated")

Terms = tuple[PodAffinityTerm, ...]


@dataclass(eq=False, slots=True)
class MatchingPods:
    """Pods that a term is about, counted by the value of a topology key."""

    topology_key: str
    counts: Counter[str] = field(default_factory=Counter)

    def count(self, values: Iterable[str], sign: int) -> None:
        """Pods with these values come or go."""
        for value in values:
            self.counts[value] += sign


@dataclass(eq=False, slots=True)
class AffinityClass:
    """What tasks with the same namespace, labels and terms have in common."""

    memberships: list[MatchingPods]
    """Where the tasks themselves are counted."""
    affinity: list[MatchingPods]
    anti_affinity: list[MatchingPods]
    matches_own_affinity: bool
    """Whether the first of them may go anywhere."""


class PodAffinityFilter:
    """Follows every move and checks single nodes against who is near."""

    def __init__(self, session: Session) -> None:
        self._placements = session.ledger.placements
        self._labels = [node.labels for node in session.cluster.nodes]
        self._kinds = _kinds(session.cluster)
        for task in session.cluster.tasks:
            self._count(task.index, task.placement, 1)

    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        """A check when the task wants somebody near or somebody away."""
        kind = self._kinds[task]
        if not (kind.affinity or kind.anti_affinity):
            return None
        return partial(self._check, kind, list(_nodes_of(self._placements[task])))

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Count the task where it is and where it is promised room."""
        if self._kinds[task].memberships and list(_nodes_of(before)) != list(_nodes_of(after)):
            self._count(task, before, -1)
            self._count(task, after, 1)

    def _count(self, task: int, placement: Placement, sign: int) -> None:
        nodes = list(_nodes_of(placement))
        for crowd in self._kinds[task].memberships:
            crowd.count(self._values(crowd, nodes), sign)

    def _check(self, kind: AffinityClass, mine: list[int], node: int) -> Rejection | None:
        """What is against the node; the task does not count itself, where it leaves or returns to."""
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
        """Values of the topology key on these nodes; a node without it is near to nobody."""
        labels = (self._labels[node].get(crowd.topology_key) for node in nodes)
        return (value for value in labels if value is not None)


def has_terms(cluster: Cluster) -> bool:
    """Whether any task of the cluster has pod affinity terms."""
    constraints = (shape.constraints for shape in cluster.shapes)
    return any(c.pod_affinity or c.pod_anti_affinity for c in constraints)


def _nodes_of(placement: Placement) -> Iterator[int]:
    """Nodes on which the task is, is promised room, or still terminates."""
    if placement.use:
        yield placement.node
    if placement.previous is not None:
        yield from _nodes_of(placement.previous)


class _MatchingPodSets:
    """The crowds of a cluster: by who is counted and which topology key counts them."""

    def __init__(self, cluster: Cluster) -> None:
        self._namespaces = [group.namespace for group in cluster.pod_groups]
        self.affinity: dict[tuple[str, Terms], list[MatchingPods]] = {}
        """Pods that match all terms, by each term's key."""
        self.anti_affinity: dict[tuple[str, PodAffinityTerm], MatchingPods] = {}
        """Pods that match a term of an anti-affinity."""
        self.anti_affinity_owners: dict[tuple[str, PodAffinityTerm], MatchingPods] = {}
        """Pods that have the term."""
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
        """What such tasks belong to, want and avoid."""
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
    """The kind of every task."""
    crowds = _MatchingPodSets(cluster)
    known: dict[tuple[str, Labels, Terms, Terms], AffinityClass] = {}
    kinds = []
    for task in cluster.tasks:
        constraints = task.shape.constraints
        key = (crowds.namespace(task), task.labels, constraints.pod_affinity, constraints.pod_anti_affinity)
        if key not in known:
            known[key] = crowds.kind(*key)
        kinds.append(known[key])
    return kinds
