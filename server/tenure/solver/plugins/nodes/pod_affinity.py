"""Required pod affinity and anti-affinity, and topology spread, as in Kubernetes (semantics R3.63, R3.66)."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from tenure.solver.model.constraints import TopologySpread
from tenure.solver.model.placement import Placement
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugins.nodes.affinity_classes import (
    REQUIRED,
    AffinityClass,
    MatchingPods,
    SpreadCounts,
    Terms,
)
from tenure.solver.plugins.nodes.pod_counts import PodCounts, nodes_of
from tenure.terms.reasons import ReasonCode

FAR: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "its pod affinity is not satisfied")
NEAR: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "its pod anti-affinity is violated")
UNEVEN: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "its topology spread is violated")


class _Limits:
    """What restricts the nodes of the pods of a class."""

    def __init__(self, kind: AffinityClass) -> None:
        self.kind = kind
        self.matches_own_affinity = all(
            term.has_namespace(kind.namespace, kind.namespace) and term.selects(kind.labels)
            for term in kind.constraints.pod_affinity
        )
        """Whether the first of them may be placed on any node."""
        self.affinity: list[MatchingPods] = []
        self.anti_affinity: list[MatchingPods] = []
        self.spread: list[tuple[SpreadCounts, int]] = []
        """With the greatest skew of a domain to which one of them may be added."""


class PodAffinityFilter:
    """Follows every move, and checks single nodes."""

    def __init__(self, context: PluginContext) -> None:
        self._context = context
        self._ledger = context.ledger
        self._counts = PodCounts(context, REQUIRED)
        self._labels = self._counts.labels
        self._limits: dict[AffinityClass, _Limits] = {}
        self._owners: dict[tuple[str, Terms], MatchingPods] = {}
        """Pods with an anti-affinity term, by namespace and term."""

    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        """A check, if the task has terms or a topology spread, or matches an anti-affinity term."""
        limits = self._limits_of(self._counts.classes.of_task[task])
        if not (limits.affinity or limits.anti_affinity or limits.spread):
            return None
        return partial(self._check, limits, list(nodes_of(self._ledger.placement(task))))

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Follow the move."""
        self._counts.on_move(task, before, after)

    def keeps_spread(self, tasks: Sequence[int]) -> bool:
        """Whether each task could be placed where it is, after those before it and beside all others.

        A task is placed before victims return to their nodes, and was not checked against them.
        """
        removed: list[tuple[SpreadCounts, int]] = []
        try:
            for task in reversed(tasks):
                kind, node = self._counts.classes.of_task[task], self._ledger.placement(task).node
                for counts in kind.spread_memberships:
                    counts.count(node, -1)
                    removed.append((counts, node))
                if any(self._exceeds(spread, node) for spread in self._limits_of(kind).spread):
                    return False
            return True
        finally:
            for counts, node in removed:
                counts.count(node, 1)

    def _exceeds(self, spread: tuple[SpreadCounts, int], node: int) -> bool:
        counts, greatest = spread
        domain = self._labels[node].get(counts.spread.topology_key)
        return domain is None or counts.skew(domain) > greatest

    def _limits_of(self, kind: AffinityClass) -> _Limits:
        limits = self._limits.get(kind)
        if limits is None:
            limits = self._limits[kind] = self._count_terms(kind)
        return limits

    def _count_terms(self, kind: AffinityClass) -> _Limits:
        """Count the terms of a class, and the anti-affinity terms that select it."""
        constraints, limits, counts = kind.constraints, _Limits(kind), self._counts
        terms = constraints.pod_affinity
        limits.affinity = [counts.selected(kind, terms, term.topology_key) for term in terms]
        against = [
            counts.selected(kind, (term,), term.topology_key) for term in constraints.pod_anti_affinity
        ]
        for term, owners in counts.classes.owners_of_terms(kind):
            self._context.check_stop()
            key = (kind.namespace, (term,))
            pods = self._owners.get(key)
            if pods is None:
                pods = self._owners[key] = counts.count(term.topology_key, owners)
            against.append(pods)
        limits.anti_affinity = against
        keys = tuple(sorted({each.topology_key for each in constraints.topology_spread}))
        limits.spread = [self._spread(kind, spread, keys) for spread in constraints.topology_spread]
        return limits

    def _spread(
        self, kind: AffinityClass, spread: TopologySpread, keys: Sequence[str]
    ) -> tuple[SpreadCounts, int]:
        """Counts for a topology spread of a class, and the greatest skew of a domain that takes one more."""
        is_counted = spread.selects(kind.labels) or not (spread.match_labels or spread.expressions)
        return self._counts.spread(kind, spread, keys), spread.max_skew - is_counted

    def _check(self, limits: _Limits, mine: list[int], node: int) -> Rejection | None:
        """Rejection of a node; the task does not count itself."""
        labels = self._labels[node]
        for spread in limits.spread:
            if self._exceeds(spread, node):
                return UNEVEN
        for pods in limits.anti_affinity:
            value = labels.get(pods.topology_key)
            if value is not None and self._others(limits.kind, mine, pods)[value] > 0:
                return NEAR
        if any(pods.topology_key not in labels for pods in limits.affinity):
            return FAR
        near = [self._others(limits.kind, mine, pods) for pods in limits.affinity]
        if all(n[labels[c.topology_key]] > 0 for n, c in zip(near, limits.affinity, strict=True)):
            return None
        is_first = limits.matches_own_affinity and not any(counts.total() for counts in near)
        return None if is_first else FAR

    def _others(self, kind: AffinityClass, mine: list[int], pods: MatchingPods) -> Counter[str]:
        if not mine or pods not in kind.memberships:
            return pods.counts
        counts = Counter(pods.counts)
        counts.subtract(self._counts.values(pods, mine))
        return counts
