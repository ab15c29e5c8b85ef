"""Reserved pods keep their topology spread in the end, and bound ones when they begin (R3.73)."""

from collections import Counter
from collections.abc import Iterator, Sequence

from tenure.v1 import snapshot_pb2

from tests.checker.neighbours import COUNTS, Neighbour, neighbours, selects
from tests.checker.rules.constraints import selects_node, untolerated
from tests.checker.snapshot_index import PodPlacement, SnapshotIndex

Spread = snapshot_pb2.TopologySpread


def spread_violations(world: SnapshotIndex) -> Iterator[str]:
    """Check them. Of a bound pod, the least and the most that can have counted when it was placed."""
    if not any(shape.topology_spread for shape in world.snapshot.shapes):
        return
    everybody = neighbours(world)
    end = [each for each in everybody if each.standing in COUNTS["end"]]
    for stay in world.reserves:
        for spread in world.shape_of(stay.pod).topology_spread:
            yield from _uneven(world, stay, spread, end, end)
    surely = [each for each in everybody if each.standing == "stays"]
    perhaps = [each for each in everybody if each.standing != "terminates"]
    for stay in world.binds:
        for spread in world.shape_of(stay.pod).topology_spread:
            yield from _uneven(world, stay, spread, surely, perhaps)


def _uneven(
    world: SnapshotIndex,
    stay: PodPlacement,
    spread: Spread,
    least: Sequence[Neighbour],
    most: Sequence[Neighbour],
) -> Iterator[str]:
    """Whether the pod exceeds the spread with `least` in its own domain, and `most` in the others."""
    domains = _domains(world, stay.pod, spread)
    own = domains.get(stay.node)
    where = f"spread: pod {stay.pod} on node {stay.node}"
    if own is None:
        yield f"{where} is in no domain of {spread.topology_key}"
        return
    namespace = world.group_of(stay.pod).namespace

    def count(present: Sequence[Neighbour]) -> Counter[str]:
        found = Counter(dict.fromkeys(domains.values(), 0))
        for each in present:
            is_other = each.pod != stay.pod or not each.pod
            if is_other and each.node in domains and _counts(spread, namespace, each):
                found[domains[each.node]] += 1
        return found

    here, there = count(least)[own], count(most)
    here += selects(spread, world.pods[stay.pod].labels) and _has_labels(spread)
    there[own] = max(here, there[own])
    smallest = min(there.values()) if len(there) >= spread.min_domains else 0
    if here - smallest > spread.max_skew:
        yield f"{where}: {here} pods in {own}, {smallest} in another domain of {spread.topology_key}"


def _counts(spread: Spread, namespace: str, other: Neighbour) -> bool:
    return other.namespace == namespace and _has_labels(spread) and selects(spread, other.labels)


def _has_labels(spread: Spread) -> bool:
    """Without a selector no pods are counted."""
    return bool(spread.match_labels or spread.match_expressions)


def _domains(world: SnapshotIndex, pod: str, spread: Spread) -> dict[str, str]:
    """Domains by node. A node counts if it has the keys of all spreads of the pod, which selects it."""
    shape = world.shape_of(pod)
    keys = [each.topology_key for each in shape.topology_spread]
    found = dict[str, str]()
    for node in world.snapshot.nodes:
        if any(key not in node.labels for key in keys):
            continue
        if not (spread.counts_unselected_nodes or selects_node(shape, node)):
            continue
        if spread.omits_tainted_nodes and untolerated(shape, node):
            continue
        found[node.name] = node.labels[spread.topology_key]
    return found
