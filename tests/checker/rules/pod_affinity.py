"""Placements satisfy pod affinity, and pod anti-affinity in both directions, at once and in the end."""

from collections.abc import Collection, Iterator, Sequence

from tenure.v1 import snapshot_pb2

from tests.checker.neighbours import PROVIDES, Neighbour, Standing, Time, may_block, neighbours, selects
from tests.checker.snapshot_index import PodPlacement, SnapshotIndex

Term = snapshot_pb2.PodAffinityTerm


def affinity_violations(world: SnapshotIndex) -> Iterator[str]:
    """Check bound and reserved pods against what is there in the end, and bound ones against the present.

    A pod keeps away pods of its own namespace only (R3.63).
    """
    everybody = neighbours(world)
    if not (_has_terms(world) or any(each.avoids for each in everybody)):
        return
    evicted = {step.evict.pod for step in world.evictions}
    end = [each for each in everybody if each.standing in PROVIDES["end"]]
    for stay in (*world.binds, *world.reserves):
        yield from _avoided(world, stay, everybody, "end")
        if not _is_near_all(world, stay, end, is_first_beside=("bound", "reserved")):
            yield f"affinity: pod {stay.pod} on node {stay.node} is far from a pod it must be near to"
    yield from _stuck(world, end)
    for stay in world.binds:
        yield from _avoided(world, stay, everybody, "now")
        # What a pod that is bound needs may be evicted by a later decision group.
        near = [each for each in everybody if each.standing in PROVIDES["now"] or each.pod in evicted]
        if not _is_near_all(world, stay, near, is_first_beside=("bound",)):
            yield f"affinity: pod {stay.pod} on node {stay.node} is bound far from a pod it must be near to"
    yield from _deserted(world, everybody)
    yield from _delayed(world, everybody)


def _has_terms(world: SnapshotIndex) -> bool:
    return any(shape.pod_affinity or shape.pod_anti_affinity for shape in world.snapshot.shapes)


def _avoided(
    world: SnapshotIndex, stay: PodPlacement, everybody: Sequence[Neighbour], time: Time
) -> Iterator[str]:
    where = f"pod {stay.pod} on node {stay.node}"
    own, namespace = world.shape_of(stay.pod).pod_anti_affinity, world.group_of(stay.pod).namespace
    for other in everybody:
        if not may_block(world, stay, other, time):
            continue
        for term in own:
            if _is_near(world, term, namespace, stay.node, other):
                yield f"affinity: {where} avoids a pod that is near"
        for term in other.avoids:
            is_seen = other.namespace == namespace and _in_scope(term, namespace, namespace)
            labels = world.pods[stay.pod].labels
            if is_seen and selects(term, labels) and _is_same(world, term, stay.node, other.node):
                yield f"affinity: {where} is avoided by {other.pod or 'a pod of its node'}"


def _is_near_all(
    world: SnapshotIndex,
    stay: PodPlacement,
    present: Sequence[Neighbour],
    is_first_beside: Sequence[Standing],
) -> bool:
    """Whether it is near a pod for each of its terms, or selects itself and was there before all others.

    Those of these standings may have come after it.
    """
    terms, namespace = world.shape_of(stay.pod).pod_affinity, world.group_of(stay.pod).namespace
    if any(term.topology_key not in world.nodes[stay.node].labels for term in terms):
        return False
    others = [each for each in present if each.pod != stay.pod]
    wanted = [each for each in others if _selects_all(terms, namespace, each.namespace, each.labels)]
    is_first = all(each.standing in is_first_beside for each in wanted)
    if is_first and _selects_all(terms, namespace, namespace, world.pods[stay.pod].labels):
        return True
    return all(any(_is_same(world, term, stay.node, each.node) for each in wanted) for term in terms)


def _stuck(world: SnapshotIndex, end: Sequence[Neighbour]) -> Iterator[str]:
    """Reserved pods that wait for each other: there must be an order in which they can start."""
    waiting = [stay for stay in world.reserves if world.shape_of(stay.pod).pod_affinity]
    names = {stay.pod for stay in waiting}
    present = [each for each in end if each.standing != "reserved" or each.pod not in names]
    reserved = {each.pod: each for each in end if each.standing == "reserved"}
    while waiting:
        able = [stay for stay in waiting if _is_near_all(world, stay, present, is_first_beside=())]
        if not able:
            for stay in waiting:
                yield f"affinity: pod {stay.pod} on node {stay.node} waits for pods that wait for it"
            return
        waiting.remove(able[0])
        present.append(reserved[able[0].pod])


def _deserted(world: SnapshotIndex, everybody: Sequence[Neighbour]) -> Iterator[str]:
    """Pods that stay and required a pod that a decision moves away. No pod provides for itself.

    Each decision is judged by itself: what a later one evicts, and does not move, was near until then.
    """
    moved = {stay.pod for stay in world.reserves if stay.pod in world.victims}
    if not moved:
        return
    turns = {group.id: turn for turn, group in enumerate(world.response.groups)}
    turn = {step.evict.pod: turns[step.group.id] for step in world.evictions}
    left = [each for each in everybody if each.pod in turn and each.standing == "leaves"]
    present = [each for each in everybody if each.standing in PROVIDES["end"]]
    for pod in present:
        if pod.standing != "stays" or not pod.pod:
            continue
        terms = world.shape_of(pod.pod).pod_affinity
        chosen = [e for e in left if _selects_all(terms, pod.namespace, e.namespace, e.labels)]
        others = [each for each in present if each.pod != pod.pod]
        near = [e for e in others if _selects_all(terms, pod.namespace, e.namespace, e.labels)]
        for term in terms:
            gone = [each for each in chosen if _is_same(world, term, pod.node, each.node)]
            last = max([turn[each.pod] for each in gone if each.pod in moved], default=len(turns))
            lost = [each for each in gone if each.pod in moved and turn[each.pod] == last]
            is_near = any(_is_same(world, term, pod.node, each.node) for each in near)
            if lost and not is_near and all(turn[each.pod] <= last for each in gone):
                yield f"affinity: pod {lost[0].pod} moves away from {pod.pod}, which requires it"


def _delayed(world: SnapshotIndex, everybody: Sequence[Neighbour]) -> Iterator[str]:
    """Reservations of earlier decisions that come to need others to start first (R3.74).

    Decisions that evict are judged: what others bind or reserve is there before and after.
    """
    evictions = [step for step in world.evictions if step.evict.preemptor]
    victims, groups = ({step.evict.pod for step in evictions}, {step.group.id for step in evictions})
    steps = [s for group in world.response.groups if group.id in groups for s in group.decisions]
    placed = {s.bind.pod or s.reserve.pod for s in steps if s.WhichOneof("kind") in ("bind", "reserve")}
    running = [each for each in everybody if each.standing in PROVIDES["now"]]
    promised = [each for each in everybody if each.standing == "reserved"]
    others, promised_others = ([e for e in each if e.pod not in placed] for each in (running, promised))
    leaving = [each for each in everybody if each.standing == "leaves" and each.pod in victims]
    for stay in world.reserves if leaving else ():
        if stay.pod not in world.in_flight or not world.shape_of(stay.pod).pod_affinity:
            continue
        needed_none = _needs_none(world, stay, [*others, *leaving], promised_others)
        if needed_none and not _needs_none(world, stay, running, promised):
            yield f"affinity: pod {stay.pod} on node {stay.node} comes to wait for a pod that has not started"


def _needs_none(
    world: SnapshotIndex, stay: PodPlacement, running: Sequence[Neighbour], promised: Sequence[Neighbour]
) -> bool:
    """Whether it can start beside those that run, also if any one with a reservation starts before it."""
    return _is_near_all(world, stay, running, ()) and all(
        _is_near_all(world, stay, [*running, one], ()) for one in promised if one.pod != stay.pod
    )


def _selects_all(terms: Collection[Term], own: str, namespace: str, labels: object) -> bool:
    return all(_in_scope(term, own, namespace) and selects(term, labels) for term in terms)  # type: ignore[arg-type]


def _is_near(world: SnapshotIndex, term: Term, namespace: str, node: str, other: Neighbour) -> bool:
    is_selected = _in_scope(term, namespace, other.namespace) and selects(term, other.labels)
    return is_selected and _is_same(world, term, node, other.node)


def _in_scope(term: Term, own: str, namespace: str) -> bool:
    return term.all_namespaces or namespace in (term.namespaces or (own,))


def _is_same(world: SnapshotIndex, term: Term, node: str, other: str) -> bool:
    """Whether two nodes are in one domain of the term."""
    value = world.nodes[node].labels.get(term.topology_key)
    return value is not None and world.nodes[other].labels.get(term.topology_key) == value
