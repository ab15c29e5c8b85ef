"""What a pod is to others, by what becomes of it: the table of R3.70 to R3.74 once more, for the checker.

Two times matter: when bindings are applied, and the end, when victims have left and reserved pods run.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from tenure.v1 import snapshot_pb2

from tests.checker.snapshot_index import OCCUPYING, ON_NODE, PodPlacement, SnapshotIndex

Standing = Literal["stays", "bound", "reserved", "leaves", "terminates"]
Time = Literal["now", "end"]

PROVIDES: Mapping[Time, Sequence[Standing]] = {
    "now": ("stays", "bound"),
    "end": ("stays", "bound", "reserved"),
}
"""Only who will be there can be needed."""
BLOCKS: Mapping[Time, Sequence[Standing]] = {
    "now": ("stays", "bound", "reserved", "leaves", "terminates"),
    "end": ("stays", "bound", "reserved", "terminates"),
}
"""Victims of decisions leave before anything starts in their place. Others may terminate for ever."""
COUNTS: Mapping[Time, Sequence[Standing]] = {
    "now": ("stays", "bound", "reserved"),
    "end": ("stays", "bound", "reserved"),
}


class Neighbour(NamedTuple):
    """A pod on a node, or reserved there. A relocated victim is two of them."""

    pod: str
    """Empty: one that is no pod of the snapshot, but listed with its node."""
    node: str
    standing: Standing
    namespace: str
    labels: Mapping[str, str]
    avoids: Sequence[snapshot_pb2.PodAffinityTerm]
    """Its required anti-affinity."""
    host_ports: Sequence[snapshot_pb2.HostPort]


def may_block(world: SnapshotIndex, stay: PodPlacement, other: Neighbour, time: Time) -> bool:
    """Whether it can keep the pod away; a reservation that is kept waits for what terminates (R3.72)."""
    if other.pod == stay.pod or (stay.pod in world.in_flight and other.standing == "terminates"):
        return False
    return other.standing in BLOCKS[time]


def neighbours(world: SnapshotIndex) -> list[Neighbour]:
    """All of them, at whatever time."""
    return [*_of_pods(world), *_of_nodes(world)]


def _of_pods(world: SnapshotIndex) -> Iterator[Neighbour]:
    for pod in world.snapshot.pods:
        if pod.status in ON_NODE and pod.node in world.nodes:
            yield _neighbour(world, pod.uid, pod.node, _standing(world, pod))
    for stay in world.binds:
        yield _neighbour(world, stay.pod, stay.node, "bound")
    for stay in world.reserves:
        yield _neighbour(world, stay.pod, stay.node, "reserved")


def _standing(world: SnapshotIndex, pod: snapshot_pb2.Pod) -> Standing:
    if pod.uid in world.victims or pod.uid in world.evicted_in_flight:
        return "leaves"
    return "stays" if pod.status in OCCUPYING else "terminates"


def _neighbour(world: SnapshotIndex, pod: str, node: str, standing: Standing) -> Neighbour:
    shape, labels = world.shape_of(pod), world.pods[pod].labels
    namespace = world.group_of(pod).namespace
    return Neighbour(pod, node, standing, namespace, labels, shape.pod_anti_affinity, shape.host_ports)


def _of_nodes(world: SnapshotIndex) -> Iterator[Neighbour]:
    for node in world.snapshot.nodes:
        for each in node.other_pods:
            yield Neighbour(
                "",
                node.name,
                "terminates" if each.terminating else "stays",
                each.namespace,
                each.labels,
                each.pod_anti_affinity,
                each.host_ports,
            )


def selects(term: object, labels: Mapping[str, str]) -> bool:
    """Whether a term or a topology spread selects labels."""
    wanted: Mapping[str, str] = term.match_labels  # type: ignore[attr-defined]
    expressions = term.match_expressions  # type: ignore[attr-defined]
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _matches(each, labels.get(each.key)) for each in expressions
    )


def _matches(requirement: snapshot_pb2.NodeSelectorRequirement, value: str | None) -> bool:
    match requirement.operator:
        case snapshot_pb2.SELECTOR_OPERATOR_IN:
            return value in requirement.values
        case snapshot_pb2.SELECTOR_OPERATOR_NOT_IN:
            return value not in requirement.values
        case snapshot_pb2.SELECTOR_OPERATOR_EXISTS:
            return value is not None
    return value is None
