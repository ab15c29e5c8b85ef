"""Node and pod constraints of tasks: selectors, taints, node and pod affinity (Kubernetes semantics)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

Labels = tuple[tuple[str, str], ...]
"""Labels as sorted pairs: hashable, so that equal ones are evaluated once."""


_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS: Final = 63
"""Maximum length of a Kubernetes label value."""


class TaintEffect(IntEnum):
    """Effect of a taint on pods that do not tolerate it; ANY is a toleration of every effect."""

    ANY = 0
    NO_SCHEDULE = 1
    PREFER_NO_SCHEDULE = 2
    NO_EXECUTE = 3


class Operator(IntEnum):
    """Comparison of a label with the values of a requirement."""

    IN = 1
    NOT_IN = 2
    EXISTS = 3
    DOES_NOT_EXIST = 4
    GREATER_THAN = 5
    LESS_THAN = 6


class Taint(NamedTuple):
    """A node property that excludes pods without a matching toleration."""

    key: str
    value: str
    effect: TaintEffect


class Toleration(NamedTuple):
    """A taint, or class of taints, that a pod tolerates."""

    key: str
    exists: bool
    value: str
    effect: TaintEffect

    def tolerates(self, taint: Taint) -> bool:
        """Whether this toleration covers the taint."""
        if self.effect not in (TaintEffect.ANY, taint.effect):
            return False
        if self.key and self.key != taint.key:
            return False
        return self.exists or (bool(self.key) and self.value == taint.value)


class Requirement(NamedTuple):
    """One condition on a node label."""

    key: str
    operator: Operator
    values: tuple[str, ...]

    def __str__(self) -> str:
        """As people read it: `app in (a, b)`."""
        values = ", ".join(self.values)
        match self.operator:
            case Operator.EXISTS:
                return f"{self.key} set"
            case Operator.DOES_NOT_EXIST:
                return f"{self.key} not set"
            case Operator.GREATER_THAN | Operator.LESS_THAN:
                return f"{self.key} {'>' if self.operator is Operator.GREATER_THAN else '<'} {values}"
        return f"{self.key} {'in' if self.operator is Operator.IN else 'not in'} ({values})"

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet the condition."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GREATER_THAN:
                return (number := _number(value)) is not None and number > int(self.values[0])
            case Operator.LESS_THAN:
                return (number := _number(value)) is not None and number < int(self.values[0])


class PodAffinityTerm(NamedTuple):
    """Selected pods, on nodes with the same value of the topology key."""

    match_labels: Labels
    topology_key: str
    expressions: tuple[Requirement, ...] = ()
    namespaces: tuple[str, ...] = ()
    """Namespaces of the selected pods; empty: that of the pod with the term."""
    all_namespaces: bool = False

    @property
    def is_wide(self) -> bool:
        """Whether its namespaces do not depend on the pod with the term."""
        return self.all_namespaces or bool(self.namespaces)

    def has_namespace(self, name: str, own: str) -> bool:
        """Whether it selects pods of a namespace, for a pod of its own one."""
        return self.all_namespaces or (name in self.namespaces if self.namespaces else name == own)

    def selects(self, labels: Labels) -> bool:
        """Whether pods with these labels are selected."""
        return _selects(self.match_labels, self.expressions, labels)


class PreferredNodes(NamedTuple):
    """Preferred nodes: those that meet all requirements."""

    weight: int
    requirements: tuple[Requirement, ...]


class PreferredPods(NamedTuple):
    """Preferred nearness to pods."""

    weight: int
    """For each selected pod that is near; negative: away from them."""
    term: PodAffinityTerm


class TopologySpread(NamedTuple):
    """A bound for the difference between the numbers of selected pods in domains of the topology key."""

    topology_key: str
    max_skew: int = 1
    match_labels: Labels = ()
    expressions: tuple[Requirement, ...] = ()
    """With the labels empty, too, no pods are counted."""
    min_domains: int = 1
    """With fewer domains, the smallest number of pods in a domain is 0."""
    counts_unselected_nodes: bool = False
    """Whether nodes count that node selector or node affinity exclude."""
    omits_tainted_nodes: bool = False
    """Whether nodes with taints that are not tolerated do not count."""

    def selects(self, labels: Labels) -> bool:
        """Whether pods with these labels are counted."""
        is_empty = not (self.match_labels or self.expressions)
        return not is_empty and _selects(self.match_labels, self.expressions, labels)


def _selects(match_labels: Labels, expressions: tuple[Requirement, ...], labels: Labels) -> bool:
    if not set(match_labels) <= set(labels):
        return False
    if not expressions:
        return True
    values = dict(labels)
    return all(one.matches(values) for one in expressions)


class HostPort(NamedTuple):
    """A port of a node. Without an address it is that of all addresses."""

    port: int
    protocol: str = "TCP"
    ip: str = ""


class OtherPods(NamedTuple):
    """Equal pods of a node that are no tasks: they do not move."""

    namespace: str
    labels: Labels = ()
    number: int = 1
    is_terminating: bool = False
    anti_affinity: tuple[PodAffinityTerm, ...] = ()
    host_ports: tuple[HostPort, ...] = ()


@dataclass(frozen=True, slots=True)
class Constraints:
    """All properties of a task that restrict or order its nodes, except amounts. Hashable."""

    node_selector: tuple[tuple[str, str], ...] = ()
    node_affinity: tuple[tuple[Requirement, ...], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    pod_affinity: tuple[PodAffinityTerm, ...] = ()
    pod_anti_affinity: tuple[PodAffinityTerm, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    topology_spread: tuple[TopologySpread, ...] = ()
    preferred_nodes: tuple[PreferredNodes, ...] = ()
    preferred_pods: tuple[PreferredPods, ...] = ()
    preferred_spread: tuple[TopologySpread, ...] = ()

    @property
    def depends_on_pods(self) -> bool:
        """Whether the nodes of a task depend on where other pods are."""
        return bool(self.pod_affinity or self.pod_anti_affinity or self.host_ports or self.topology_spread)

    @property
    def prefers_by_pods(self) -> bool:
        """Whether the order of nodes depends on where other pods are."""
        return bool(self.preferred_pods or self.preferred_spread)

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether selector and required affinity accept a node with these labels."""
        if any(labels.get(key) != value for key, value in self.node_selector):
            return False
        if not self.node_affinity:
            return True
        return any(term and all(r.matches(labels) for r in term) for term in self.node_affinity)

    def untolerated(self, taints: tuple[Taint, ...]) -> Taint | None:
        """First taint that is not tolerated, or None."""
        for taint in taints:
            if taint.effect is not TaintEffect.PREFER_NO_SCHEDULE and not self._tolerates(taint):
                return taint
        return None

    def unwanted_taints(self, taints: tuple[Taint, ...]) -> int:
        """Number of taints that are not tolerated and make a node a worse choice."""
        soft = [taint for taint in taints if taint.effect is TaintEffect.PREFER_NO_SCHEDULE]
        return sum([not self._tolerates(taint) for taint in soft])

    def _tolerates(self, taint: Taint) -> bool:
        return any(toleration.tolerates(taint) for toleration in self.tolerations)


def _number(value: str | None) -> int | None:
    """Parse a label value as Kubernetes does: 64 bits in ASCII digits. None: not a number."""
    if value is None or len(value) > _MOST_DIGITS or not _NUMBER.fullmatch(value):
        return None
    number = int(value)
    return number if -(2**63) <= number < 2**63 else None
