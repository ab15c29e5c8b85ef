"""Pods of a topology constraint are in one domain of its required level."""

from collections.abc import Iterator

from tenure.v1 import snapshot_pb2

from tests.checker.rules.gangs import sub_group_of
from tests.checker.snapshot_index import OCCUPYING, PodPlacement, SnapshotIndex


def topology_violations(world: SnapshotIndex) -> Iterator[str]:
    """Check each pod group and subgroup that gains a pod, unless it was in several domains before."""
    levels = {each.name: list(each.levels) for each in world.snapshot.topologies}
    placed = {stay.pod for stay in (*world.binds, *world.reserves)}
    for group in world.snapshot.pod_groups:
        for name, constraint in _constraints(group):
            pods = [pod for pod in world.members[group.uid] if not name or name in _ancestors(group, pod)]
            if not (constraint.required_level and placed.intersection([pod.uid for pod in pods])):
                continue
            keys = levels.get(constraint.topology, [])
            keys = (
                keys[: keys.index(constraint.required_level) + 1] if constraint.required_level in keys else []
            )
            before = {_domain(world, keys, pod.node) for pod in pods if pod.status in OCCUPYING}
            after = {_domain(world, keys, stay.node) for stay in _after(world, pods)}
            if len(before) <= 1 < len(after):
                yield f"topology: pod group {group.uid} {name} is in {len(after)} domains of {keys[-1:]}"


def _constraints(
    group: snapshot_pb2.PodGroup,
) -> Iterator[tuple[str, snapshot_pb2.TopologyConstraint]]:
    if group.HasField("topology_constraint"):
        yield "", group.topology_constraint
    for part in group.sub_groups:
        if part.HasField("topology_constraint"):
            yield part.name.lower(), part.topology_constraint


def _ancestors(group: snapshot_pb2.PodGroup, pod: snapshot_pb2.Pod) -> set[str]:
    """The subgroup of a pod, and those around it."""
    parents = {part.name.lower(): part.parent.lower() for part in group.sub_groups}
    found, name = set[str](), sub_group_of(pod)
    while name and name not in found:
        found.add(name)
        name = parents.get(name, "")
    return found


def _after(world: SnapshotIndex, pods: list[snapshot_pb2.Pod]) -> Iterator[PodPlacement]:
    own = {pod.uid for pod in pods}
    yield from (stay for stay in (*world.binds, *world.reserves) if stay.pod in own)
    for pod in pods:
        if pod.status in OCCUPYING and pod.uid not in world.victims:
            yield PodPlacement(pod.uid, pod.node, ())


def _domain(world: SnapshotIndex, keys: list[str], node: str) -> tuple[str | None, ...]:
    return tuple(world.nodes[node].labels.get(key) for key in keys)
