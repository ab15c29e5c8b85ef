"""Warnings: which doubt, in words and in a code, and whom it is about without naming thousands."""

import pytest
from tenure.solver.model.doubt import Doubt, DoubtCode
from tenure.v1.decision_service_pb2 import SnapshotWarning
from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodGroup

from tests.server.encoding import RUNS, WAITS, decision, encoded
from tests.server.given import small_snapshot


def many(count: int) -> ClusterSnapshot:
    """The small snapshot without pods, and so many pod groups in place of its own."""
    snapshot = small_snapshot()
    del snapshot.pods[:], snapshot.pod_groups[:]
    for number in range(count):
        group = PodGroup(uid=f"g{number:03}", queue="left")
        group.creation_time.seconds = 1
        snapshot.pod_groups.append(group)
    return snapshot


@pytest.mark.parametrize("code", DoubtCode, ids=lambda code: code.name.lower())
def test_a_warning_has_code_sentence_and_pod_groups(code: DoubtCode) -> None:
    (warning,) = encoded(decision(doubts=(Doubt(code, (RUNS, WAITS), "hm"),))).warnings
    assert warning == SnapshotWarning(code=int(code), message="hm", pod_groups=["runs", "waits"], count=2)


@pytest.mark.parametrize("count", [1, 100, 101, 500])
def test_at_most_a_hundred_pod_groups_are_named_and_all_are_counted(count: int) -> None:
    snapshot = many(count)
    doubt = Doubt(DoubtCode.LEGACY_PREEMPTIBILITY, tuple(range(count)), "hm")
    (warning,) = encoded(decision(doubts=(doubt,)), snapshot).warnings
    assert list(warning.pod_groups) == [group.uid for group in snapshot.pod_groups[:100]]
    assert warning.count == count


def test_warnings_keep_their_order() -> None:
    doubts = (Doubt(DoubtCode.CLOCK_SKEW, (WAITS,), "b"), Doubt(DoubtCode.STRAY_PODS, (RUNS,), "a"))
    assert [warning.message for warning in encoded(decision(doubts=doubts)).warnings] == ["b", "a"]
