"""Pods are near those they must be near to, and away from those they avoid or are avoided by."""

from collections.abc import Iterable, Iterator, Mapping

from tenure.v1 import snapshot_pb2

from tests.verify.world import Stay, World

Term = snapshot_pb2.PodAffinityTerm


def affinity_violations(world: World) -> Iterator[str]:
    """Terminating pods count, promised ones too: a pod that moves is in two places."""
    new = {stay.pod for stay in (*world.binds, *world.holds)}
    everybody = [*world.stays_now(), *world.holds]
    for stay in (*world.binds, *world.holds):
        others = [other for other in everybody if other.pod != stay.pod and _is_kin(world, stay, other)]
        for term in world.shape_of(stay.pod).pod_anti_affinity:
            if any(_selects(world, term, other.pod) for other in _near(world, term, stay, others)):
                yield f"affinity: pod {stay.pod} on node {stay.node} avoids a pod that is near"
        for other in others:
            for term in world.shape_of(other.pod).pod_anti_affinity:
                if _selects(world, term, stay.pod) and list(_near(world, term, stay, [other])):
                    yield f"affinity: pod {stay.pod} on node {stay.node} is avoided by {other.pod}"
        if not _is_content(world, stay, others, new):
            yield f"affinity: pod {stay.pod} on node {stay.node} is far from a pod it must be near to"


def _is_content(world: World, stay: Stay, others: list[Stay], new: set[str]) -> bool:
    terms = world.shape_of(stay.pod).pod_affinity
    wanted = [other for other in others if all(_selects(world, term, other.pod) for term in terms)]
    if not all(_value(world, term, stay) is not None for term in terms):
        return False
    if all(list(_near(world, term, stay, wanted)) for term in terms):
        return True
    wants_itself = all(_selects(world, term, stay.pod) for term in terms)
    return wants_itself and all(other.pod in new for other in wanted)


def _near(world: World, term: Term, stay: Stay, others: Iterable[Stay]) -> Iterator[Stay]:
    value = _value(world, term, stay)
    return (other for other in others if value is not None and _value(world, term, other) == value)


def _value(world: World, term: Term, stay: Stay) -> str | None:
    labels: Mapping[str, str] = world.nodes[stay.node].labels
    return labels.get(term.topology_key)


def _selects(world: World, term: Term, pod: str) -> bool:
    labels = world.pods[pod].labels
    return all(labels.get(key) == value for key, value in term.match_labels.items())


def _is_kin(world: World, stay: Stay, other: Stay) -> bool:
    return world.group_of(stay.pod).namespace == world.group_of(other.pod).namespace
