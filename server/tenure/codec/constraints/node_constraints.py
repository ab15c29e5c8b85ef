"""Decode constraints on nodes: node affinity and tolerations."""

import re
from collections.abc import Sequence
from typing import Final

from tenure.codec.checks import MISSING, check_enum
from tenure.solver.model.constraints import Operator, Requirement, TaintEffect, Toleration
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.violations import ViolationCollector, quote_name

_EFFECTS: Final = frozenset(range(len(TaintEffect)))
_OPERATORS: Final = frozenset(range(1, len(Operator) + 1))
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")


def decode_term(
    i: int, path: str, message: pb.NodeSelectorTerm, findings: ViolationCollector
) -> tuple[Requirement, ...]:
    """One term of a node affinity."""
    return tuple(
        sorted(
            _decode_requirement(i, f"{path}.requirements[{n}]", requirement, findings)
            for n, requirement in enumerate(message.requirements)
        )
    )


def _decode_requirement(
    i: int, field: str, message: pb.NodeSelectorRequirement, findings: ViolationCollector
) -> Requirement:
    findings.step()
    if not message.key:
        findings.add(i, f"{field}.key", MISSING)
    values = tuple(sorted(message.values))
    if not check_enum(message.operator, _OPERATORS, findings, i, f"{field}.operator"):
        return Requirement(message.key, Operator.EXISTS, values)
    operator = Operator(message.operator)
    if problem := _values_problem(operator, values):
        findings.add(i, f"{field}.values", problem)
    return Requirement(message.key, operator, values)


def _values_problem(operator: Operator, values: Sequence[str]) -> str:
    """Problem of the values of a requirement; empty if they are valid."""
    match operator:
        case Operator.IN | Operator.NOT_IN:
            return "" if values else f"must have at least one value with {operator.name}"
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            return f"must be empty with {operator.name}" if values else ""
    if len(values) == 1 and _INTEGER.fullmatch(values[0]):
        return ""
    return (
        f"must be one integer of at most 18 digits with {operator.name}, not {quote_name(', '.join(values))}"
    )


def decode_toleration(i: int, at: int, message: pb.Toleration, findings: ViolationCollector) -> Toleration:
    """One toleration."""
    findings.step()
    if not message.key and not message.exists:
        findings.add(i, f"tolerations[{at}].key", "is required unless `exists` is set")
    known = check_enum(message.effect, _EFFECTS, findings, i, f"tolerations[{at}].effect")
    effect = TaintEffect(message.effect) if known else TaintEffect.ANY
    return Toleration(message.key, message.exists, message.value, effect)
