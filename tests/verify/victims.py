"""Who may be evicted at all, and by whom."""

from collections.abc import Iterator

from tenure.v1 import snapshot_pb2

from tests.verify.world import World

STALE_GANG_EVICTION = "stalegangeviction"
"""Evicts what is broken anyway, for nobody's benefit; preemptibility does not protect from it."""

LEGACY_NON_PREEMPTIBLE_PRIORITY = 100


def victim_violations(world: World) -> Iterator[str]:
    """Non-preemptible victims, and victims that the action has no right to."""
    for group, evict in world.evictions:
        victim = world.group_of(evict.pod)
        if group.action == STALE_GANG_EVICTION:
            continue
        if not is_preemptible(victim):
            yield f"victim: {group.action} evicts pod {evict.pod} of non-preemptible pod group {victim.uid}"
        beneficiary = world.pod_groups.get(group.beneficiary)
        if beneficiary is not None:
            yield from _rights(group.action, beneficiary, victim, evict.pod)


def _rights(
    action: str, beneficiary: snapshot_pb2.PodGroup, victim: snapshot_pb2.PodGroup, pod: str
) -> Iterator[str]:
    same_queue = victim.queue == beneficiary.queue
    if action == "reclaim" and same_queue:
        yield f"victim: reclaim evicts pod {pod} of its own queue {victim.queue}"
    if action == "preempt" and not same_queue:
        yield f"victim: preempt evicts pod {pod} of another queue, {victim.queue}"
    if action == "preempt" and victim.priority >= beneficiary.priority:
        yield (
            f"victim: preempt evicts pod {pod} of priority {victim.priority} for {beneficiary.uid} "
            f"of priority {beneficiary.priority}"
        )


def is_preemptible(group: snapshot_pb2.PodGroup) -> bool:
    """An explicit value decides; without one, priorities below 100 are preemptible."""
    if group.preemptibility == snapshot_pb2.PREEMPTIBILITY_UNSPECIFIED:
        return group.priority < LEGACY_NON_PREEMPTIBLE_PRIORITY
    return group.preemptibility == snapshot_pb2.PREEMPTIBILITY_PREEMPTIBLE
