"""The capacity of NUMA zones is not exceeded, neither now nor after the victims have terminated."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from tenure.v1 import resources_pb2, snapshot_pb2

from tests.checker.snapshot_index import ON_NODE, PodPlacement, SnapshotIndex


def zone_violations(world: SnapshotIndex) -> Iterator[str]:
    """Check only zones that the response assigns."""
    binds, holds = world.zones_of("bind"), world.zones_of("reserve")
    terminating = [pod for pod in world.snapshot.pods if pod.status == snapshot_pb2.POD_STATUS_RELEASING]
    leaving = [pod for pod in world.snapshot.pods if pod.uid in world.victims] + terminating
    yield from _check(world, "now", _sum(binds), Counter())
    yield from _check(
        world, "after the evictions", _sum([*binds, *holds]), _sum(map(_known_placements, leaving))
    )


def _check(
    world: SnapshotIndex,
    when: str,
    given: Counter[tuple[str, str, str]],
    freed: Counter[tuple[str, str, str]],
) -> Iterator[str]:
    available = _available(world)
    for key in sorted(given):
        left = available[key] + freed[key]
        if given[key] > left:
            node, zone, resource = key
            yield f"zones: {resource} in zone {zone} of node {node} {when}: {given[key]} given, {left} left"


def _available(world: SnapshotIndex) -> Counter[tuple[str, str, str]]:
    there: Counter[tuple[str, str, str]] = Counter()
    known = _sum(_known_placements(pod) for pod in world.snapshot.pods if pod.status in ON_NODE)
    for node in world.snapshot.nodes:
        for zone in node.numa_zones:
            has_available = zone.HasField("available")
            for resource, amount in _amounts(zone.available if has_available else zone.allocatable).items():
                key = (node.name, zone.id, resource)
                there[key] = amount - (0 if has_available else known[key])
    return there


def _known_placements(pod: snapshot_pb2.Pod) -> tuple[PodPlacement, list[resources_pb2.NumaPlacement]]:
    return PodPlacement(pod.uid, pod.node, ()), list(pod.numa_placement)


def _sum(
    placements: Iterable[tuple[PodPlacement, list[resources_pb2.NumaPlacement]]],
) -> Counter[tuple[str, str, str]]:
    total: dict[tuple[str, str, str], int] = defaultdict(int)
    for stay, zones in placements:
        for zone in zones:
            for resource, amount in _amounts(zone.amounts).items():
                total[stay.node, zone.zone, resource] += amount
    return Counter(total)


def _amounts(resources: resources_pb2.Resources) -> dict[str, int]:
    fixed = {"cpu": resources.cpu_milli, "memory": resources.memory_bytes, "gpu": resources.gpu_milli}
    return {name: amount for name, amount in {**fixed, **resources.extended}.items() if amount}
