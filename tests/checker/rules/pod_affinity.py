"""Placements satisfy pod affinity, and pod anti-affinity in both directions."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from tenure.v1 import snapshot_pb2

from tests.checker.snapshot_index import PodPlacement, SnapshotIndex

Term = snapshot_pb2.PodAffinityTerm


def affinity_violations(world: SnapshotIndex) -> Iterator[str]:
    """Check bound and reserved pods against each other and against present pods.

    Terminating and reserved pods count, so a pod that is relocated counts on two nodes. Only pods of the same
    namespace are compared, and only if one of the two has terms.
    """
    new = {stay.pod for stay in (*world.binds, *world.reserves)}
    if not new:
        return
    kin: dict[str, list[PodPlacement]] = defaultdict(list)
    avoiding: dict[str, list[PodPlacement]] = defaultdict(list)
    for stay in (*world.present_now(), *world.reserves):
        namespace = world.group_of(stay.pod).namespace
        kin[namespace].append(stay)
        if world.shape_of(stay.pod).pod_anti_affinity:
            avoiding[namespace].append(stay)
    for stay in (*world.binds, *world.reserves):
        shape, namespace = world.shape_of(stay.pod), world.group_of(stay.pod).namespace
        if shape.pod_anti_affinity or shape.pod_affinity:
            others = [other for other in kin[namespace] if other.pod != stay.pod]
            yield from _own_terms(world, stay, others, new)
        for other in avoiding[namespace]:
            for term in world.shape_of(other.pod).pod_anti_affinity if other.pod != stay.pod else ():
                if _selects(world, term, stay.pod) and list(_near(world, term, stay, [other])):
                    yield f"affinity: pod {stay.pod} on node {stay.node} is avoided by {other.pod}"


def _own_terms(
    world: SnapshotIndex, stay: PodPlacement, others: list[PodPlacement], new: set[str]
) -> Iterator[str]:
    for term in world.shape_of(stay.pod).pod_anti_affinity:
        if any(_selects(world, term, other.pod) for other in _near(world, term, stay, others)):
            yield f"affinity: pod {stay.pod} on node {stay.node} avoids a pod that is near"
    if not _is_satisfied(world, stay, others, new):
        yield f"affinity: pod {stay.pod} on node {stay.node} is far from a pod it must be near to"


def _is_satisfied(
    world: SnapshotIndex, stay: PodPlacement, others: list[PodPlacement], new: set[str]
) -> bool:
    terms = world.shape_of(stay.pod).pod_affinity
    wanted = [other for other in others if all(_selects(world, term, other.pod) for term in terms)]
    if not all(_value(world, term, stay) is not None for term in terms):
        return False
    if all(list(_near(world, term, stay, wanted)) for term in terms):
        return True
    wants_itself = all(_selects(world, term, stay.pod) for term in terms)
    return wants_itself and all(other.pod in new for other in wanted)


def _near(
    world: SnapshotIndex, term: Term, stay: PodPlacement, others: Iterable[PodPlacement]
) -> Iterator[PodPlacement]:
    value = _value(world, term, stay)
    return (other for other in others if value is not None and _value(world, term, other) == value)


def _value(world: SnapshotIndex, term: Term, stay: PodPlacement) -> str | None:
    labels: Mapping[str, str] = world.nodes[stay.node].labels
    return labels.get(term.topology_key)


def _selects(world: SnapshotIndex, term: Term, pod: str) -> bool:
    labels = world.pods[pod].labels
    return all(labels.get(key) == value for key, value in term.match_labels.items())
