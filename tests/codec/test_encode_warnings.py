"""Encoding of warnings: code, message, detail and a limited number of pod group names."""

import pytest
from tenure.solver.model.snapshot_warning import SnapshotWarning, WarningCode
from tenure.v1 import decide_pb2 as pb
from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodGroup

from tests.codec.encoded_decisions import RUNS, WAITS, decision, encode
from tests.small_snapshot import small_snapshot


def many(count: int) -> ClusterSnapshot:
    """The small snapshot without pods, with this many pod groups in place of its own."""
    snapshot = small_snapshot()
    del snapshot.pods[:], snapshot.pod_groups[:]
    for number in range(count):
        group = PodGroup(uid=f"g{number:03}", queue="left")
        group.creation_time.seconds = 1
        snapshot.pod_groups.append(group)
    return snapshot


@pytest.mark.parametrize("code", WarningCode, ids=lambda code: code.name.lower())
def test_a_warning_has_code_sentence_and_pod_groups(code: WarningCode) -> None:
    (warning,) = encode(decision(warnings=(SnapshotWarning(code, (RUNS, WAITS), "hm"),))).warnings
    assert warning == pb.SnapshotWarning(
        code=int(code), message="hm", detail="hm", pod_groups=["runs", "waits"], count=2
    )


def test_sentence_about_one_pod_group_begins_with_its_name() -> None:
    code = WarningCode.INVALID_REQUEUE_DELAY
    warnings = (SnapshotWarning(code, (WAITS,), "bad \x07 delay", is_about_one=True),)
    (warning,) = encode(decision(warnings=warnings)).warnings
    assert warning.message == "pod group waits: bad \\x07 delay"
    assert warning.detail == "bad \\x07 delay"


@pytest.mark.parametrize("count", [1, 100, 101, 500])
def test_at_most_a_hundred_pod_groups_are_named_and_all_are_counted(count: int) -> None:
    snapshot = many(count)
    doubt = SnapshotWarning(WarningCode.LEGACY_PREEMPTIBILITY, tuple(range(count)), "hm")
    (warning,) = encode(decision(warnings=(doubt,)), snapshot).warnings
    assert list(warning.pod_groups) == [group.uid for group in snapshot.pod_groups[:100]]
    assert warning.count == count


def test_order_of_warnings_is_preserved() -> None:
    doubts = (
        SnapshotWarning(WarningCode.CLOCK_SKEW, (WAITS,), "b"),
        SnapshotWarning(WarningCode.UNKNOWN_SUB_GROUP, (RUNS,), "a"),
    )
    assert [warning.message for warning in encode(decision(warnings=doubts)).warnings] == ["b", "a"]
