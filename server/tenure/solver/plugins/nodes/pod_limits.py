"""What restricts the nodes of pods of a class: terms of their own and of others that select them (R3.71)."""

from collections.abc import Sequence
from typing import Final, Self

from tenure.solver.model.constraints import PodAffinityTerm, TopologySpread
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.presence import PodRelation
from tenure.solver.plugins.nodes.affinity_classes import AffinityClass, MatchingPods, SpreadCounts, Terms
from tenure.solver.plugins.nodes.pod_counts import PodCounts
from tenure.terms.reasons import ReasonCode

AVOIDED: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "the required anti-affinity of another pod keeps it away"
)


def _rejection(relation: str, term: PodAffinityTerm, problem: str) -> Rejection:
    """Of a pod by one of its own terms."""
    conditions = [f"{key}={value}" for key, value in term.match_labels]
    conditions += [str(each) for each in term.expressions]
    selected = f"pods of {', '.join(conditions)}" if conditions else "all pods"
    detail = f"its required {relation} to {selected} is {problem}"
    return Rejection(ReasonCode.INSUFFICIENT_RESOURCES, detail, by_own=True)


def _uneven(spread: TopologySpread) -> Rejection:
    detail = f"its topology spread over {spread.topology_key} is violated"
    return Rejection(ReasonCode.INSUFFICIENT_RESOURCES, detail, by_own=True)


class Limits:
    """What restricts the nodes of the pods of a class."""

    def __init__(self, kind: AffinityClass) -> None:
        self.kind = kind
        self.matches_own_affinity = all(
            term.has_namespace(kind.namespace, kind.namespace) and term.selects(kind.labels)
            for term in kind.constraints.pod_affinity
        )
        """Whether the first of them may be placed on any node."""
        self.affinity: list[MatchingPods] = []
        self.far: list[Rejection] = []
        """The rejections of a node without what these need."""
        self.anti_affinity: list[tuple[MatchingPods, Rejection]] = []
        """With the rejection of a node near them."""
        self.spread: list[tuple[SpreadCounts, int, Rejection]] = []
        """With the greatest skew of a domain that takes one more, and the rejection of the others."""
        self.counts: tuple[MatchingPods | SpreadCounts, ...] = ()
        """What it counts; empty: other pods keep none of them from any node."""

    def complete(self) -> Self:
        """Itself, once all that restricts is there."""
        near = [pods for pods, _ in self.anti_affinity]
        self.counts = (*self.affinity, *near, *(counts for counts, _, _ in self.spread))
        return self


class LimitsOfClasses:
    """The limits of each class, counted when they are asked for first."""

    def __init__(self, context: PluginContext, counts: PodCounts) -> None:
        self._context = context
        self._counts = counts
        self.known: Final[dict[AffinityClass, Limits]] = {}
        """Those that are counted."""
        self._owners: dict[tuple[str, Terms], MatchingPods] = {}
        """Pods with an anti-affinity term, by namespace and term."""

    def of(self, kind: AffinityClass) -> Limits:
        """Those of a class. May stop the cycle."""
        limits = self.known.get(kind)
        if limits is None:
            limits = self.known[kind] = self._count_terms(kind)
        return limits

    def _count_terms(self, kind: AffinityClass) -> Limits:
        """Count the terms of a class, and the anti-affinity terms that select it."""
        constraints, limits, counts = kind.constraints, Limits(kind), self._counts
        terms = constraints.pod_affinity
        limits.affinity = [
            counts.selected(kind, terms, term.topology_key, PodRelation.PROVIDES) for term in terms
        ]
        limits.far = [_rejection("affinity", term, "not satisfied") for term in terms]
        against = [
            (
                counts.selected(kind, (term,), term.topology_key, PodRelation.BLOCKS),
                _rejection("anti-affinity", term, "violated"),
            )
            for term in constraints.pod_anti_affinity
        ]
        for term, owners in counts.classes.owners_of_terms(kind):
            self._context.check_stop()
            key = (kind.namespace, (term,))
            pods = self._owners.get(key)
            if pods is None:
                pods = self._owners[key] = counts.count(term.topology_key, owners, PodRelation.BLOCKS)
            against.append((pods, AVOIDED))
        limits.anti_affinity = against
        keys = tuple(sorted({each.topology_key for each in constraints.topology_spread}))
        limits.spread = [self._spread_of(kind, spread, keys) for spread in constraints.topology_spread]
        return limits.complete()

    def _spread_of(
        self, kind: AffinityClass, spread: TopologySpread, keys: Sequence[str]
    ) -> tuple[SpreadCounts, int, Rejection]:
        """Counts for a topology spread of a class, the greatest skew of a domain that takes one more, and the
        rejection of the others.
        """
        is_counted = spread.selects(kind.labels) or not (spread.match_labels or spread.expressions)
        return self._counts.spread(kind, spread, keys), spread.max_skew - is_counted, _uneven(spread)
