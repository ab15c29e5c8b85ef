"""Stored times change exactly when something happened: a pod group starts, or loses pods."""

from collections.abc import Iterator

from tests.verify.victims import STALE_GANG_EVICTION
from tests.verify.world import World


def patch_violations(world: World) -> Iterator[str]:
    """Starts and evictions without a patch, and patches without a start or eviction."""
    active = {world.pods[uid].pod_group for uid in world.active_before}
    bound = {world.pods[stay.pod].pod_group for stay in world.binds}
    evicted = {
        world.pods[eviction.evict.pod].pod_group
        for eviction in world.evictions
        if eviction.group.action != STALE_GANG_EVICTION
    }
    yield from _compare(world, "last_start_time", bound - active)
    yield from _compare(world, "last_eviction_time", evicted)


def _compare(world: World, change: str, wanted: set[str]) -> Iterator[str]:
    patches = [
        step.patch
        for group in world.response.groups
        for step in group.decisions
        if step.WhichOneof("step") == "patch"
    ]
    patched = {patch.pod_group for patch in patches if patch.WhichOneof("change") == change}
    for uid in sorted(wanted - patched):
        yield f"patch: pod group {uid} should be given a {change}, but is not"
    for uid in sorted(patched - wanted):
        yield f"patch: pod group {uid} is given a {change} without cause"
