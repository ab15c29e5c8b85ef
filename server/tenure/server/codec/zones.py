"""NUMA zones of nodes, and what pods take in them: between messages and the model."""

from collections.abc import Iterable, Mapping, Sequence

from tenure.server.codec.checks import MISSING
from tenure.server.codec.limits import MAX_ZONES
from tenure.server.codec.resources import decode_vector
from tenure.server.codec.violations import Findings, shown
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.numa import NumaZone, Zones, ZoneShare
from tenure.solver.model.resources import CPU, FIXED_SLOTS, GPU, MEMORY
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.resources_pb2 import NumaPlacement, Resources


def decode_zones(
    i: int, messages: Sequence[pb.NumaZone], slots: Mapping[str, int], findings: Findings
) -> tuple[NumaZone, ...]:
    """The zones of one node, in their order; `slots` gives the position of each resource name."""
    if len(messages) > MAX_ZONES:
        findings.add(i, "numa_zones", f"are {len(messages)}, more than {MAX_ZONES}")
    zones: list[NumaZone] = []
    for at, message in enumerate(messages):
        field = f"numa_zones[{at}]"
        if not message.id:
            findings.add(i, f"{field}.id", MISSING)
        elif any(message.id == zone.id for zone in zones):
            findings.add(i, f"{field}.id", f"{shown(message.id)} is already a zone of the node")
        allocatable = decode_vector(message.allocatable, slots, findings, i, f"{field}.allocatable")
        available = decode_vector(message.available, slots, findings, i, f"{field}.available")
        zones.append(NumaZone(message.id, allocatable, available if message.HasField("available") else None))
    return tuple(zones)


def decode_placement(
    i: int,
    messages: Sequence[NumaPlacement],
    zones: Sequence[NumaZone],
    slots: Mapping[str, int],
    findings: Findings,
) -> Zones:
    """What a pod takes in the zones of its node; nothing when it names a zone that the node does not have."""
    position = {zone.id: at for at, zone in enumerate(zones)}
    shares = []
    for at, message in enumerate(messages):
        amounts = decode_vector(message.amounts, slots, findings, i, f"numa_placement[{at}].amounts")
        if message.zone in {other.zone for other in messages[:at]}:
            findings.add(i, f"numa_placement[{at}].zone", f"{shown(message.zone)} is named twice")
        taken = tuple((slot, amount) for slot, amount in enumerate(amounts) if amount)
        shares.append(ZoneShare(position.get(message.zone, -1), taken))
    is_known = all(share.zone >= 0 for share in shares)
    return tuple(sorted(shares)) if is_known else ()


def encode_placement(cluster: Cluster, node: int, zones: Zones) -> Iterable[NumaPlacement]:
    """What a pod is expected to take in the zones of the node, the first zone first."""
    for zone, amounts in zones:
        yield NumaPlacement(
            zone=cluster.nodes[node].numa_zones[zone].id,
            amounts=_encode_amounts(dict(amounts), cluster.resource_names),
        )


def _encode_amounts(amounts: Mapping[int, int], names: Sequence[str]) -> Resources:
    fixed = len(FIXED_SLOTS)
    return Resources(
        cpu_milli=amounts.get(CPU, 0),
        memory_bytes=amounts.get(MEMORY, 0),
        gpu_milli=amounts.get(GPU, 0),
        extended={names[slot]: amount for slot, amount in amounts.items() if slot >= fixed},
    )
