"""Every legal way to start one pod group at the cost of others, by exhaustion, on messages alone.

The pod group has a higher priority than all that run in its queue. A way is a set of victims and a node for
each of its pods. Victims of a pod group are its surplus from the end, or all of it. That victims may return
elsewhere is left out: it seldom makes anything legal that is not without them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from tenure.v1 import decision_pb2, snapshot_pb2
from tenure.v1.decide_pb2 import DecideResponse

from tests.checker.rules.capacity import capacity_violations
from tests.checker.rules.claims import claim_violations
from tests.checker.rules.constraints import constraint_violations
from tests.checker.rules.host_ports import port_violations
from tests.checker.rules.pod_affinity import affinity_violations
from tests.checker.rules.pod_spread import spread_violations
from tests.checker.rules.topology import topology_violations
from tests.checker.snapshot_index import SnapshotIndex

RULES = (
    capacity_violations,
    constraint_violations,
    port_violations,
    affinity_violations,
    spread_violations,
    claim_violations,
    topology_violations,
)
Way = tuple[tuple[str, ...], tuple[str, ...]]
"""Victims, and a node for each pod."""


def legal_starts(snapshot: snapshot_pb2.ClusterSnapshot, pods: Sequence[snapshot_pb2.Pod]) -> Iterator[Way]:
    """Ways to place all these pods, those with fewer victims first."""
    for victims in _victim_sets(snapshot, pods[0].pod_group):
        for nodes in _placements(snapshot, pods, victims):
            if _is_legal(snapshot, pods, victims, nodes):
                yield victims, nodes


def _victim_sets(snapshot: snapshot_pb2.ClusterSnapshot, own: str) -> list[tuple[str, ...]]:
    options = list[list[tuple[str, ...]]]()
    for group in snapshot.pod_groups:
        running = [
            pod.uid
            for pod in snapshot.pods
            if pod.pod_group == group.uid and pod.status == snapshot_pb2.POD_STATUS_RUNNING
        ]
        if group.uid == own or not running:
            continue
        surplus = max(0, len(running) - group.min_member)
        choices = [tuple(running[len(running) - count :]) for count in range(surplus + 1)]
        options.append([*choices, *([tuple(running)] if group.min_member else [])])
    sets = {tuple(pod for part in chosen for pod in part) for chosen in product(*options)}
    return sorted(sets, key=lambda each: (len(each), each))


def _placements(
    snapshot: snapshot_pb2.ClusterSnapshot, pods: Sequence[snapshot_pb2.Pod], victims: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Nodes for the pods, as far as GPUs and pod slots permit."""
    shapes = {shape.id: shape for shape in snapshot.shapes}
    free = {node.name: [node.allocatable.gpu_milli // 1000, node.allocatable.pods] for node in snapshot.nodes}
    for pod in snapshot.pods:
        if pod.status == snapshot_pb2.POD_STATUS_RUNNING and pod.uid not in victims:
            free[pod.node][0] -= shapes[pod.shape].gpu.devices
            free[pod.node][1] -= 1
    yield from _place([shapes[pod.shape].gpu.devices for pod in pods], free, ())


def _place(
    gpus: Sequence[int], free: Mapping[str, list[int]], chosen: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    if len(chosen) == len(gpus):
        yield chosen
        return
    needed = gpus[len(chosen)]
    for name, left in free.items():
        if left[0] >= needed and left[1] >= 1:
            left[0] -= needed
            left[1] -= 1
            yield from _place(gpus, free, (*chosen, name))
            left[0] += needed
            left[1] += 1


def _is_legal(
    snapshot: snapshot_pb2.ClusterSnapshot,
    pods: Sequence[snapshot_pb2.Pod],
    victims: Sequence[str],
    nodes: Sequence[str],
) -> bool:
    group = decision_pb2.DecisionGroup(id="way", action="preempt", beneficiary=pods[0].pod_group)
    where = {pod.uid: pod.node for pod in snapshot.pods}
    for victim in victims:
        group.decisions.add().evict.CopyFrom(
            decision_pb2.Evict(pod=victim, node=where[victim], preemptor=pods[0].pod_group)
        )
    for pod, node in zip(pods, nodes, strict=True):
        group.decisions.add().reserve.CopyFrom(
            decision_pb2.Reserve(pod=pod.uid, node=node, pod_group=pod.pod_group)
        )
    world = SnapshotIndex.of(snapshot, DecideResponse(groups=[group]))
    return not any(next(iter(rule(world)), None) for rule in RULES)
