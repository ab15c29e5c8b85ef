"""Every eviction has a beneficiary that is placed, and relocated pods have a reservation."""

from collections.abc import Iterator

from tenure.v1 import decision_pb2, snapshot_pb2

from tests.checker.losses import STALE_GANG_EVICTION
from tests.checker.snapshot_index import SnapshotIndex


def beneficiary_violations(world: SnapshotIndex) -> Iterator[str]:
    """Check each decision group separately."""
    for group in world.response.groups:
        if group.action != STALE_GANG_EVICTION:
            for problem in _group_problems(world, group):
                yield f"beneficiary: group {group.id} of {group.action}: {problem}"


def _group_problems(world: SnapshotIndex, group: decision_pb2.DecisionGroup) -> Iterator[str]:
    steps = [(step.WhichOneof("kind"), step) for step in group.decisions]
    evictions = [step.evict for kind, step in steps if kind == "evict"]
    held = {step.reserve.pod for kind, step in steps if kind == "reserve"}
    placed = (held | {step.bind.pod for kind, step in steps if kind == "bind"}) & world.pods.keys()
    own = {pod for pod in placed if world.pods[pod].pod_group == group.beneficiary}
    if evictions and not own:
        yield f"{len(evictions)} pods are evicted, but {group.beneficiary} gets no room"
    for evict in evictions:
        if evict.preemptor != group.beneficiary:
            yield f"pod {evict.pod} is evicted for {evict.preemptor}, not for {group.beneficiary}"
        if evict.relocating != (evict.pod in held):
            yield f"pod {evict.pod} is evicted with moves={evict.relocating}, but its hold says otherwise"
        if group.action == "consolidation" and not evict.relocating:
            yield f"pod {evict.pod} is evicted and not moved"
    makes_way = {world.pods[evict.pod].pod_group for evict in evictions if evict.pod in world.pods}
    makes_way |= {hold.pod_group for hold in _reservations(world, group.fulfills_group_id)}
    for pod in sorted(pod for pod in placed - own if world.pods[pod].pod_group not in makes_way):
        yield f"pod {pod} is placed, but belongs to another pod group"


def _reservations(world: SnapshotIndex, group: str) -> Iterator[snapshot_pb2.InFlightDecision]:
    """Return the reservations of the in-flight group with this id."""
    return (
        hold
        for other in world.taken_up_snapshot.in_flight_groups
        if other.id == group
        for hold in other.reservations
    )
