"""Patches: every kind fills the field of its name, with what is to be stored and sent back."""

from dataclasses import replace

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.server.codec.decode import decode_snapshot
from tenure.solver.model.decision import Patch, PatchKind
from tenure.solver.model.memory import EvictionMemory
from tenure.v1 import decision_pb2 as pb
from tenure.v1.snapshot_pb2 import EvictionMemory as MemoryMessage

from tests.server.encoding import NOW, NOW_S, RUNS, WAITS, reclaim, steps
from tests.server.given import small_snapshot

LATER = NOW + 3_600 * 10**9 + 5
LATER_MESSAGE = Timestamp(seconds=NOW_S + 3_600, nanos=5)
FRESH = EvictionMemory(RUNS, WAITS, NOW, unsettled=True)
FAILED = EvictionMemory(RUNS, WAITS, NOW, failures=3, last_failure=LATER)
FRESH_MESSAGE = MemoryMessage(
    victim="runs", preemptor="waits", last_eviction_time=Timestamp(seconds=NOW_S), unsettled=True
)
FAILED_MESSAGE = MemoryMessage(
    victim="runs",
    preemptor="waits",
    last_eviction_time=Timestamp(seconds=NOW_S),
    failures=3,
    last_failure_time=LATER_MESSAGE,
)
WAITED = Duration(seconds=5_400, nanos=7)
ROWS: dict[str, tuple[Patch, pb.Patch, str]] = {
    "a start": (
        Patch(WAITS, PatchKind.LAST_START_TIME, NOW),
        pb.Patch(pod_group="waits", last_start_time=Timestamp(seconds=NOW_S)),
        "Pod group waits (queue right) starts to run now.",
    ),
    "an eviction": (
        Patch(RUNS, PatchKind.LAST_EVICTION_TIME, NOW),
        pb.Patch(pod_group="runs", last_eviction_time=Timestamp(seconds=NOW_S)),
        "Pod group runs (queue left) has pods evicted now.",
    ),
    "below the minimum": (
        Patch(RUNS, PatchKind.STALE_SINCE, NOW),
        pb.Patch(pod_group="runs", stale_since=Timestamp(seconds=NOW_S)),
        "Pod group runs (queue left) runs below its minimum from now on.",
    ),
    "whole again": (
        Patch(RUNS, PatchKind.CLEAR_STALE_SINCE),
        pb.Patch(pod_group="runs", clear_stale_since=True),
        "Pod group runs (queue left) is no longer below its minimum.",
    ),
    "a requeue, and the end of its cooldown": (
        Patch(RUNS, PatchKind.REQUEUE_NOT_BEFORE, LATER),
        pb.Patch(pod_group="runs", requeue_not_before=LATER_MESSAGE),
        "Pod group runs (queue left) is not to be requeued again for now.",
    ),
    "one eviction more": (
        Patch(RUNS, PatchKind.EVICTION_COUNT, 4),
        pb.Patch(pod_group="runs", eviction_count=4),
        "Pod group runs (queue left) is evicted once more.",
    ),
    "how long it has waited": (
        Patch(WAITS, PatchKind.WAITED_AFTER_EVICTIONS, 5_400 * 10**9 + 7),
        pb.Patch(pod_group="waits", waited_after_evictions=WAITED),
        "Pod group waits (queue right) starts again after an eviction.",
    ),
    "an eviction to remember": (
        Patch(RUNS, PatchKind.REMEMBER, memory=FRESH),
        pb.Patch(pod_group="runs", remember=FRESH_MESSAGE),
        "Pod group runs (queue left) has its evictions for pod group waits (queue right) remembered.",
    ),
    "a failure to remember": (
        Patch(RUNS, PatchKind.REMEMBER, memory=FAILED),
        pb.Patch(pod_group="runs", remember=FAILED_MESSAGE),
        "Pod group runs (queue left) has its evictions for pod group waits (queue right) remembered.",
    ),
    "an eviction to forget": (
        Patch(RUNS, PatchKind.FORGET_PREEMPTOR, WAITS),
        pb.Patch(pod_group="runs", forget_preemptor="waits"),
        "Pod group runs (queue left) need not remember evictions for pod group waits (queue right) "
        "any longer.",
    ),
}


def patched(*patches: Patch) -> list[pb.Decision]:
    return steps(reclaim(evictions=(), holds=(), bindings=(), patches=patches))


@pytest.mark.parametrize(("patch", "message", "sentence"), ROWS.values(), ids=ROWS)
def test_a_patch_says_what_to_store_and_why(patch: Patch, message: pb.Patch, sentence: str) -> None:
    (step,) = patched(patch)
    assert step.patch == message
    assert (step.reason.code, step.reason.message) == (pb.REASON_CODE_STATE_CHANGED, sentence)
    assert step.preconditions == pb.Preconditions(snapshot_version=7)


@pytest.mark.parametrize("kind", PatchKind, ids=lambda kind: kind.name.lower())
def test_every_kind_has_a_row_and_the_number_and_name_of_its_field(kind: PatchKind) -> None:
    assert kind in {patch.kind for patch, _, _ in ROWS.values()}
    field = pb.Patch.DESCRIPTOR.fields_by_name[kind.name.lower()]
    assert (field.number, field.containing_oneof.name) == (kind, "change")


def test_the_kinds_are_all_changes_of_the_contract() -> None:
    assert {field.name for field in pb.Patch.DESCRIPTOR.oneofs_by_name["change"].fields} == {
        kind.name.lower() for kind in PatchKind
    }


def test_patches_of_one_pod_group_about_several_preemptors_have_ids_of_their_own() -> None:
    both = [
        Patch(RUNS, kind, other, memory)
        for kind, memory in ((PatchKind.REMEMBER, FRESH), (PatchKind.FORGET_PREEMPTOR, None))
        for other in (RUNS, WAITS)
    ]
    both[0] = replace(both[0], memory=FRESH._replace(preemptor=RUNS))
    assert len({step.id for step in patched(*both)}) == 4


STORED = {
    "last_start_time": ("a start", "last_start", NOW),
    "last_eviction_time": ("an eviction", "last_eviction", NOW),
    "stale_since": ("below the minimum", "stale_since", NOW),
    "eviction_count": ("one eviction more", "eviction_count", 4),
    "waited_after_evictions": ("how long it has waited", "waited_after_evictions", 5_400 * 10**9 + 7),
}


@pytest.mark.parametrize(("field", "row"), STORED.items(), ids=STORED)
def test_what_is_stored_under_the_same_name_comes_back_as_it_was(
    field: str, row: tuple[str, str, int]
) -> None:
    name, attribute, value = row
    snapshot, message = small_snapshot(), ROWS[name][1]
    group = next(each for each in snapshot.pod_groups if each.uid == message.pod_group)
    group.MergeFrom(type(group)(**{field: getattr(message, field)}))
    found = next(each for each in decode_snapshot(snapshot).pod_groups if each.uid == message.pod_group)
    assert getattr(found, attribute) == value


def test_the_end_of_a_cooldown_comes_back_as_it_was() -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].requeue_not_before.CopyFrom(LATER_MESSAGE)
    assert decode_snapshot(snapshot).pod_groups[0].requeue.not_before.value == LATER


@pytest.mark.parametrize(
    ("message", "memory"), [(FRESH_MESSAGE, FRESH), (FAILED_MESSAGE, FAILED)], ids=["fresh", "failed"]
)
def test_what_is_remembered_comes_back_as_it_was(message: MemoryMessage, memory: EvictionMemory) -> None:
    snapshot = small_snapshot()
    snapshot.eviction_memory.append(message)
    assert decode_snapshot(snapshot).eviction_memory == (memory,)
