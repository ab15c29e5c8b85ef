"""Resource amounts: from messages to vectors over one list of names."""

from collections.abc import Mapping
from typing import Final

from tenure.server.codec.checks import MISSING, amount
from tenure.server.codec.limits import MAX_AMOUNT
from tenure.server.codec.violations import Findings, shown
from tenure.solver.model.resources import FIXED_SLOTS, Vector, device_slot
from tenure.v1.resources_pb2 import Resources
from tenure.v1.snapshot_pb2 import ClusterSnapshot

_OWN_FIELD: Final = dict(zip(FIXED_SLOTS, ("cpu_milli", "memory_bytes", "gpu_milli", "pods"), strict=True))


def resource_names(snapshot: ClusterSnapshot) -> tuple[str, ...]:
    """The slots of every vector: the fixed ones, then all others in the snapshot by name."""
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
    for claim in snapshot.device_claims:
        classes.update(request.device_class for request in claim.requests)
    extended.update(device_slot(name) for name in classes if name)
    return (*FIXED_SLOTS, *sorted(extended.difference(FIXED_SLOTS)))


def decode_vector(
    message: Resources, slots: Mapping[str, int], findings: Findings, index: int, field: str
) -> Vector:
    """One amount per slot; `slots` gives the position of each resource name."""
    vector = [message.cpu_milli, message.memory_bytes, message.gpu_milli, message.pods]
    for slot, value in enumerate(vector):
        if not 0 <= value <= MAX_AMOUNT:  # rarely so: paths are put together for what is wrong alone
            amount(value, findings, index, f"{field}.{_OWN_FIELD[FIXED_SLOTS[slot]]}")
    vector += [0] * (len(slots) - len(vector))
    for name, value in sorted(message.extended.items()) if message.extended else ():
        path = f"{field}.extended[{shown(name)}]"
        if not name:
            findings.add(index, path, f"name {MISSING}")
        elif name in _OWN_FIELD:
            findings.add(index, path, f"has a field of its own: use {_OWN_FIELD[name]}")
        else:
            vector[slots[name]] = amount(value, findings, index, path)
    return tuple(vector)
