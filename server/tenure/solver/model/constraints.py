"""Which nodes a task may go to: selectors, affinities, taints (Kubernetes semantics).

Which pods a task must be near to, and from which it must keep away (Kubernetes pod affinity).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

Labels = tuple[tuple[str, str], ...]
"""Labels as sorted pairs: hashable, so that equal ones are looked at once."""


class PodAffinityTerm(NamedTuple):
    """Pods with all these labels, on nodes with the same value of the topology key."""

    match_labels: Labels
    topology_key: str

    def selects(self, labels: Labels) -> bool:
        """Whether a pod with these labels is meant."""
        return set(self.match_labels) <= set(labels)


_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS: Final = 63
"""Characters of a Kubernetes label value."""


class TaintEffect(IntEnum):
    """What a taint does to pods that do not tolerate it; ANY is a toleration of every effect."""

    ANY = 0
    NO_SCHEDULE = 1
    PREFER_NO_SCHEDULE = 2
    NO_EXECUTE = 3


class Operator(IntEnum):
    """How a label is compared with the values of a requirement."""

    IN = 1
    NOT_IN = 2
    EXISTS = 3
    DOES_NOT_EXIST = 4
    GREATER_THAN = 5
    LESS_THAN = 6


class Taint(NamedTuple):
    """A reason for pods to stay away from a node."""

    key: str
    value: str
    effect: TaintEffect


class Toleration(NamedTuple):
    """A taint, or class of taints, that a pod does not mind."""

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


@dataclass(frozen=True, slots=True)
class Constraints:
    """Everything about a task that decides which nodes it may go to, but for amounts. Hashable."""

    node_selector: tuple[tuple[str, str], ...] = ()
    node_affinity: tuple[tuple[Requirement, ...], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    pod_affinity: tuple[PodAffinityTerm, ...] = ()
    pod_anti_affinity: tuple[PodAffinityTerm, ...] = ()

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether selector and required affinity accept a node with these labels."""
        if any(labels.get(key) != value for key, value in self.node_selector):
            return False
        if not self.node_affinity:
            return True
        return any(term and all(r.matches(labels) for r in term) for term in self.node_affinity)

    def untolerated(self, taints: tuple[Taint, ...]) -> Taint | None:
        """The first taint that keeps the task away, or None."""
        for taint in taints:
            if taint.effect is TaintEffect.PREFER_NO_SCHEDULE:
                continue
            if not any(toleration.tolerates(taint) for toleration in self.tolerations):
                return taint
        return None


def _number(value: str | None) -> int | None:
    """A label value as Kubernetes reads numbers: 64 bits in ASCII digits. None: it is no number."""
    if value is None or len(value) > _MOST_DIGITS or not _NUMBER.fullmatch(value):
        return None
    number = int(value)
    return number if -(2**63) <= number < 2**63 else None
