"""Node affinities and tolerations, as far as a snapshot can represent them.

A constraint that it cannot represent blocks the placement of the pod.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from tenure.kubernetes.objects.pod import PodSpec, SelectorRequirement, Toleration
from tenure.v1 import snapshot_pb2 as pb

_OPERATORS: Final = {
    "In": pb.SELECTOR_OPERATOR_IN,
    "NotIn": pb.SELECTOR_OPERATOR_NOT_IN,
    "Exists": pb.SELECTOR_OPERATOR_EXISTS,
    "DoesNotExist": pb.SELECTOR_OPERATOR_DOES_NOT_EXIST,
    "Gt": pb.SELECTOR_OPERATOR_GREATER_THAN,
    "Lt": pb.SELECTOR_OPERATOR_LESS_THAN,
}
EFFECTS: Final = {
    "": pb.TAINT_EFFECT_UNSPECIFIED,
    "NoSchedule": pb.TAINT_EFFECT_NO_SCHEDULE,
    "PreferNoSchedule": pb.TAINT_EFFECT_PREFER_NO_SCHEDULE,
    "NoExecute": pb.TAINT_EFFECT_NO_EXECUTE,
}
"""Effects of taints by Kubernetes name."""
_NEED_VALUES: Final = ("In", "NotIn")
_NEED_INTEGER: Final = ("Gt", "Lt")
_MOST_DIGITS: Final = 18
"""Maximum length of such an integer."""


class Unrepresentable(Exception):
    """A snapshot cannot represent a constraint. The message names it."""


def node_affinity(spec: PodSpec) -> list[pb.NodeSelectorTerm]:
    """Terms; one of them must hold. Raises Unrepresentable."""
    required = spec.affinity.node_affinity.required
    terms = required.node_selector_terms if required else []
    return [
        pb.NodeSelectorTerm(
            requirements=[requirement(one) for one in (*term.match_expressions, *term.match_fields)]
        )
        for term in terms
    ]


def tolerations(rows: Sequence[Toleration]) -> Iterator[pb.Toleration]:
    """Tolerations. An unreadable one tolerates nothing."""
    for row in rows:
        exists = row.operator == "Exists"
        known = row.operator in ("", "Equal", "Exists") and row.effect in EFFECTS
        if known and (row.key or exists):
            yield pb.Toleration(
                key=row.key, exists=exists, value="" if exists else row.value, effect=EFFECTS[row.effect]
            )


def requirement(one: SelectorRequirement) -> pb.NodeSelectorRequirement:
    """A requirement on a label of a node or a pod. Raises Unrepresentable."""
    operator = _OPERATORS.get(one.operator)
    if operator is None or not one.key or not _fits(one):
        raise Unrepresentable(f"it has the unsupported expression {one.key!r} {one.operator!r} {one.values}")
    return pb.NodeSelectorRequirement(key=one.key, operator=operator, values=one.values)


def _fits(one: SelectorRequirement) -> bool:
    """Whether the operator accepts the number and type of the values."""
    if one.operator in _NEED_VALUES:
        return bool(one.values)
    if one.operator in _NEED_INTEGER:
        digits = one.values[0].removeprefix("-") if len(one.values) == 1 else ""
        return digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS
    return not one.values
