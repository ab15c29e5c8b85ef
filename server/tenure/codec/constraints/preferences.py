"""Decode preferences of shapes: nodes and pods that a pod is better near to, or away from."""

from collections.abc import Sequence
from typing import Any, Final

from tenure.codec.checks import MISSING
from tenure.codec.constraints.node_constraints import decode_term
from tenure.codec.constraints.pod_constraints import decode_pod_term
from tenure.solver.model.constraints import PreferredNodes, PreferredPods
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_PREFERENCES
from tenure.wire.violations import ViolationCollector

_MAX_WEIGHT: Final = 100


def decode_preferred_nodes(
    i: int, messages: Sequence[pb.PreferredSchedulingTerm], findings: ViolationCollector
) -> tuple[PreferredNodes, ...]:
    """Terms of preferred node affinity, sorted. Equal terms count each."""
    field = "preferred_node_affinity"
    if not messages or _are_too_many(i, field, messages, findings):
        return ()
    found = []
    for at, message in enumerate(messages):
        path = f"{field}[{at}]"
        _check_weight(i, path, message.weight, findings)
        if not message.preference.requirements:
            findings.add(i, f"{path}.preference.requirements", MISSING)
        term = decode_term(i, f"{path}.preference", message.preference, findings)
        found.append(PreferredNodes(message.weight, term))
    return tuple(sorted(found))


def decode_preferred_pods(
    i: int,
    near: Sequence[pb.WeightedPodAffinityTerm],
    away: Sequence[pb.WeightedPodAffinityTerm],
    findings: ViolationCollector,
) -> tuple[PreferredPods, ...]:
    """Terms of preferred pod affinity and anti-affinity, sorted. Equal terms count each."""
    found = []
    for field, messages, sign in (
        ("preferred_pod_affinity", near, 1),
        ("preferred_pod_anti_affinity", away, -1),
    ):
        if not messages or _are_too_many(i, field, messages, findings):
            continue
        for at, message in enumerate(messages):
            path = f"{field}[{at}]"
            _check_weight(i, path, message.weight, findings)
            term = decode_pod_term(i, f"{path}.term", message.term, findings)
            found.append(PreferredPods(sign * message.weight, term))
    return tuple(sorted(found))


def _are_too_many(i: int, field: str, messages: Sequence[Any], findings: ViolationCollector) -> bool:
    if len(messages) <= MAX_PREFERENCES:
        return False
    findings.add(i, field, f"are {len(messages)}, more than {MAX_PREFERENCES}: use fewer")
    return True


def _check_weight(i: int, path: str, weight: int, findings: ViolationCollector) -> None:
    findings.step()
    if not 1 <= weight <= _MAX_WEIGHT:
        findings.add(i, f"{path}.weight", f"{weight} is not between 1 and {_MAX_WEIGHT}")
