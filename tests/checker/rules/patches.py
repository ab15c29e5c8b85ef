"""Patches are present exactly when the decisions require them, and have the required values."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from google.protobuf.message import Message
from tenure.v1 import decision_pb2, snapshot_pb2

from tests.checker.losses import guarded_losses
from tests.checker.snapshot_index import SnapshotIndex

Wanted = Mapping[str, object]
"""Required values by the uid of the pod group."""


def patch_violations(world: SnapshotIndex) -> Iterator[str]:
    """Report missing and needless patches, wrong values and contradictory patches."""
    now = world.snapshot.now
    starts, deleted = _starts(world), _with_fate(world, snapshot_pb2.FATE_DELETE)
    evicted = {loss.victim.uid for loss in guarded_losses(world)} - deleted
    requeued = {step.pod_group: step.not_before for step in world.requeues}
    yield from _compare(world, "last_start_time", dict.fromkeys(starts, now))
    yield from _compare(world, "last_eviction_time", dict.fromkeys(evicted, now))
    yield from _compare(world, "requeue_not_before", requeued)
    counts = {uid: world.pod_groups[uid].eviction_count + 1 for uid in evicted}
    yield from _compare(world, "eviction_count", counts)
    yield from _progress_problems(world, evicted)
    yield from _tally_problems(world)
    held = _with_fate(world, snapshot_pb2.FATE_HOLD)
    yield from _compare(world, "held_by", dict.fromkeys(held, snapshot_pb2.HOLD_REASON_EVICTED))
    waits = {uid: waited for uid in starts if (waited := _total_wait(world, world.pod_groups[uid]))}
    yield from _compare(world, "total_eviction_wait", waits)
    yield from _eviction_record_problems(world)


def _with_fate(world: SnapshotIndex, fate: snapshot_pb2.Fate) -> set[str]:
    """Return pod groups of evicted pods with this fate."""
    evictions = (each.evict for group in world.response.groups for each in group.decisions)
    return {world.pods[evict.pod].pod_group for evict in evictions if evict.pod and evict.fate == fate}


def _starts(world: SnapshotIndex) -> set[str]:
    """Return pod groups without active pods for which the response binds pods."""
    active = {world.pods[uid].pod_group for uid in world.active_before}
    return {world.pods[stay.pod].pod_group for stay in world.binds} - active


def _total_wait(world: SnapshotIndex, group: snapshot_pb2.PodGroup) -> int:
    """Return the total wait after evictions in nanoseconds; 0 if this start adds nothing."""
    if not group.HasField("last_eviction_time"):
        return 0
    evicted = group.last_eviction_time.ToNanoseconds()
    if group.HasField("last_start_time") and group.last_start_time.ToNanoseconds() > evicted:
        return 0
    wait = world.snapshot.now.ToNanoseconds() - evicted
    return group.total_eviction_wait.ToNanoseconds() + wait if wait > 0 else 0


def _progress_problems(world: SnapshotIndex, evicted: set[str]) -> Iterator[str]:
    """If any eviction without progress is counted, all are: from one on, or one more than before.

    The response does not show the profile, so it does not show whether they must be counted, either.
    """
    change = "evictions_without_progress"
    patched = _patched_values(world, change)
    if not patched:
        return
    groups = {uid: world.pod_groups[uid] for uid in evicted}
    more = {uid: group.evictions_without_progress + 1 for uid, group in groups.items()}
    for uid, group in groups.items():
        if group.HasField("last_start_time") and set(patched.get(uid, ())) == {1}:
            more[uid] = 1
    yield from _compare(world, change, more)


def _tally_problems(world: SnapshotIndex) -> Iterator[str]:
    """Evictions by cause are counted for pod groups that lose pods, once for each cause of this cycle."""
    patched = _patched_values(world, "evictions")
    losing = {
        world.pods[each.evict.pod].pod_group
        for group in world.response.groups
        for each in group.decisions
        if each.evict.pod
    }
    for uid, values in patched.items():
        before = world.pod_groups[uid].evictions.by_cause
        for value in values:
            assert isinstance(value, snapshot_pb2.EvictionCounts)
            more = {cause: count - before.get(cause, 0) for cause, count in value.by_cause.items()}
            if uid not in losing:
                yield f"patch: evictions of pod group {uid} is written without cause"
            elif set(more.values()) - {0, 1} or 1 not in more.values() or before.keys() - more.keys():
                yield f"patch: evictions of pod group {uid} do not count one more for each cause"


def _compare(world: SnapshotIndex, change: str, wanted: Wanted) -> Iterator[str]:
    patched = _patched_values(world, change)
    for uid in sorted(wanted.keys() - patched.keys()):
        yield f"patch: {change} of pod group {uid} should be written, but is not"
    for uid in sorted(patched.keys() - wanted.keys()):
        yield f"patch: {change} of pod group {uid} is written without cause"
    for uid in sorted(patched.keys() & wanted.keys()):
        right = _plain(wanted[uid])
        for value in patched[uid]:
            if _plain(value) != right:
                yield f"patch: {change} of pod group {uid} is {_plain(value)}, not {right}"


def _plain(value: object) -> object:
    return value.ToNanoseconds() if isinstance(value, Message) else value


def _patches(world: SnapshotIndex) -> Iterator[decision_pb2.Patch]:
    for group in world.response.groups:
        for step in group.decisions:
            if step.WhichOneof("kind") == "patch":
                yield step.patch


def _patched_values(world: SnapshotIndex, change: str) -> Mapping[str, list[object]]:
    """Return the values of one kind of patch by pod group."""
    found: dict[str, list[object]] = defaultdict(list)
    for patch in _patches(world):
        if patch.WhichOneof("change") == change:
            found[patch.pod_group].append(getattr(patch, change))
    return found


def _eviction_record_problems(world: SnapshotIndex) -> Iterator[str]:
    """Each eviction sets a pending record with the current time; other patches change existing records."""
    now = world.snapshot.now
    deleted = _with_fate(world, snapshot_pb2.FATE_DELETE)
    losses = [loss for loss in guarded_losses(world) if loss.victim.uid not in deleted]
    evicted = {(loss.victim.uid, loss.group.beneficiary) for loss in losses}
    known = {(memory.victim, memory.preemptor) for memory in world.snapshot.eviction_history}
    fresh, settled = set(), set()
    for patch in _patches(world):
        kind = patch.WhichOneof("change")
        if kind == "set_eviction_record":
            memory = patch.set_eviction_record
            pair = (memory.victim, memory.preemptor)
            if memory.victim != patch.pod_group:
                yield f"memory: a patch of {patch.pod_group} is about {memory.victim}"
            if memory.result_pending and memory.last_eviction_time == now:
                fresh.add(pair)
            else:
                settled.add(pair)
        elif kind == "delete_eviction_record":
            settled.add((patch.pod_group, patch.delete_eviction_record))
    for victim, preemptor in sorted(evicted - fresh):
        yield f"memory: the eviction of {victim} for {preemptor} is not remembered"
    for victim, preemptor in sorted(fresh - evicted):
        yield f"memory: an eviction of {victim} for {preemptor} is remembered that did not happen"
    for victim, preemptor in sorted(settled - known):
        yield f"memory: of {victim} and {preemptor} nothing was known that could be settled or forgotten"
