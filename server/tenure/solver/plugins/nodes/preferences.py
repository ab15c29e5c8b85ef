"""Preferences of pods among nodes, scored as kube-scheduler does (semantics R3.67-R3.69).

Each of four criteria has a score from 0 to 100, compared among the nodes that take the pod, and the weight
that kube-scheduler gives it by default.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import floor, log
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import PreferredNodes, TaintEffect, Toleration
from tenure.solver.model.node import HOSTNAME
from tenure.solver.model.placement import Placement
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import Idle, MoveListener, NodePreference, equal_scores
from tenure.solver.plugins.nodes.affinity_classes import PREFERRED, AffinityClass, SpreadCounts
from tenure.solver.plugins.nodes.attraction import Attraction
from tenure.solver.plugins.nodes.pod_counts import PodCounts

Criterion = Callable[[Sequence[int]], list[int]]
"""Weighted scores of nodes."""

BEST: Final = 100
TAINTS: Final = 3
LABELS: Final = 2
PODS: Final = 2
SPREAD: Final = 2


def make_pod_affinity(context: PluginContext, arguments: Mapping[str, str]) -> object:
    """Prefers nodes by preferred node and pod affinity, taints, and preferred topology spread."""
    if any(shape.constraints.prefers_by_pods for shape in context.cluster.shapes):
        return PodPreferences(context)
    by_labels = any(shape.constraints.preferred_nodes for shape in context.cluster.shapes)
    return NodePreferences(context) if by_labels or _unwanted(context.cluster) else Idle()


def _unwanted(cluster: Cluster) -> list[int]:
    """Nodes with a taint that makes them worse."""
    effect = TaintEffect.PREFER_NO_SCHEDULE
    tainted = (node for node in cluster.nodes if node.taints)
    return [node.index for node in tainted if any(taint.effect is effect for taint in node.taints)]


class NodePreferences(NodePreference):
    """Preferences by labels and taints of nodes."""

    def __init__(self, context: PluginContext) -> None:
        self._context = context
        self._tasks = context.cluster.tasks
        self._nodes = context.cluster.nodes
        self._unwanted = _unwanted(context.cluster)
        self._by_shape: dict[int, list[Criterion]] = {}
        self._weights: dict[tuple[PreferredNodes, ...], list[int]] = {}
        self._taints: dict[tuple[Toleration, ...], dict[int, int]] = {}

    def preference(self, task: int) -> Callable[[Sequence[int]], Sequence[int]] | None:
        """The sum of the criteria that concern the task."""
        criteria = self._criteria(task)
        return partial(_total, criteria) if criteria else None

    def _criteria(self, task: int) -> list[Criterion]:
        shape = self._tasks[task].shape
        criteria = self._by_shape.get(shape.index)
        if criteria is None:
            criteria = self._by_shape[shape.index] = self._of_shape(shape)
        return criteria

    def _of_shape(self, shape: TaskShape) -> list[Criterion]:
        criteria: list[Criterion] = []
        if shape.constraints.preferred_nodes:
            criteria.append(partial(_by_labels, self._label_weights(shape.constraints.preferred_nodes)))
        if self._unwanted and (taints := self._unwanted_taints(shape)):
            criteria.append(partial(_by_taints, taints))
        return criteria

    def _label_weights(self, terms: tuple[PreferredNodes, ...]) -> list[int]:
        """Sum of the weights of the terms that select a node, for each node."""
        weights = self._weights.get(terms)
        if weights is None:
            weights = self._weights[terms] = []
            for node in self._nodes:
                self._context.check_stop()
                labels = node.facts.labels
                matching = [one for one in terms if all(r.matches(labels) for r in one.requirements)]
                weights.append(sum([one.weight for one in matching]))
        return weights

    def _unwanted_taints(self, shape: TaskShape) -> dict[int, int]:
        """Number of taints that a shape does not tolerate, by node that has any."""
        tolerations = shape.constraints.tolerations
        taints = self._taints.get(tolerations)
        if taints is None:
            found = {
                node: shape.constraints.unwanted_taints(self._nodes[node].taints) for node in self._unwanted
            }
            taints = self._taints[tolerations] = {node: number for node, number in found.items() if number}
        return taints


class PodPreferences(NodePreferences, MoveListener):
    """Preferences by other pods, too."""

    def __init__(self, context: PluginContext) -> None:
        super().__init__(context)
        self._counts = PodCounts(context, PREFERRED)
        self._labels = self._counts.labels
        self._attraction = Attraction(context, self._counts.classes, self._counts.presences)
        self._by_class: dict[AffinityClass, list[Criterion]] = {}

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Follow the move."""
        self._counts.on_move(task, before, after)
        self._attraction.on_move(task, before, after)

    def preference(self, task: int) -> Callable[[Sequence[int]], Sequence[int]] | None:
        """The sum of the criteria that concern the task and make a difference at present."""
        kind = self._counts.classes.of_task[task]
        criteria, sums = [*self._criteria(task), *self._of_class(kind)], self._attraction.sums(kind)
        if sums is not None and not sums.are_equal:
            criteria.append(partial(_by_pods, sums.by_node))
        if criteria:
            return partial(_total, criteria)
        return None if sums is None else equal_scores

    def _of_class(self, kind: AffinityClass) -> list[Criterion]:
        """The criterion of preferred topology spread."""
        criteria = self._by_class.get(kind)
        if criteria is None:
            criteria = self._by_class[kind] = []
            if preferred := kind.constraints.preferred_spread:
                keys = tuple(sorted({one.topology_key for one in preferred}))
                spreads = [
                    self._counts.spread(kind, one, keys, by_node=one.topology_key == HOSTNAME)
                    for one in preferred
                ]
                criteria.append(partial(self._by_spread, keys, spreads))
        return criteria

    def _by_spread(
        self, keys: Sequence[str], spreads: Sequence[SpreadCounts], nodes: Sequence[int]
    ) -> list[int]:
        """The fewer selected pods in the domains of a node, the better; without a domain it has no points."""
        labels = [self._labels[node] for node in nodes]
        scored = [at for at in range(len(nodes)) if all(key in labels[at] for key in keys)]
        if not scored:
            return [0] * len(nodes)
        sums = [0.0] * len(scored)
        for counts in spreads:
            self._context.check_stop()
            key = counts.spread.topology_key
            by_node = key == HOSTNAME
            domains = [str(nodes[at]) if by_node else labels[at][key] for at in scored]
            weight, softness = log(len(set(domains)) + 2), counts.spread.max_skew - 1
            sums = [a + counts.pods(b) * weight + softness for a, b in zip(sums, domains, strict=True)]
        found = [floor(each + 0.5) for each in sums]
        low, high = min(found), max(found)
        scores = [0] * len(nodes)
        for at, each in zip(scored, found, strict=True):
            scores[at] = SPREAD * (BEST * (high + low - each) // high if high else BEST)
        return scores


def _total(criteria: Sequence[Criterion], nodes: Sequence[int]) -> Sequence[int]:
    totals = [0] * len(nodes)
    for criterion in criteria:
        totals = [a + b for a, b in zip(totals, criterion(nodes), strict=True)]
    return totals


def _by_pods(sums: Sequence[int], nodes: Sequence[int]) -> list[int]:
    """Where the sum of a node is between the least and the greatest; computed once for each sum."""
    found = [sums[node] for node in nodes]
    low, high = min(found), max(found)
    if low == high:
        return [0] * len(nodes)
    scores = {each: PODS * int(float(BEST) * ((each - low) / (high - low))) for each in set(found)}
    return [scores[each] for each in found]


def _by_labels(weights: Sequence[int], nodes: Sequence[int]) -> list[int]:
    """The sum of the weights of matching terms, as a part of the largest one."""
    found = [weights[node] for node in nodes]
    high = max(found)
    return [LABELS * (BEST * each // high) for each in found] if high else found


def _by_taints(taints: Mapping[int, int], nodes: Sequence[int]) -> list[int]:
    """The fewer taints that are not tolerated, the better."""
    found = [taints.get(node, 0) for node in nodes]
    high = max(found)
    return [TAINTS * (BEST - BEST * each // high) for each in found] if high else found
