"""Nodes and their taints: from messages to the model."""

from collections.abc import Mapping, Sequence
from typing import Final

from tenure.server.codec.checks import MISSING, known_enum
from tenure.server.codec.claims import decode_devices
from tenure.server.codec.limits import MAX_GPU_MEMORY_MIB
from tenure.server.codec.resources import decode_vector
from tenure.server.codec.violations import Findings
from tenure.server.codec.zones import decode_zones
from tenure.solver.model.constraints import Taint, TaintEffect
from tenure.solver.model.node import MigStrategy, Node
from tenure.solver.model.numa import NumaPolicy
from tenure.solver.model.resources import GPU, MIG_PREFIX, WHOLE_GPU, Amounts, Vector
from tenure.v1 import snapshot_pb2 as pb

_MEMORY_STEP: Final = 100
"""GPU memory counts in these steps of MiB; one step also stands for an unknown memory (semantics R1.15)."""

_MIG_STRATEGIES: Final = list(MigStrategy)
_NUMA_POLICIES: Final = list(NumaPolicy)
"""By their numbers in the contract."""
_KNOWN_STRATEGIES: Final = frozenset(range(len(MigStrategy)))
_KNOWN_POLICIES: Final = frozenset(range(len(NumaPolicy)))
_TAINT_EFFECTS: Final = frozenset(range(1, len(TaintEffect)))
MIG_ENABLED: Final = "node-role.kubernetes.io/mig-enabled"
"""The label that tells whether a node has MIG devices."""
BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "True", "TRUE"), True),
    **dict.fromkeys(("0", "f", "F", "false", "False", "FALSE"), False),
}
"""Values of that label; others say nothing."""


def decode_nodes(
    messages: Sequence[pb.Node], ranks: Mapping[str, int], slots: Mapping[str, int], findings: Findings
) -> tuple[Node, ...]:
    """The nodes by name; `ranks` gives the index of each name and `slots` that of each resource."""
    nodes = [
        _decode_node(i, message, ranks.get(message.name, 0), slots, findings)
        for i, message in enumerate(messages)
    ]
    return tuple(sorted(nodes, key=lambda node: node.index))


def _decode_node(i: int, message: pb.Node, index: int, slots: Mapping[str, int], findings: Findings) -> Node:
    labels, amounts = dict(message.labels) if message.labels else {}, message.allocatable
    allocatable = decode_vector(amounts, slots, findings, i, "allocatable")
    devices = decode_devices(i, message, slots, findings)
    if amounts.gpu_milli % WHOLE_GPU:
        findings.add(i, "allocatable.gpu_milli", "is not a number of whole devices: a multiple of 1000")
    memory = _gpu_memory(i, message, findings)
    taints = [_decode_taint(i, at, taint, findings) for at, taint in enumerate(message.taints)]
    has_strategy = known_enum(message.mig_strategy, _KNOWN_STRATEGIES, findings, i, "mig_strategy")
    has_policy = known_enum(message.numa_policy, _KNOWN_POLICIES, findings, i, "numa_policy")
    zones = message.numa_zones
    return Node(
        index,
        message.name,
        _with(allocatable, devices) if devices else allocatable,
        labels,
        memory or _MEMORY_STEP,
        memory > 0,
        tuple(sorted(taints)),
        _unready(message),
        _MIG_STRATEGIES[message.mig_strategy] if has_strategy else MigStrategy.NONE,
        _has_mig(labels, message),
        dict(devices).get(GPU, 0) if devices else 0,
        _NUMA_POLICIES[message.numa_policy] if has_policy else NumaPolicy.NONE,
        decode_zones(i, zones, slots, findings) if zones else (),
    )


def _with(vector: Vector, devices: Amounts) -> Vector:
    """What the node offers with its devices."""
    total = list(vector)
    for slot, amount in devices:
        total[slot] += amount
    return tuple(total)


def _gpu_memory(i: int, message: pb.Node, findings: Findings) -> int:
    """GPU memory in MiB, rounded down to whole steps; 0 when it is not known."""
    memory = message.gpu_memory_mib
    if memory < 0 or 0 < memory < _MEMORY_STEP:
        findings.add(i, "gpu_memory_mib", f"{memory} is neither 0 (unknown) nor at least {_MEMORY_STEP}")
    elif memory > MAX_GPU_MEMORY_MIB:
        findings.add(i, "gpu_memory_mib", f"{memory} is a terabyte or more: give MiB, not bytes")
    return memory // _MEMORY_STEP * _MEMORY_STEP


def _decode_taint(i: int, at: int, message: pb.Taint, findings: Findings) -> Taint:
    if not message.key:
        findings.add(i, f"taints[{at}].key", MISSING)
    if not known_enum(message.effect, _TAINT_EFFECTS, findings, i, f"taints[{at}].effect"):
        return Taint(message.key, message.value, TaintEffect.ANY)
    return Taint(message.key, message.value, TaintEffect(message.effect))


def _unready(message: pb.Node) -> str:
    """Why the node takes no pods (semantics R1.32), in one order whatever the order of the message."""
    conditions = message.unready_conditions
    if not (conditions or message.unschedulable):
        return ""
    return ", ".join([*(["cordoned"] if message.unschedulable else []), *sorted(set(conditions))])


def _has_mig(labels: Mapping[str, str], message: pb.Node) -> bool:
    """Whether it is a MIG node: its label says so, or else it has MIG resources (semantics R1.28)."""
    said = BOOLEANS.get(labels.get(MIG_ENABLED, ""))
    if said is not None:
        return said
    return any(name.startswith(MIG_PREFIX) for name in message.allocatable.extended)
