"""Decode nodes, their taints and NUMA zones; decode and encode NUMA placements of pods."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tenure.codec.checks import MISSING, check_enum
from tenure.codec.claims import decode_devices
from tenure.codec.constraints.pod_constraints import decode_other_pods
from tenure.codec.read_facts import read_node_facts
from tenure.codec.shapes import decode_vector
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import Taint, TaintEffect
from tenure.solver.model.node import MigStrategy, Node, NumaPolicy, NumaZone
from tenure.solver.model.placement import NumaPlacement, Zones
from tenure.solver.model.resources import (
    CPU,
    FIXED_SLOTS,
    GPU,
    MEMORY,
    MIG_PREFIX,
    WHOLE_GPU,
    Amounts,
    Vector,
)
from tenure.v1 import resources_pb2
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_GPU_MEMORY_MIB, MAX_ZONES
from tenure.wire.violations import ViolationCollector, quote_name


def decode_zones(
    i: int, messages: Sequence[pb.NumaZone], slots: Mapping[str, int], findings: ViolationCollector
) -> tuple[NumaZone, ...]:
    """Zones of one node, in order. `slots` maps resource names to positions."""
    if len(messages) > MAX_ZONES:
        findings.add(i, "numa_zones", f"are {len(messages)}, more than {MAX_ZONES}")
    zones: list[NumaZone] = []
    ids: set[str] = set()
    for at, message in enumerate(messages):
        findings.step()
        field = f"numa_zones[{at}]"
        if not message.id:
            findings.add(i, f"{field}.id", MISSING)
        elif message.id in ids:
            findings.add(i, f"{field}.id", f"{quote_name(message.id)} is already a zone of the node")
        ids.add(message.id)
        allocatable = decode_vector(message.allocatable, slots, findings, i, f"{field}.allocatable")
        available = decode_vector(message.available, slots, findings, i, f"{field}.available")
        zones.append(NumaZone(message.id, allocatable, available if message.HasField("available") else None))
    return tuple(zones)


def decode_placement(
    i: int,
    messages: Sequence[resources_pb2.NumaPlacement],
    zones: Sequence[NumaZone],
    slots: Mapping[str, int],
    findings: ViolationCollector,
) -> Zones:
    """Amounts of a pod in the zones of its node; empty if a zone does not exist."""
    position = {zone.id: at for at, zone in enumerate(zones)}
    shares = []
    named: set[str] = set()
    for at, message in enumerate(messages):
        findings.step()
        amounts = decode_vector(message.amounts, slots, findings, i, f"numa_placement[{at}].amounts")
        if message.zone in named:
            findings.add(i, f"numa_placement[{at}].zone", f"{quote_name(message.zone)} is named twice")
        named.add(message.zone)
        taken = tuple((slot, amount) for slot, amount in enumerate(amounts) if amount)
        shares.append(NumaPlacement(position.get(message.zone, -1), taken))
    is_known = all(share.zone >= 0 for share in shares)
    return tuple(sorted(shares)) if is_known else ()


def encode_placement(cluster: Cluster, node: int, zones: Zones) -> Iterable[resources_pb2.NumaPlacement]:
    """Expected amounts of a pod in the zones of the node, in order of zones."""
    for zone, amounts in zones:
        yield resources_pb2.NumaPlacement(
            zone=cluster.nodes[node].numa_zones[zone].id,
            amounts=_encode_amounts(dict(amounts), cluster.resource_names),
        )


def _encode_amounts(amounts: Mapping[int, int], names: Sequence[str]) -> resources_pb2.Resources:
    fixed = len(FIXED_SLOTS)
    return resources_pb2.Resources(
        cpu_milli=amounts.get(CPU, 0),
        memory_bytes=amounts.get(MEMORY, 0),
        gpu_milli=amounts.get(GPU, 0),
        extended={names[slot]: amount for slot, amount in amounts.items() if slot >= fixed},
    )


_MEMORY_STEP: Final = 100
"""GPU memory is rounded to these steps in MiB; one step also represents unknown memory (semantics R1.15)."""

_MIG_STRATEGIES: Final = list(MigStrategy)
_NUMA_POLICIES: Final = list(NumaPolicy)
"""By number on the wire."""
_KNOWN_STRATEGIES: Final = frozenset(range(len(MigStrategy)))
_KNOWN_POLICIES: Final = frozenset(range(len(NumaPolicy)))
_TAINT_EFFECTS: Final = frozenset(range(1, len(TaintEffect)))
MIG_ENABLED: Final = "node-role.kubernetes.io/mig-enabled"
"""Label that states whether a node has MIG devices."""
BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "True", "TRUE"), True),
    **dict.fromkeys(("0", "f", "F", "false", "False", "FALSE"), False),
}
"""Values of that label; others are ignored."""


def decode_nodes(
    messages: Sequence[pb.Node],
    ranks: Mapping[str, int],
    slots: Mapping[str, int],
    findings: ViolationCollector,
) -> tuple[Node, ...]:
    """Nodes by name. `ranks` maps names to indices, `slots` maps resource names."""
    nodes = [
        _decode_node(i, message, ranks.get(message.name, 0), slots, findings)
        for i, message in enumerate(messages)
    ]
    return tuple(sorted(nodes, key=lambda node: node.index))


def _decode_node(
    i: int, message: pb.Node, index: int, slots: Mapping[str, int], findings: ViolationCollector
) -> Node:
    findings.step()
    labels, amounts = dict(message.labels) if message.labels else {}, message.allocatable
    allocatable = decode_vector(amounts, slots, findings, i, "allocatable")
    devices = decode_devices(i, message, slots, findings)
    if amounts.gpu_milli % WHOLE_GPU:
        findings.add(i, "allocatable.gpu_milli", "is not a number of whole devices: a multiple of 1000")
    memory = _gpu_memory(i, message, findings)
    taints = [_decode_taint(i, at, taint, findings) for at, taint in enumerate(message.taints)]
    has_strategy = check_enum(message.mig_strategy, _KNOWN_STRATEGIES, findings, i, "mig_strategy")
    has_policy = check_enum(message.numa_policy, _KNOWN_POLICIES, findings, i, "numa_policy")
    zones = message.numa_zones
    return Node(
        index=index,
        facts=read_node_facts(i, message, findings, labels=labels),
        allocatable=_with(allocatable, devices) if devices else allocatable,
        gpu_memory_mib=memory or _MEMORY_STEP,
        gpu_memory_known=memory > 0,
        taints=tuple(sorted(taints)),
        unready=_unready(message),
        mig_strategy=_MIG_STRATEGIES[message.mig_strategy] if has_strategy else MigStrategy.NONE,
        has_mig=_has_mig(labels, message),
        claimable_gpu_milli=dict(devices).get(GPU, 0) if devices else 0,
        numa_policy=_NUMA_POLICIES[message.numa_policy] if has_policy else NumaPolicy.NONE,
        numa_zones=decode_zones(i, zones, slots, findings) if zones else (),
        other_pods=decode_other_pods(i, message.other_pods, findings) if message.other_pods else (),
    )


def _with(vector: Vector, devices: Amounts) -> Vector:
    """Allocatable amounts with devices."""
    total = list(vector)
    for slot, amount in devices:
        total[slot] += amount
    return tuple(total)


def _gpu_memory(i: int, message: pb.Node, findings: ViolationCollector) -> int:
    """GPU memory in MiB, rounded down to whole steps; 0 if unknown."""
    memory = message.gpu_memory_mib
    if memory < 0 or 0 < memory < _MEMORY_STEP:
        findings.add(i, "gpu_memory_mib", f"{memory} is neither 0 (unknown) nor at least {_MEMORY_STEP}")
    elif memory > MAX_GPU_MEMORY_MIB:
        findings.add(i, "gpu_memory_mib", f"{memory} is a terabyte or more: give MiB, not bytes")
    return memory // _MEMORY_STEP * _MEMORY_STEP


def _decode_taint(i: int, at: int, message: pb.Taint, findings: ViolationCollector) -> Taint:
    findings.step()
    if not message.key:
        findings.add(i, f"taints[{at}].key", MISSING)
    if not check_enum(message.effect, _TAINT_EFFECTS, findings, i, f"taints[{at}].effect"):
        return Taint(message.key, message.value, TaintEffect.ANY)
    return Taint(message.key, message.value, TaintEffect(message.effect))


def _unready(message: pb.Node) -> str:
    """Why the node accepts no pods (semantics R1.32), sorted; empty if it is ready."""
    conditions = message.unready_conditions
    if not (conditions or message.unschedulable):
        return ""
    return ", ".join([*(["cordoned"] if message.unschedulable else []), *sorted(set(conditions))])


def _has_mig(labels: Mapping[str, str], message: pb.Node) -> bool:
    """Whether it is a MIG node, by its label or else by its resources (semantics R1.28)."""
    label = BOOLEANS.get(labels.get(MIG_ENABLED, ""))
    if label is not None:
        return label
    return any(name.startswith(MIG_PREFIX) for name in message.allocatable.extended)
