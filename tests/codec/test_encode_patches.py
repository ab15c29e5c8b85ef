"""Every kind of patch sets the field of its name to the value that the caller stores and sends back."""

from dataclasses import replace
from operator import attrgetter

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.codec.decode import decode_snapshot
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.decision import Patch, PatchKind
from tenure.solver.model.fate import HoldReason
from tenure.solver.model.grant import Grant
from tenure.terms.preemptibility import Preemptibility
from tenure.v1 import decision_pb2 as pb
from tenure.v1.snapshot_pb2 import (
    HOLD_REASON_EVICTED,
    PREEMPTIBILITY_SEMI_PREEMPTIBLE,
    BackfillOwners,
    EvictionCounts,
)
from tenure.v1.snapshot_pb2 import EvictionRecord as MemoryMessage
from tenure.v1.snapshot_pb2 import Grant as ProtoGrant

from tests.codec.encoded_decisions import NOW, NOW_S, RUNS, WAITS, encode_decisions, reclaim_group
from tests.small_snapshot import small_snapshot

LATER = NOW + 3_600 * 10**9 + 5
LATER_MESSAGE = Timestamp(seconds=NOW_S + 3_600, nanos=5)
FRESH = EvictionRecord(RUNS, WAITS, NOW, result_pending=True)
FAILED = EvictionRecord(RUNS, WAITS, NOW, consecutive_failures=3, last_failure=LATER)
FRESH_MESSAGE = MemoryMessage(
    victim="runs", preemptor="waits", last_eviction_time=Timestamp(seconds=NOW_S), result_pending=True
)
FAILED_MESSAGE = MemoryMessage(
    victim="runs",
    preemptor="waits",
    last_eviction_time=Timestamp(seconds=NOW_S),
    consecutive_failures=3,
    last_failure_time=LATER_MESSAGE,
)
GRANT = Grant("left", Preemptibility.SEMI_PREEMPTIBLE, frozenset(["preempt", "reclaim"]), 2, 60 * 10**9)
WAITED = Duration(seconds=5_400, nanos=7)
ROWS: dict[str, tuple[Patch, pb.Patch, str]] = {
    "a start": (
        Patch(WAITS, PatchKind.LAST_START_TIME, NOW),
        pb.Patch(pod_group="waits", last_start_time=Timestamp(seconds=NOW_S)),
        "Pod group waits (queue right) started.",
    ),
    "an eviction": (
        Patch(RUNS, PatchKind.LAST_EVICTION_TIME, NOW),
        pb.Patch(pod_group="runs", last_eviction_time=Timestamp(seconds=NOW_S)),
        "Pod group runs (queue left) was evicted.",
    ),
    "below the minimum": (
        Patch(RUNS, PatchKind.STALE_SINCE, NOW),
        pb.Patch(pod_group="runs", stale_since=Timestamp(seconds=NOW_S)),
        "Pod group runs (queue left) is below its minimum.",
    ),
    "whole again": (
        Patch(RUNS, PatchKind.CLEAR_STALE_SINCE),
        pb.Patch(pod_group="runs", clear_stale_since=True),
        "Pod group runs (queue left) is no longer below its minimum.",
    ),
    "a requeue, and the end of its cooldown": (
        Patch(RUNS, PatchKind.REQUEUE_NOT_BEFORE, LATER),
        pb.Patch(pod_group="runs", requeue_not_before=LATER_MESSAGE),
        "Pod group runs (queue left) must not be requeued before the given time.",
    ),
    "one eviction more": (
        Patch(RUNS, PatchKind.EVICTION_COUNT, 4),
        pb.Patch(pod_group="runs", eviction_count=4),
        "Pod group runs (queue left): eviction count increased.",
    ),
    "one more without progress": (
        Patch(RUNS, PatchKind.EVICTIONS_WITHOUT_PROGRESS, 3),
        pb.Patch(pod_group="runs", evictions_without_progress=3),
        "Pod group runs (queue left): consecutive evictions without progress counted.",
    ),
    "evictions by cause": (
        Patch(RUNS, PatchKind.EVICTIONS, counts={"reclaim": 2, "preempt": 1}),
        pb.Patch(pod_group="runs", evictions=EvictionCounts(by_cause={"preempt": 1, "reclaim": 2})),
        "Pod group runs (queue left): evictions counted by cause.",
    ),
    "a backfill": (
        Patch(RUNS, PatchKind.BACKFILL_FOR, counts={"waits": 1}),
        pb.Patch(pod_group="runs", backfill_for=BackfillOwners(pod_groups=["waits"])),
        "Pod group runs (queue left): owners of the reserved capacity that it uses updated.",
    ),
    "a grant": (
        Patch(RUNS, PatchKind.GRANT, grant=GRANT),
        pb.Patch(
            pod_group="runs",
            grant=ProtoGrant(
                queue="left",
                preemptibility=PREEMPTIBILITY_SEMI_PREEMPTIBLE,
                opt_out_actions=["preempt", "reclaim"],
                min_pods=2,
                expected_runtime=Duration(seconds=60),
            ),
        ),
        "Pod group runs (queue left): what protects it from now on stored.",
    ),
    "a notice": (
        Patch(RUNS, PatchKind.LAST_NOTICE_TIME, NOW),
        pb.Patch(pod_group="runs", last_notice_time=Timestamp(seconds=NOW_S)),
        "Pod group runs (queue left) was given notice.",
    ),
    "a hold": (
        Patch(RUNS, PatchKind.HELD_BY, HoldReason.EVICTED),
        pb.Patch(pod_group="runs", held_by=HOLD_REASON_EVICTED),
        "Pod group runs (queue left) is held until it is released.",
    ),
    "how long it has waited": (
        Patch(WAITS, PatchKind.TOTAL_EVICTION_WAIT, 5_400 * 10**9 + 7),
        pb.Patch(pod_group="waits", total_eviction_wait=WAITED),
        "Pod group waits (queue right): total wait after evictions increased.",
    ),
    "an eviction to remember": (
        Patch(RUNS, PatchKind.SET_EVICTION_RECORD, record=FRESH),
        pb.Patch(pod_group="runs", set_eviction_record=FRESH_MESSAGE),
        "Pod group runs (queue left): eviction record for pod group waits (queue right) updated.",
    ),
    "a failure to remember": (
        Patch(RUNS, PatchKind.SET_EVICTION_RECORD, record=FAILED),
        pb.Patch(pod_group="runs", set_eviction_record=FAILED_MESSAGE),
        "Pod group runs (queue left): eviction record for pod group waits (queue right) updated.",
    ),
    "an eviction to forget": (
        Patch(RUNS, PatchKind.DELETE_EVICTION_RECORD, WAITS),
        pb.Patch(pod_group="runs", delete_eviction_record="waits"),
        "Pod group runs (queue left): eviction record for pod group waits (queue right) deleted.",
    ),
}


def encode_patches(*patches: Patch) -> list[pb.Decision]:
    return encode_decisions(reclaim_group(evictions=(), reservations=(), bindings=(), patches=patches))


@pytest.mark.parametrize(("patch", "message", "sentence"), ROWS.values(), ids=ROWS)
def test_patch_contains_the_field_and_its_reason(patch: Patch, message: pb.Patch, sentence: str) -> None:
    (step,) = encode_patches(patch)
    assert step.patch == message
    assert (step.reason.code, step.reason.message) == (pb.REASON_CODE_FIELD_UPDATED, sentence)
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


def test_patches_of_one_pod_group_for_several_preemptors_have_distinct_ids() -> None:
    both = [
        Patch(RUNS, kind, other, memory)
        for kind, memory in ((PatchKind.SET_EVICTION_RECORD, FRESH), (PatchKind.DELETE_EVICTION_RECORD, None))
        for other in (RUNS, WAITS)
    ]
    both[0] = replace(both[0], record=FRESH._replace(preemptor=RUNS))
    assert len({step.id for step in encode_patches(*both)}) == 4


STORED = {
    "last_start_time": ("a start", "last_start", NOW),
    "last_eviction_time": ("an eviction", "last_eviction", NOW),
    "stale_since": ("below the minimum", "stale_since", NOW),
    "eviction_count": ("one eviction more", "eviction_count", 4),
    "evictions_without_progress": ("one more without progress", "evictions_without_progress", 3),
    "evictions": ("evictions by cause", "victim.evictions", {"preempt": 1, "reclaim": 2}),
    "grant": ("a grant", "grant", GRANT),
    "backfill_for": ("a backfill", "victim.backfill_for", ("waits",)),
    "last_notice_time": ("a notice", "victim.last_notice", NOW),
    "held_by": ("a hold", "victim.held_by", HoldReason.EVICTED),
    "total_eviction_wait": ("how long it has waited", "total_eviction_wait", 5_400 * 10**9 + 7),
}


@pytest.mark.parametrize(("field", "row"), STORED.items(), ids=STORED)
def test_patched_field_decodes_to_the_patched_value(field: str, row: tuple[str, str, int]) -> None:
    name, attribute, value = row
    snapshot, message = small_snapshot(), ROWS[name][1]
    group = next(each for each in snapshot.pod_groups if each.uid == message.pod_group)
    group.MergeFrom(type(group)(**{field: getattr(message, field)}))
    found = next(each for each in decode_snapshot(snapshot).pod_groups if each.facts.uid == message.pod_group)
    assert attrgetter(attribute)(found.facts) == value


def test_requeue_not_before_decodes_to_the_patched_value() -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].requeue_not_before.CopyFrom(LATER_MESSAGE)
    assert decode_snapshot(snapshot).pod_groups[0].facts.requeue.not_before.value == LATER


@pytest.mark.parametrize(
    ("message", "memory"), [(FRESH_MESSAGE, FRESH), (FAILED_MESSAGE, FAILED)], ids=["fresh", "failed"]
)
def test_eviction_record_decodes_to_the_patched_value(message: MemoryMessage, memory: EvictionRecord) -> None:
    snapshot = small_snapshot()
    snapshot.eviction_history.append(message)
    assert decode_snapshot(snapshot).eviction_history == (memory,)
