"""The status of a pod group: how a cycle reads it, for programs that show workloads."""

import pytest
from google.protobuf import text_format
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.pod_group_status_pb2 import PodGroupStatus, PreemptibilitySource
from tenure.v1.snapshot_pb2 import Certainty, HoldReason, PodGroup, Preemptibility, Queue

from tests.small_snapshot import small_snapshot

NOW = 1_700_000_000
START = 1_690_000_000
KEY = "kai.scheduler/preemptibility"


def status(fields: str = "", uid: str = "runs", queue: str = "", note: str | None = None) -> PodGroupStatus:
    """The status of a pod group of the small snapshot, with other fields of it and of its queue."""
    snapshot = small_snapshot()
    (group,) = (each for each in snapshot.pod_groups if each.uid == uid)
    group.MergeFrom(text_format.Parse(fields, PodGroup()))
    if note is not None:
        group.annotations[KEY] = note
    snapshot.queues[1].MergeFrom(text_format.Parse(queue, Queue()))
    request = DecideRequest(snapshot=snapshot, include_pod_group_statuses=True)
    (found,) = (
        each
        for each in Engine(default_profile()).decide(request).parse().pod_group_statuses
        if each.pod_group == uid
    )
    return found


def preemptibility(found: PodGroupStatus) -> tuple[str, str]:
    mode = Preemptibility.Name(found.preemptibility).removeprefix("PREEMPTIBILITY_")
    source = PreemptibilitySource.Name(found.preemptibility_source)
    return mode, source.removeprefix("PREEMPTIBILITY_SOURCE_")


UNKNOWN = ("-preemptible", "pre-emptible", "preemptible-", "junk")
READINGS = {
    None: ("PREEMPTIBLE", "PRIORITY"),
    "": ("PREEMPTIBLE", "PRIORITY"),
    " ": ("PREEMPTIBLE", "PRIORITY"),
    "Preemptible": ("PREEMPTIBLE", "ANNOTATION"),
    " preemptible ": ("PREEMPTIBLE", "ANNOTATION"),
    "semi-preemptible": ("SEMI_PREEMPTIBLE", "ANNOTATION"),
    "NONPREEMPTIBLE": ("NON_PREEMPTIBLE", "ANNOTATION"),
    "-preemptible": ("NON_PREEMPTIBLE", "ANNOTATION"),
    "pre-emptible": ("NON_PREEMPTIBLE", "ANNOTATION"),
    "preemptible-": ("NON_PREEMPTIBLE", "ANNOTATION"),
    "junk": ("NON_PREEMPTIBLE", "ANNOTATION"),
}


@pytest.mark.parametrize(("note", "expected"), READINGS.items(), ids=[repr(note) for note in READINGS])
def test_label_is_read_as_an_annotation_and_is_called_a_label(
    note: str | None, expected: tuple[str, str]
) -> None:
    found = status("is_preemptibility_label: true", note=note)
    mode, source = expected
    assert preemptibility(found) == (mode, "LABEL" if source == "ANNOTATION" else source)
    assert found.preemptibility_problem.startswith("label " if note in UNKNOWN else "")


@pytest.mark.parametrize(("note", "expected"), READINGS.items(), ids=[repr(note) for note in READINGS])
def test_annotation_is_read_as_by_the_guard_r8_20(note: str | None, expected: tuple[str, str]) -> None:
    assert preemptibility(status(note=note)) == expected


@pytest.mark.parametrize("note", ["-preemptible", "junk"])
def test_unknown_annotation_has_its_problem_r8_20(note: str) -> None:
    assert status(note=note).preemptibility_problem.startswith(f"annotation {KEY}: '{note}' is unknown")
    assert not status(note="Preemptible").preemptibility_problem


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("priority: 99", ("PREEMPTIBLE", "PRIORITY")),
        ("priority: 100", ("NON_PREEMPTIBLE", "PRIORITY")),
        ("priority: 100 preemptibility: PREEMPTIBILITY_PREEMPTIBLE", ("PREEMPTIBLE", "FIELD")),
        ("preemptibility: PREEMPTIBILITY_SEMI_PREEMPTIBLE", ("SEMI_PREEMPTIBLE", "FIELD")),
    ],
)
def test_field_precedes_and_priority_comes_last_r1_80(fields: str, expected: tuple[str, str]) -> None:
    assert preemptibility(status(fields)) == expected
    assert preemptibility(status(fields, note="")) == expected


def test_field_precedes_the_annotation_r1_80() -> None:
    found = status("preemptibility: PREEMPTIBILITY_PREEMPTIBLE", note="junk")
    assert (preemptibility(found), found.preemptibility_problem) == (("PREEMPTIBLE", "FIELD"), "")


@pytest.mark.parametrize(
    ("fields", "minimum"),
    [
        ("", 1),
        ("min_member: 0", 0),
        ("min_member: 2", 2),
        ('sub_groups { name: "a" min_member: 1 } sub_groups { name: "b" min_member: 5 }', 6),
        ('min_sub_group: 1 sub_groups { name: "a" min_member: 2 } sub_groups { name: "b" min_member: 5 }', 2),
    ],
)
def test_minimum_is_the_smallest_number_of_pods_that_satisfies_it_r1_55(fields: str, minimum: int) -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].ClearField("min_member")
    snapshot.pod_groups[0].MergeFrom(text_format.Parse(fields, PodGroup()))
    request = DecideRequest(snapshot=snapshot, include_pod_group_statuses=True)
    assert Engine(default_profile()).decide(request).parse().pod_group_statuses[0].min_pods == minimum


EVICTED = f"held_by: HOLD_REASON_EVICTED last_eviction_time {{ seconds: {NOW - 60} }}"


@pytest.mark.parametrize(
    ("fields", "hold", "waits_until"),
    [
        ("", "UNSPECIFIED", None),
        ("held_by: HOLD_REASON_USER", "USER", None),
        (EVICTED, "EVICTED", None),
        (f"{EVICTED} release_time {{ seconds: {NOW - 61} }}", "EVICTED", None),
        (f"{EVICTED} release_time {{ seconds: {NOW - 60} }}", "UNSPECIFIED", None),
        (f"not_before_time {{ seconds: {NOW + 60} }}", "NOT_BEFORE", NOW + 60),
        (f"not_before_time {{ seconds: {NOW} }}", "UNSPECIFIED", None),
        (f"held_by: HOLD_REASON_ADMIN not_before_time {{ seconds: {NOW + 60} }}", "ADMIN", None),
    ],
)
def test_hold_is_what_keeps_it_from_competing_r19_25(fields: str, hold: str, waits_until: int | None) -> None:
    found = status(fields, uid="waits")
    assert HoldReason.Name(found.held_by) == f"HOLD_REASON_{hold}"
    assert (found.not_before_time.seconds or None) == waits_until


HOURS = 3_600
RAN = NOW - START


@pytest.mark.parametrize(
    ("fields", "queue", "end", "certainty"),
    [
        ("", "", None, "UNKNOWN"),
        (f"expected_runtime {{ seconds: {RAN + 60} }}", "", NOW + 60, "EXPECTED"),
        ("", f"expected_runtime {{ seconds: {RAN + 60} }}", NOW + 60, "ASSUMED"),
        (f"time_limit {{ seconds: {RAN + 90} }}", "", NOW + 90, "BOUNDED"),
        (f"expected_runtime {{ seconds: {RAN} }}", "", START + 2 * RAN, "ASSUMED"),
    ],
)
def test_expected_end_says_how_certain_it_is_r17_1(
    fields: str, queue: str, end: int | None, certainty: str
) -> None:
    found = status(fields, queue=queue)
    assert (found.expected_end.seconds or None) == end
    assert Certainty.Name(found.expected_end_certainty) == f"CERTAINTY_{certainty}"


def test_pod_group_that_does_not_run_has_no_end() -> None:
    found = status(f"expected_runtime {{ seconds: {RAN} }} last_start_time {{ seconds: {START} }}", "waits")
    assert not found.HasField("expected_end")
    assert found.expected_runtime.seconds == RAN


def test_time_limit_is_the_latest_end() -> None:
    found = status(f"expected_runtime {{ seconds: {RAN + 60} }} time_limit {{ seconds: {RAN + 90} }}")
    assert (found.expected_end.seconds, found.latest_end.seconds) == (NOW + 60, NOW + 90)


@pytest.mark.parametrize(
    ("fields", "queue", "source"),
    [
        ("expected_runtime { seconds: 5 }", "", "its own expected runtime"),
        ("", "expected_runtime { seconds: 5 }", "queue left"),
        ("", "", ""),
    ],
)
def test_expected_runtime_has_its_source_r12_72(fields: str, queue: str, source: str) -> None:
    found = status(fields, queue=queue)
    assert (found.expected_runtime.seconds, found.expected_runtime_source) == (5 if source else 0, source)


def test_requeue_cooldown_is_read_from_field_and_annotation() -> None:
    assert status("requeue_not_before { seconds: 5 }").requeue_not_before.seconds == 5
    text = 'annotations { key: "kai.scheduler/requeue-not-before" value: "1970-01-01T00:00:05Z" }'
    assert status(text).requeue_not_before.seconds == 5
