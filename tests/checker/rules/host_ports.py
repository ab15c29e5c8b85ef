"""No two pods of a node use one host port, when bindings are applied and in the end."""

from collections.abc import Iterator

from tenure.v1 import snapshot_pb2

from tests.checker.neighbours import Time, may_block, neighbours
from tests.checker.snapshot_index import PodPlacement, SnapshotIndex


def port_violations(world: SnapshotIndex) -> Iterator[str]:
    """Check bound and reserved pods."""
    if not any(shape.host_ports for shape in world.snapshot.shapes):
        return
    everybody = neighbours(world)
    placed: list[tuple[PodPlacement, Time]] = [(stay, "end") for stay in (*world.binds, *world.reserves)]
    placed += [(stay, "now") for stay in world.binds]
    for stay, time in placed:
        for other in everybody:
            if other.node != stay.node or not may_block(world, stay, other, time):
                continue
            for port in world.shape_of(stay.pod).host_ports:
                if any(_is_same(port, each) for each in other.host_ports):
                    yield f"host port: pod {stay.pod} on node {stay.node} {time}: {port.port} is in use"


def _is_same(one: snapshot_pb2.HostPort, other: snapshot_pb2.HostPort) -> bool:
    if (one.port, one.protocol or "TCP") != (other.port, other.protocol or "TCP"):
        return False
    return one.ip == other.ip or not (_is_address(one.ip) and _is_address(other.ip))


def _is_address(ip: str) -> bool:
    """Whether it is one address, not all of them."""
    return ip not in ("", "0.0.0.0", "::")
