"""Decode task shapes, and resource amounts into vectors over one list of names."""

from collections.abc import Mapping, Sequence
from typing import Final

from tenure.codec.checks import MISSING, amount
from tenure.codec.constraints.node_constraints import decode_term, decode_toleration
from tenure.codec.constraints.pod_constraints import decode_host_ports, decode_spread, decode_terms
from tenure.codec.constraints.preferences import decode_preferred_nodes, decode_preferred_pods
from tenure.solver.model.constraints import Constraints
from tenure.solver.model.resources import (
    FIXED_SLOTS,
    GPU,
    PODS,
    WHOLE_GPU,
    GpuRequest,
    Vector,
    device_slot,
    mig_gpu_milli,
)
from tenure.solver.model.workload_parts import TaskShape
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.resources_pb2 import GpuRequest as GpuRequestMessage
from tenure.v1.resources_pb2 import Resources
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.limits import MAX_AMOUNT, MAX_DEVICES, MAX_GPU_MEMORY_MIB
from tenure.wire.violations import ViolationCollector, quote_name

_OWN_FIELD: Final = dict(zip(FIXED_SLOTS, ("cpu_milli", "memory_bytes", "gpu_milli", "pods"), strict=True))


def resource_names(snapshot: ClusterSnapshot) -> tuple[str, ...]:
    """Names of the slots of vectors: fixed ones, then all others of the snapshot, sorted."""
    extended: set[str] = set()
    classes: set[str] = set()
    has_zones = False
    for node in snapshot.nodes:
        if more := node.allocatable.extended:
            extended.update(more)
        if devices := node.devices:
            classes.update(devices)
        for zone in node.numa_zones:
            has_zones = True
            extended.update(zone.allocatable.extended, zone.available.extended)
    for shape in snapshot.shapes:
        extended.update(shape.requests.extended)
    if has_zones:
        for pod in snapshot.pods:
            for placement in pod.numa_placement:
                extended.update(placement.amounts.extended)
    for claim in snapshot.resource_claims:
        classes.update(request.device_class for request in claim.requests)
    extended.update(device_slot(name) for name in classes if name)
    return (*FIXED_SLOTS, *sorted(extended.difference(FIXED_SLOTS)))


def decode_vector(
    message: Resources, slots: Mapping[str, int], findings: ViolationCollector, index: int, field: str
) -> Vector:
    """One amount per slot. `slots` maps resource names to positions."""
    vector = [message.cpu_milli, message.memory_bytes, message.gpu_milli, message.pods]
    for slot, value in enumerate(vector):
        if not 0 <= value <= MAX_AMOUNT:  # rarely so: paths are put together for what is wrong alone
            amount(value, findings, index, f"{field}.{_OWN_FIELD[FIXED_SLOTS[slot]]}")
    vector += [0] * (len(slots) - len(vector))
    for name, value in sorted(message.extended.items()) if message.extended else ():
        path = f"{field}.extended[{quote_name(name)}]"
        if not name:
            findings.add(index, path, f"name {MISSING}")
        elif name in _OWN_FIELD:
            findings.add(index, path, f"has a field of its own: use {_OWN_FIELD[name]}")
        else:
            vector[slots[name]] = amount(value, findings, index, path)
    return tuple(vector)


def decode_shapes(
    messages: Sequence[pb.PodShape],
    ranks: Mapping[str, int],
    slots: Mapping[str, int],
    findings: ViolationCollector,
) -> tuple[TaskShape, ...]:
    """Shapes by ID. `ranks` maps IDs to indices, `slots` maps resource names to positions."""
    shapes = [
        _decode_shape(i, message, ranks.get(message.id, 0), slots, findings)
        for i, message in enumerate(messages)
    ]
    return tuple(sorted(shapes, key=lambda shape: shape.index))


def _decode_shape(
    i: int, message: pb.PodShape, index: int, slots: Mapping[str, int], findings: ViolationCollector
) -> TaskShape:
    findings.step()
    gpu = _decode_gpu(i, message.gpu, findings)
    request = list(decode_vector(message.requests, slots, findings, i, "requests"))
    if request[GPU]:
        findings.add(i, "requests.gpu_milli", "must stay unset: use gpu")
    if request[PODS]:
        findings.add(i, "requests.pods", "must stay unset: every task takes one slot")
    request[GPU] = 0 if gpu.is_shared else gpu.devices * WHOLE_GPU
    request[PODS] = 1
    mig = sum(mig_gpu_milli(name) * request[slot] for name, slot in slots.items())
    constraints = Constraints(
        tuple(sorted(message.node_selector.items())),
        tuple(
            sorted(
                decode_term(i, f"node_affinity[{at}]", term, findings)
                for at, term in enumerate(message.node_affinity)
            )
        ),
        tuple(sorted(decode_toleration(i, at, t, findings) for at, t in enumerate(message.tolerations))),
        decode_terms(i, "pod_affinity", message.pod_affinity, findings),
        decode_terms(i, "pod_anti_affinity", message.pod_anti_affinity, findings),
        decode_host_ports(i, "host_ports", message.host_ports, findings),
        decode_spread(i, "topology_spread", message.topology_spread, findings),
        decode_preferred_nodes(i, message.preferred_node_affinity, findings),
        decode_preferred_pods(
            i, message.preferred_pod_affinity, message.preferred_pod_anti_affinity, findings
        ),
        decode_spread(i, "preferred_topology_spread", message.preferred_topology_spread, findings),
    )
    return TaskShape(index, message.id, tuple(request), gpu, mig, constraints, message.guaranteed)


def _decode_gpu(i: int, message: GpuRequestMessage, findings: ViolationCollector) -> GpuRequest:
    """GPU request. Its portion is 0 if it is sized by memory (semantics R1.5)."""
    share = message.WhichOneof("share")
    if not 0 <= message.devices <= MAX_DEVICES:
        findings.add(i, "gpu.devices", f"{message.devices} is not between 0 and {MAX_DEVICES}")
    elif share and not message.devices:
        findings.add(i, "gpu.devices", f"must be at least 1 when {share} is set")
    if share == "memory_mib":
        if not 1 <= message.memory_mib <= MAX_GPU_MEMORY_MIB:
            problem = f"{message.memory_mib} is not between 1 and {MAX_GPU_MEMORY_MIB}"
            findings.add(i, "gpu.memory_mib", problem)
        return GpuRequest(message.devices, 0, message.memory_mib)
    if share == "portion_milli":
        if not 1 <= message.portion_milli <= WHOLE_GPU:
            findings.add(i, "gpu.portion_milli", f"{message.portion_milli} is not between 1 and {WHOLE_GPU}")
        return GpuRequest(message.devices, message.portion_milli)
    return GpuRequest(message.devices)
