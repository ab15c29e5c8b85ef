"""Node selectors, affinities and tolerations, as far as a snapshot can represent them.

A constraint that it cannot represent blocks the placement of the pod.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tenure.kubernetes.objects.pod import (
    LabelSelector,
    PodAffinityTerm,
    PodSpec,
    SelectorRequirement,
    Toleration,
)
from tenure.kubernetes.observe.nodes import EFFECTS
from tenure.v1 import snapshot_pb2 as pb

_OPERATORS: Final = {
    "In": pb.SELECTOR_OPERATOR_IN,
    "NotIn": pb.SELECTOR_OPERATOR_NOT_IN,
    "Exists": pb.SELECTOR_OPERATOR_EXISTS,
    "DoesNotExist": pb.SELECTOR_OPERATOR_DOES_NOT_EXIST,
    "Gt": pb.SELECTOR_OPERATOR_GREATER_THAN,
    "Lt": pb.SELECTOR_OPERATOR_LESS_THAN,
}
_NEED_VALUES: Final = ("In", "NotIn")
_NEED_INTEGER: Final = ("Gt", "Lt")
_MOST_DIGITS: Final = 18
"""Maximum length of such an integer."""


class Unrepresentable(Exception):
    """A snapshot cannot represent a constraint. The message names it."""


def node_affinity(spec: PodSpec) -> list[pb.NodeSelectorTerm]:
    """Terms of which one must hold. Raises Unrepresentable."""
    required = spec.affinity.node_affinity.required
    terms = required.node_selector_terms if required else []
    return [
        pb.NodeSelectorTerm(
            requirements=[node_requirement(one) for one in (*term.match_expressions, *term.match_fields)]
        )
        for term in terms
    ]


def pod_terms(terms: Iterable[PodAffinityTerm], namespace: str) -> list[pb.PodAffinityTerm]:
    """Terms that must all hold, for a pod of this namespace. Raises Unrepresentable."""
    return [_pod_term(term, namespace) for term in terms]


def tolerations(rows: Sequence[Toleration]) -> Iterator[pb.Toleration]:
    """Tolerations. An unreadable one tolerates nothing."""
    for row in rows:
        exists = row.operator == "Exists"
        known = row.operator in ("", "Equal", "Exists") and row.effect in EFFECTS
        if known and (row.key or exists):
            yield pb.Toleration(
                key=row.key, exists=exists, value="" if exists else row.value, effect=EFFECTS[row.effect]
            )


def node_requirement(one: SelectorRequirement) -> pb.NodeSelectorRequirement:
    """A requirement on a label of a node. Raises Unrepresentable."""
    operator = _OPERATORS.get(one.operator)
    if operator is None or not one.key or not _fits(one):
        raise Unrepresentable(
            f"its node affinity has the unsupported expression {one.key!r} {one.operator!r} {one.values}"
        )
    return pb.NodeSelectorRequirement(key=one.key, operator=operator, values=one.values)


def _fits(one: SelectorRequirement) -> bool:
    """Whether the operator accepts the number and type of the values."""
    if one.operator in _NEED_VALUES:
        return bool(one.values)
    if one.operator in _NEED_INTEGER:
        digits = one.values[0].removeprefix("-") if len(one.values) == 1 else ""
        return digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS
    return not one.values


def _pod_term(term: PodAffinityTerm, namespace: str) -> pb.PodAffinityTerm:
    if term.namespace_selector is not None or set(term.namespaces) - {namespace}:
        raise Unrepresentable("its pod affinity selects other namespaces")
    if not term.topology_key:
        raise Unrepresentable("its pod affinity has no topology key")
    return pb.PodAffinityTerm(match_labels=_labels(term.label_selector), topology_key=term.topology_key)


def _labels(selector: LabelSelector) -> dict[str, str]:
    """A selector as labels with one value each. Raises Unrepresentable."""
    labels = dict(selector.match_labels)
    for one in selector.match_expressions:
        if (
            one.operator != "In"
            or len(one.values) != 1
            or labels.get(one.key, one.values[0]) != one.values[0]
        ):
            raise Unrepresentable("its pod affinity has a selector other than labels with one value each")
        labels[one.key] = one.values[0]
    if not labels:
        raise Unrepresentable("its pod affinity selects all pods")
    return labels
