"""Pods on nodes that have no row, such as those of other schedulers: what they use, and what they keep away.

A node row has those of them that concern the pods with rows: a selector selects them, they have anti-affinity
terms, or they use host ports while a pod with a row does.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tenure.kubernetes.constraints.pod_terms import selected_keys
from tenure.kubernetes.objects.resource_amounts import Amounts
from tenure.v1 import snapshot_pb2 as pb

_MOST_PODS: Final = 2**30


class ForeignPod(NamedTuple):
    """A pod on a node without a row."""

    amounts: Amounts
    """What it uses."""
    namespace: str
    labels: Mapping[str, str]
    is_terminating: bool
    shape: pb.PodShape
    """Its host ports and anti-affinity terms."""


class Interest:
    """What the shapes of a snapshot ask about pods without rows."""

    def __init__(self, shapes: Iterable[pb.PodShape] = ()) -> None:
        self.has_host_ports = False
        self.keys: frozenset[str] = frozenset()
        """Labels that selectors refer to."""
        self._selectors: dict[bytes, pb.PodAffinityTerm] = {}
        self._selected: dict[tuple[tuple[str, str], ...], bool] = {}
        for shape in shapes:
            self.has_host_ports = self.has_host_ports or bool(shape.host_ports)
            preferred = (*shape.preferred_pod_affinity, *shape.preferred_pod_anti_affinity)
            for term in (*shape.pod_affinity, *shape.pod_anti_affinity, *(one.term for one in preferred)):
                self._add(term.match_labels, term.match_expressions)
            for spread in (*shape.topology_spread, *shape.preferred_topology_spread):
                self._add(spread.match_labels, spread.match_expressions)
        self.keys = frozenset(selected_keys(self._selectors.values()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Interest):
            return NotImplemented
        same_ports = self.has_host_ports == other.has_host_ports
        return same_ports and self._selectors.keys() == other._selectors.keys()

    __hash__ = None  # type: ignore[assignment]

    def _add(self, labels: Mapping[str, str], expressions: Iterable[pb.NodeSelectorRequirement]) -> None:
        selector = pb.PodAffinityTerm(match_labels=labels, match_expressions=expressions)
        self._selectors[selector.SerializeToString(deterministic=True)] = selector

    def labels(self, pod: ForeignPod) -> dict[str, str]:
        """Labels of a pod that selectors refer to."""
        return {key: value for key, value in pod.labels.items() if key in self.keys}

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether any selector selects pods with these labels, in whatever namespace."""
        known = tuple(sorted(labels.items()))
        selected = self._selected.get(known)
        if selected is None:
            selected = any(_selects(row, labels) for row in self._selectors.values())
            self._selected[known] = selected
        return selected


class ForeignPods:
    """Pods without a row, by node and pod."""

    def __init__(self) -> None:
        self.interest = Interest()
        self._nodes: dict[str, str] = {}
        """Node of each pod."""
        self._pods: dict[str, dict[str, ForeignPod]] = {}
        self._changed: set[str] = set()
        self._keys: Counter[str] = Counter()
        """Labels that their anti-affinity terms refer to."""

    @property
    def keys(self) -> frozenset[str]:
        """Labels of pods with rows that their anti-affinity terms refer to."""
        return frozenset(self._keys)

    def put(self, uid: str, node: str, pod: ForeignPod | None) -> None:
        """Set a pod on a node. None: it is gone, or has a row."""
        before = self._nodes.get(uid)
        if before is not None and (pod is None or before != node or self._pods[before][uid] != pod):
            del self._nodes[uid]
            self._count(self._pods[before].pop(uid), -1)
            self._changed.add(before)
            if not self._pods[before]:
                del self._pods[before]
        if pod is not None and uid not in self._nodes:
            self._nodes[uid] = node
            self._pods.setdefault(node, {})[uid] = pod
            self._count(pod, 1)
            self._changed.add(node)

    def on(self, node: str) -> Iterable[Amounts]:
        """Usage on a node, by pod."""
        return [pod.amounts for pod in self._pods.get(node, {}).values()]

    def rows(self, node: str) -> list[pb.OtherPods]:
        """Pods of a node that concern pods with rows, equal ones together."""
        return self._rows(node, self.interest)

    def use_interest(self, interest: Interest) -> None:
        """Use what other shapes ask. Nodes whose rows depend on it change."""
        if interest == self.interest:
            return
        before, self.interest = self.interest, interest
        self._changed.update(
            node for node in self._pods if self._rows(node, before) != self._rows(node, interest)
        )

    def take_changes(self) -> set[str]:
        """Names of nodes with changed pods since the last call."""
        changes, self._changed = self._changed, set()
        return changes

    def _rows(self, node: str, interest: Interest) -> list[pb.OtherPods]:
        found: dict[bytes, pb.OtherPods] = {}
        numbers: Counter[bytes] = Counter()
        for pod in self._pods.get(node, {}).values():
            row = _row(pod, interest)
            if row is not None:
                key = row.SerializeToString(deterministic=True)
                found[key] = row
                numbers[key] += 1
        for key, row in found.items():
            row.count = min(numbers[key], _MOST_PODS)
        return [found[key] for key in sorted(found)]

    def _count(self, pod: ForeignPod, sign: int) -> None:
        for key in selected_keys(pod.shape.pod_anti_affinity):
            self._keys[key] += sign
            if not self._keys[key]:
                del self._keys[key]


def _row(pod: ForeignPod, interest: Interest) -> pb.OtherPods | None:
    labels, shape = interest.labels(pod), pod.shape
    ports = shape.host_ports if interest.has_host_ports else ()
    if not (shape.pod_anti_affinity or ports or interest.selects(labels)):
        return None
    return pb.OtherPods(
        namespace=pod.namespace,
        labels=labels,
        terminating=pod.is_terminating,
        pod_anti_affinity=shape.pod_anti_affinity,
        host_ports=ports,
    )


def _selects(row: pb.PodAffinityTerm, labels: Mapping[str, str]) -> bool:
    """Whether a selector selects pods with these labels, in whatever namespace."""
    if any(labels.get(key) != value for key, value in row.match_labels.items()):
        return False
    return all(_matches(one, labels.get(one.key)) for one in row.match_expressions)


def _matches(one: pb.NodeSelectorRequirement, value: str | None) -> bool:
    if one.operator == pb.SELECTOR_OPERATOR_IN:
        return value in one.values
    if one.operator == pb.SELECTOR_OPERATOR_NOT_IN:
        return value not in one.values
    return (value is not None) is (one.operator == pb.SELECTOR_OPERATOR_EXISTS)
