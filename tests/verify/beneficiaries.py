"""Every eviction is for somebody who then has the room, and moved pods have a place to go."""

from collections.abc import Iterator

from tenure.v1 import decision_pb2, snapshot_pb2

from tests.verify.losses import STALE_GANG_EVICTION
from tests.verify.world import World


def beneficiary_violations(world: World) -> Iterator[str]:
    """Looks at each group of decisions by itself."""
    for group in world.response.groups:
        if group.action != STALE_GANG_EVICTION:
            for problem in _group_problems(world, group):
                yield f"beneficiary: group {group.id} of {group.action}: {problem}"


def _group_problems(world: World, group: decision_pb2.DecisionGroup) -> Iterator[str]:
    steps = [(step.WhichOneof("step"), step) for step in group.decisions]
    evictions = [step.evict for kind, step in steps if kind == "evict"]
    held = {step.hold.pod for kind, step in steps if kind == "hold"}
    placed = (held | {step.bind.pod for kind, step in steps if kind == "bind"}) & world.pods.keys()
    own = {pod for pod in placed if world.pods[pod].pod_group == group.beneficiary}
    if evictions and not own:
        yield f"{len(evictions)} pods are evicted, but {group.beneficiary} gets no room"
    for evict in evictions:
        if evict.beneficiary != group.beneficiary:
            yield f"pod {evict.pod} is evicted for {evict.beneficiary}, not for {group.beneficiary}"
        if evict.moves != (evict.pod in held):
            yield f"pod {evict.pod} is evicted with moves={evict.moves}, but its hold says otherwise"
        if group.action == "consolidation" and not evict.moves:
            yield f"pod {evict.pod} is evicted and not moved"
    makes_way = {world.pods[evict.pod].pod_group for evict in evictions if evict.pod in world.pods}
    makes_way |= {hold.pod_group for hold in _promises(world, group.in_flight_group)}
    for pod in sorted(pod for pod in placed - own if world.pods[pod].pod_group not in makes_way):
        yield f"pod {pod} is placed, but belongs to another pod group"


def _promises(world: World, group: str) -> Iterator[snapshot_pb2.InFlightStep]:
    """What the group in flight of this id promised."""
    return (hold for other in world.asked.in_flight_groups if other.id == group for hold in other.holds)
