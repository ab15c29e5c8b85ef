"""Pods are told of their evictions by an annotation and a condition, which a withdrawal takes back."""

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.integration.journal_entry import JournalEntry
from tenure.v1 import decision_pb2 as pb

from tests.kubernetes.apply.applier_rig import ApplierRig, results
from tests.kubernetes.apply.decision_groups import group, reserve
from tests.kubernetes.apply.scripted_api_server import ScriptedResponse

STATUS = "/api/v1/namespaces/team/pods/old/status"
EVICT_TIME = Timestamp(seconds=1_800_000_120)


def notify(pod: str = "old") -> pb.Decision:
    step = pb.Notify(pod=f"uid-{pod}", node="n1", pod_group=f"uid-{pod}", evict_time=EVICT_TIME)
    reason = pb.Reason(code=pb.REASON_CODE_NOTICE_GIVEN, message="it names others")
    return pb.Decision(id=f"notify-{pod}", notify=step, reason=reason)


def withdraw(pod: str = "old") -> pb.Decision:
    step = pb.WithdrawNotice(pod=f"uid-{pod}", pod_group=f"uid-{pod}")
    return pb.Decision(id=f"withdraw-{pod}", withdraw_notice=step)


def test_notice_is_an_annotation_and_a_condition_and_evicts_no_pod(rig: ApplierRig) -> None:
    rig.running("old")
    rig.server.on("PATCH", STATUS, ScriptedResponse(200))
    entry = JournalEntry(group(notify(), reserve("new")))
    assert rig.apply(entry) == [f"PATCH {STATUS}"]
    body = rig.server.calls[-1].body
    assert body["metadata"]["annotations"] == {"tenure.scheduler/evict-time": "2027-01-15T08:02:00Z"}
    assert body["metadata"]["uid"] == "uid-old"
    (condition,) = body["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("tenure.scheduler/EvictionNotice", "True")
    told = "The pod is to be evicted, not before 2027-01-15T08:02:00Z: it should save its work."
    assert condition["message"] == told
    assert results(entry) == {"notify-old": "APPLIED"}
    row = entry.row()
    assert row is not None
    assert [(told.pod, told.node) for told in row.notices] == [("uid-old", "n1")]
    assert (row.evict_time, len(row.reservations), len(row.evictions)) == (EVICT_TIME, 1, 0)


def test_withdrawal_takes_annotation_and_condition_back(rig: ApplierRig) -> None:
    rig.running("old")
    rig.server.on("PATCH", STATUS, ScriptedResponse(200))
    entry = JournalEntry(group(withdraw(), best_effort=True))
    assert rig.apply(entry) == [f"PATCH {STATUS}"]
    body = rig.server.calls[-1].body
    assert "annotations" not in body["metadata"]
    assert body["status"] == {}
    assert (results(entry), entry.row()) == ({"withdraw-old": "APPLIED"}, None)


def test_group_ends_when_a_pod_to_be_told_is_gone(rig: ApplierRig) -> None:
    entry = JournalEntry(group(notify(), reserve("new")))
    assert rig.apply(entry) == []
    assert results(entry) == {"notify-old": "PRECONDITION_FAILED"}
    assert entry.row() is None


def test_withdrawal_for_a_pod_that_is_gone_is_done(rig: ApplierRig) -> None:
    entry = JournalEntry(group(withdraw(), best_effort=True))
    assert rig.apply(entry) == []
    assert results(entry) == {"withdraw-old": "APPLIED"}


def test_notice_that_cannot_be_given_before_the_eviction_ends_its_group(rig: ApplierRig) -> None:
    """Reservations are given up, so the server withdraws the notices that were given (semantics R16.5)."""
    for pod in ("old", "other"):
        rig.running(pod)
    rig.server.on("PATCH", STATUS, ScriptedResponse(200))
    rig.server.on("PATCH", STATUS.replace("old", "other"), *[ScriptedResponse(503)] * 9)
    entry = JournalEntry(group(notify(), notify("other"), reserve("new")))
    rig.apply(entry)
    before, due = Timestamp(seconds=EVICT_TIME.seconds - 1), EVICT_TIME
    entry.give_up_late_notices(before)
    assert (row := entry.row()) is not None
    assert (len(row.notices), len(row.reservations)) == (2, 1)
    entry.give_up_late_notices(due)
    assert (row := entry.row()) is not None
    assert ([told.pod for told in row.notices], len(row.reservations)) == (["uid-old"], 0)
    assert not list(entry.remaining_decisions(due))


def test_failed_notice_is_sent_again(rig: ApplierRig) -> None:
    rig.running("old")
    rig.server.on("PATCH", STATUS, ScriptedResponse(503), ScriptedResponse(200))
    entry = JournalEntry(group(notify(), reserve("new")))
    rig.apply(entry)
    assert results(entry) == {"notify-old": "FAILED"}
    rig.seconds += 60
    rig.apply(entry)
    assert results(entry) == {"notify-old": "APPLIED"}
