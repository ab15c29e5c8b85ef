"""The capacity of nodes and devices is not exceeded, neither now nor after the victims have terminated."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction

from tenure.v1 import snapshot_pb2

from tests.checker.amounts import WHOLE_MILLI, device_milli, is_shared, offered_resources, requested_resources
from tests.checker.rules.claims import claimed_devices
from tests.checker.snapshot_index import PodPlacement, SnapshotIndex


def capacity_violations(world: SnapshotIndex) -> Iterator[str]:
    """Check bound pods beside all present pods, and reservations after terminating pods have released."""
    bound_to = {stay.node for stay in world.binds}
    yield from _check(world, "now", bound_to, world.present_now())
    held_on = {stay.node for stay in world.reserves}
    yield from _check(world, "after the evictions", bound_to | held_on, world.present_later())


def _check(
    world: SnapshotIndex, when: str, gaining: set[str], stays: Iterable[PodPlacement]
) -> Iterator[str]:
    """Check only nodes that gain pods; earlier overcommitment is not a violation of the response."""
    by_node: dict[str, list[PodPlacement]] = defaultdict(list)
    for stay in stays:
        if stay.node in gaining:
            by_node[stay.node].append(stay)
    for name in sorted(by_node):
        for problem in _node_problems(world, world.nodes[name], by_node[name]):
            yield f"capacity: node {name} {when}: {problem}"


def _node_problems(world: SnapshotIndex, node: snapshot_pb2.Node, stays: list[PodPlacement]) -> Iterator[str]:
    used: Counter[str] = Counter()
    devices: dict[str, Fraction] = defaultdict(Fraction)
    for stay in stays:
        shape = world.shape_of(stay.pod)
        used.update(requested_resources(shape))
        if is_shared(shape.gpu):
            for group in _devices(stay, shape.gpu.devices):
                devices[group] += device_milli(shape, node)
    used["gpu devices"] += len(devices)
    used.update(claimed_devices(world, node.name, stays))
    capacity = offered_resources(node)
    for resource in sorted(used):
        if used[resource] > capacity[resource]:
            yield f"{used[resource]} {resource} used, {capacity[resource]} there"
    for group in sorted(devices):
        if devices[group] > WHOLE_MILLI:
            yield f"device {group} is given away {float(devices[group]):.0f} milli, 1000 there"


def _devices(stay: PodPlacement, count: int) -> tuple[str, ...]:
    """Return the devices that a sharing pod uses.

    A device that is not named in the snapshot is a separate one.
    """
    return stay.gpu_groups or tuple(f"{stay.pod}#{number}" for number in range(count))
