"""Decode constraints that depend on other pods: pod affinity, topology spread, host ports, and these pods."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Final

from tenure.codec.checks import MISSING, check_enum
from tenure.solver.model.constraints import (
    HostPort,
    Labels,
    Operator,
    OtherPods,
    PodAffinityTerm,
    Requirement,
    TopologySpread,
)
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_COUNT, MAX_EXPRESSIONS, MAX_SPREADS
from tenure.wire.violations import ViolationCollector, quote_name

_OPERATORS: Final = frozenset(range(1, int(Operator.DOES_NOT_EXIST) + 1))
_MAX_PORT: Final = 65_535
_EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 (compared with, not bound to)


def decode_terms(
    i: int, field: str, messages: Sequence[pb.PodAffinityTerm], findings: ViolationCollector
) -> tuple[PodAffinityTerm, ...]:
    """Terms of pod affinity, sorted and each once."""
    if not messages:
        return ()
    terms = {decode_pod_term(i, f"{field}[{at}]", message, findings) for at, message in enumerate(messages)}
    return tuple(sorted(terms))


def decode_pod_term(
    i: int, path: str, message: pb.PodAffinityTerm, findings: ViolationCollector
) -> PodAffinityTerm:
    """One term of pod affinity."""
    findings.step()
    if not message.topology_key:
        findings.add(i, f"{path}.topology_key", MISSING)
    if message.all_namespaces and message.namespaces:
        findings.add(i, f"{path}.namespaces", "must be empty with all_namespaces")
    for n, name in enumerate(message.namespaces):
        if not name:
            findings.add(i, f"{path}.namespaces[{n}]", MISSING)
    return PodAffinityTerm(
        _labels(message.match_labels),
        message.topology_key,
        _expressions(i, path, message.match_expressions, findings),
        tuple(sorted(set(message.namespaces))),
        message.all_namespaces,
    )


def decode_spread(
    i: int, field: str, messages: Sequence[pb.TopologySpread], findings: ViolationCollector
) -> tuple[TopologySpread, ...]:
    """Constraints of topology spread, sorted and each once."""
    if not messages:
        return ()
    constraints: set[TopologySpread] = set()
    if len(messages) > MAX_SPREADS:
        findings.add(i, field, f"are {len(messages)}, more than {MAX_SPREADS}: use fewer")
        return ()
    for at, message in enumerate(messages):
        findings.step()
        path = f"{field}[{at}]"
        if not message.topology_key:
            findings.add(i, f"{path}.topology_key", MISSING)
        if not 1 <= message.max_skew <= MAX_COUNT:
            findings.add(i, f"{path}.max_skew", f"{message.max_skew} is not between 1 and {MAX_COUNT}")
        if not 0 <= message.min_domains <= MAX_COUNT:
            findings.add(i, f"{path}.min_domains", f"{message.min_domains} is not between 0 and {MAX_COUNT}")
        constraints.add(
            TopologySpread(
                message.topology_key,
                message.max_skew,
                _labels(message.match_labels),
                _expressions(i, path, message.match_expressions, findings),
                message.min_domains or 1,
                message.counts_unselected_nodes,
                message.omits_tainted_nodes,
            )
        )
    return tuple(sorted(constraints))


def decode_host_ports(
    i: int, field: str, messages: Sequence[pb.HostPort], findings: ViolationCollector
) -> tuple[HostPort, ...]:
    """Host ports, sorted and each once."""
    if not messages:
        return ()
    ports: set[HostPort] = set()
    for at, message in enumerate(messages):
        findings.step()
        path = f"{field}[{at}]"
        if not 1 <= message.port <= _MAX_PORT:
            findings.add(i, f"{path}.port", f"{message.port} is not between 1 and {_MAX_PORT}")
        if message.ip and not _is_address(message.ip):
            findings.add(i, f"{path}.ip", f"{quote_name(message.ip)} is not an IP address")
        address = "" if message.ip == _EVERY_ADDRESS else message.ip
        ports.add(HostPort(message.port, message.protocol or "TCP", address))
    return tuple(sorted(ports))


def decode_other_pods(
    i: int, messages: Sequence[pb.OtherPods], findings: ViolationCollector
) -> tuple[OtherPods, ...]:
    """Pods of a node that are not pods of the snapshot."""
    found = []
    for at, message in enumerate(messages):
        findings.step()
        path = f"other_pods[{at}]"
        if not 1 <= message.count <= MAX_COUNT:
            findings.add(i, f"{path}.count", f"{message.count} is not between 1 and {MAX_COUNT}")
        found.append(
            OtherPods(
                message.namespace,
                _labels(message.labels),
                message.count,
                message.terminating,
                decode_terms(i, f"{path}.pod_anti_affinity", message.pod_anti_affinity, findings),
                decode_host_ports(i, f"{path}.host_ports", message.host_ports, findings),
            )
        )
    return tuple(sorted(found))


def _labels(labels: Mapping[str, str]) -> Labels:
    return tuple(sorted(labels.items()))


def _expressions(
    i: int, path: str, messages: Sequence[pb.NodeSelectorRequirement], findings: ViolationCollector
) -> tuple[Requirement, ...]:
    found: set[Requirement] = set()
    if len(messages) > MAX_EXPRESSIONS:
        problem = f"are {len(messages)}, more than {MAX_EXPRESSIONS}: use fewer"
        findings.add(i, f"{path}.match_expressions", problem)
        return ()
    for at, message in enumerate(messages):
        findings.step()
        field = f"{path}.match_expressions[{at}]"
        if not message.key:
            findings.add(i, f"{field}.key", MISSING)
        if not check_enum(message.operator, _OPERATORS, findings, i, f"{field}.operator"):
            continue
        operator, values = Operator(message.operator), tuple(sorted(set(message.values)))
        if bool(values) is not (operator in (Operator.IN, Operator.NOT_IN)):
            problem = "must be empty" if values else "must have at least one value"
            findings.add(i, f"{field}.values", f"{problem} with {operator.name}")
        found.add(Requirement(message.key, operator, values))
    return tuple(sorted(found))


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
