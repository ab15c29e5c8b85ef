"""The status of pending pods: the correct condition, without repeated writes."""

import time
from typing import Any

import pytest
from tenure.integration.journal_entry import EntryEvent, JournalEntry
from tenure.kubernetes.apply import status_writer
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import report_pb2 as outcomes
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.explain_pb2 import StartEstimate

from tests.kubernetes.apply.decision_groups import NOW, evict, group, reserve
from tests.kubernetes.apply.scripted_api_server import RecordedCall, ScriptedResponse
from tests.kubernetes.apply.status_rig import GROUP, StatusRig
from tests.kubernetes.observe.cached_cluster import (
    member,
    node,
    pod,
    running,
)


def test_condition_of_a_quota_wait_has_reason_waiting_for_quota(statuses: StatusRig) -> None:
    assert statuses.write_status("WAITING_FOR_QUOTA", "NON_PREEMPTIBLE_OVER_QUOTA") == [
        "status",
        "status",
        "events",
    ]
    (condition,) = statuses.conditions
    assert condition["reasons"] == [{"reason": "NonPreemptibleOverQuota", "message": "why"}]
    assert (condition["type"], condition["status"]) == ("UnschedulableOnNodePool", "True")
    body = next(call.body for call in statuses.server.calls if call.path.endswith("/pods/p/status"))
    assert body["status"]["conditions"][0]["reason"] == "WaitingForQuota"
    assert body["metadata"]["uid"] == "uid-p"


def test_unchanged_condition_is_written_once_despite_new_message(statuses: StatusRig) -> None:
    statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES", "2 of 4 fit")
    assert statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES", "3 of 4 fit") == []


def test_estimate_is_part_of_conditions_and_written_when_it_changes_noticeably_r17_24(
    statuses: StatusRig,
) -> None:
    def write(hours: int, seconds: int, is_told: bool = True, later: int = 0) -> list[str]:
        start = {"seconds": NOW.seconds + hours * 3_600 + seconds}
        estimate = StartEstimate(position=2, earliest_start=start, likely_start=start) if is_told else None
        return statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES", estimate=estimate, hours=later)

    statuses.assert_no_writes(0)
    assert write(30, 0) == ["status", "status", "events"]
    (condition,) = statuses.conditions
    assert condition["message"].startswith("why Estimate: second in its queue; starts at about ")
    pods = [call.body for call in statuses.server.calls if call.path.endswith("/pods/p/status")]
    assert pods[0]["status"]["conditions"][0]["message"] == condition["message"]
    assert write(30, 5) == []
    assert write(30, 5, is_told=False) == []
    assert write(70, 0) == ["status", "status", "events"]
    assert write(70, 0, is_told=False, later=70) == []
    assert write(70, 0, is_told=False, later=71) == ["status", "status", "events"]
    (condition,) = statuses.conditions
    assert condition["message"] == "why"


def test_exhausted_budget_does_not_replace_a_condition(statuses: StatusRig) -> None:
    statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    assert statuses.write_status("BUDGET_EXHAUSTED", "BUDGET_EXHAUSTED") == []
    assert statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES") == []


def test_condition_that_reverts_within_the_quiet_time_is_not_written(statuses: StatusRig) -> None:
    statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    statuses.assert_no_writes(3600)
    assert statuses.write_status("WAITING_FOR_RELEASE", "PIPELINED") == []
    assert statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES") == []
    statuses.assert_no_writes(0)
    assert statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES") == []
    assert len(statuses.server.writes()) == 3


def test_lasting_condition_is_written_after_the_quiet_time(statuses: StatusRig) -> None:
    statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    statuses.assert_no_writes(3600)
    statuses.write_status("WAITING_FOR_VICTIMS", "VICTIMS_EVICTED")
    statuses.assert_no_writes(0)
    assert "status" in statuses.write_status("WAITING_FOR_VICTIMS", "VICTIMS_EVICTED")
    assert statuses.conditions[0]["status"] == "False"
    assert statuses.conditions[0]["transitionID"] == "2"


@pytest.mark.parametrize(
    ("answer", "is_tried_again"),
    [
        (ScriptedResponse(409), True),
        (ScriptedResponse(500), True),
        (ScriptedResponse(0), True),
        (ScriptedResponse(404), False),
        (ScriptedResponse(403), False),
    ],
)
def test_failed_condition_write_is_retried_if_retryable(
    statuses: StatusRig, answer: ScriptedResponse, is_tried_again: bool
) -> None:
    statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    answers = [answer]
    statuses.server.rules.insert(
        0, lambda call: answers.pop() if answers and call.path == f"{GROUP}/status" else None
    )
    statuses.start()
    assert statuses.conditions[0]["status"] == "True"
    statuses.writer.write_due()
    assert (statuses.conditions[0]["status"] == "False") == is_tried_again
    statuses.writer.write_due()
    assert len([write for write in statuses.server.writes() if write == f"PATCH {GROUP}/status"]) <= 3


def test_failed_pod_status_write_is_retried(statuses: StatusRig) -> None:
    waits = "/api/v1/namespaces/team/pods/p/status"
    answers = [ScriptedResponse(500)]
    statuses.server.rules.insert(0, lambda call: answers.pop() if answers and call.path == waits else None)
    statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    statuses.writer.write_due()
    statuses.writer.write_due()
    assert statuses.server.writes().count(f"PATCH {waits}") == 2
    assert statuses.server.writes().count(f"PATCH {GROUP}/status") == 1


def test_gang_with_pods_being_created_gets_no_condition(statuses: StatusRig) -> None:
    statuses.assert_no_writes(3600)
    assert statuses.write_status("INVALID_POD_GROUP", "NOT_READY") == []
    assert statuses.write_status("BOUND", "ALLOCATED") == []


def test_gang_with_missing_pods_gets_a_condition_after_the_quiet_time(statuses: StatusRig) -> None:
    now = time.monotonic()
    statuses.patched.setattr(status_writer.time, "monotonic", lambda: now)
    statuses.assert_no_writes(5)
    assert statuses.write_status("INVALID_POD_GROUP", "NOT_READY") == []
    assert statuses.write_status("INVALID_POD_GROUP", "NOT_READY") == []
    now += 5
    assert statuses.write_status("INVALID_POD_GROUP", "NOT_READY") == ["status", "status", "events"]


def test_adapter_without_lease_writes_no_status_until_the_lease_returns(statuses: StatusRig) -> None:
    def lose(call: RecordedCall) -> None:
        statuses.leads = call.path != GROUP

    statuses.server.rules.insert(0, lose)
    assert statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES") == ["status"]
    assert statuses.server.calls[-1].method == "GET"
    statuses.server.rules.remove(lose)
    statuses.leads = True
    statuses.writer.write_due()
    assert statuses.conditions[0]["status"] == "True"


def test_foreign_conditions_are_preserved(statuses: StatusRig) -> None:
    other = {"type": "UnschedulableOnNodePool", "nodePool": "elsewhere", "status": "True"}
    statuses.status = {"schedulingConditions": [other]}
    statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    assert other in statuses.conditions
    assert len(statuses.conditions) == 2


def test_immediate_start_writes_only_the_condition_that_kubectl_waits_for(statuses: StatusRig) -> None:
    assert statuses.start() == ["status"]
    assert list(statuses.status) == ["conditions"]
    (condition,) = statuses.status["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Scheduled", "True", "Allocated")
    assert statuses.start() == []


def test_start_after_pending_changes_both_conditions(statuses: StatusRig) -> None:
    statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    (pending,) = statuses.status["conditions"]
    assert (pending["status"], pending["reason"]) == ("False", "InsufficientResources")
    statuses.start()
    assert (statuses.conditions[0]["status"], statuses.conditions[0]["reason"]) == ("False", "Scheduled")
    (condition,) = statuses.status["conditions"]
    assert (condition["status"], condition["transitionID"]) == ("True", "2")


def test_pod_group_is_not_told_as_scheduled_before_its_pods_are_bound(statuses: StatusRig) -> None:
    assert statuses.write_status("BOUND", "ALLOCATED") == []
    assert statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    statuses.bind()
    statuses.writer.report(DecideResponse(), [])
    statuses.writer.write_due()
    assert statuses.status["conditions"][0]["status"] == "False"


def test_condition_of_another_type_stays(statuses: StatusRig) -> None:
    statuses.status["conditions"] = [{"type": "Other", "status": "True"}]
    statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    assert [one["type"] for one in statuses.status["conditions"]] == ["Other", "Scheduled"]


def test_existing_event_is_counted_up(statuses: StatusRig) -> None:
    events = "/apis/events.k8s.io/v1/namespaces/team/events"
    statuses.server.rules.insert(
        0, lambda call: ScriptedResponse(409) if (call.method, call.path) == ("POST", events) else None
    )
    written = statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    last = next(call for call in reversed(statuses.server.calls) if call.method != "GET")
    assert written[-1].startswith("job.")
    assert (last.method, last.body["series"]["count"]) == ("PATCH", 2)


@pytest.mark.parametrize(
    ("answer", "failures", "attempts"),
    [
        pytest.param(ScriptedResponse(429), 1, 2, id="a busy API server"),
        pytest.param(ScriptedResponse(0), 4, 5, id="an API server that restarts"),
        pytest.param(ScriptedResponse(500), 9, 5, id="an API server that keeps failing"),
        pytest.param(ScriptedResponse(403), 9, 1, id="no right, or a namespace that ends"),
    ],
)
def test_event_that_cannot_be_written_is_tried_a_few_times(
    statuses: StatusRig, answer: ScriptedResponse, failures: int, attempts: int
) -> None:
    events, answers = "/apis/events.k8s.io/v1/namespaces/team/events", [answer] * failures
    statuses.server.rules.insert(
        0, lambda call: answers.pop() if answers and (call.method, call.path) == ("POST", events) else None
    )
    statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    for _ in range(9):
        statuses.writer.write_due()
    written = statuses.server.writes()
    assert written.count(f"POST {events}") == attempts
    assert written.count(f"PATCH {GROUP}/status") == 1


def test_event_is_tried_again_after_the_quiet_time(statuses: StatusRig) -> None:
    events, answers = "/apis/events.k8s.io/v1/namespaces/team/events", [ScriptedResponse(500)]
    statuses.server.rules.insert(0, lambda call: answers.pop() if answers and call.path == events else None)
    now = time.monotonic()
    statuses.patched.setattr(status_writer.time, "monotonic", lambda: now)
    statuses.assert_no_writes(5)
    statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    for later, attempts in ((4.9, 1), (0.2, 2), (5.0, 2)):
        now += later
        statuses.writer.write_due()
        assert statuses.server.writes().count(f"POST {events}") == attempts


def test_null_conditions_are_treated_as_empty(statuses: StatusRig) -> None:
    statuses.status = {"schedulingConditions": None}
    assert "status" in statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    assert statuses.conditions[0]["status"] == "True"


def nominations(statuses: StatusRig, *groups: pb.DecisionGroup) -> list[tuple[str, Any]]:
    """Report groups in flight; return the pods whose nominated node is written, and its value."""
    before = len(statuses.server.calls)
    statuses.writer.report(DecideResponse(), [JournalEntry(one) for one in groups])
    statuses.writer.write_due()
    written = [call for call in statuses.server.calls[before:] if call.method == "PATCH"]
    return [(call.path.split("/")[-2], call.body["status"].get("nominatedNodeName")) for call in written]


def test_reserved_node_is_nominated_once_until_the_reservation_is_given_up(statuses: StatusRig) -> None:
    for name in ("n1", "n2"):
        statuses.world.put("nodes", node(name))
    statuses.picture.delta(NOW)
    assert nominations(statuses, group(reserve("p"))) == [("p", "n1")]
    assert nominations(statuses, group(reserve("p"))) == []
    assert nominations(statuses, group(reserve("p", "n2"), id="h")) == [("p", "n2")]
    assert nominations(statuses) == [("p", None)]
    assert nominations(statuses) == []


def test_reservation_that_an_earlier_adapter_told_is_removed(statuses: StatusRig) -> None:
    statuses.world.put("pods", pod("p", meta=member("job"), status={"nominatedNodeName": "n1"}))
    statuses.picture.delta(NOW)
    assert nominations(statuses) == [("p", None)]


def test_no_foreign_pod_and_no_node_of_another_pool_is_nominated(statuses: StatusRig) -> None:
    statuses.world.put("pods", pod("foreign", spec={"schedulerName": "default-scheduler"}))
    statuses.world.put("nodes", node("n1"))
    statuses.picture.delta(NOW)
    assert nominations(statuses, group(reserve("foreign"), reserve("p", "elsewhere"))) == []


def noticed(name: str) -> dict[str, Any]:
    told = {"pod-group-name": "job", "tenure.scheduler/evict-time": "2027-01-15T08:02:00Z"}
    return running(name, meta={"annotations": told})


def taken_back(statuses: StatusRig, *entries: JournalEntry) -> tuple[list[str], list[str]]:
    """Report groups in flight; return the pods whose notice is taken back, and those with an event."""
    before = len(statuses.server.calls)
    statuses.writer.report(DecideResponse(), entries)
    statuses.writer.write_due()
    calls = statuses.server.calls[before:]
    patched = [call.path.split("/")[-2] for call in calls if call.method == "PATCH"]
    written = [call.body for call in calls if call.path.endswith("/events")]
    withdrawn = [each for each in written if each["reason"] == "EvictionNoticeWithdrawn"]
    return patched, [each["regarding"]["name"] for each in withdrawn]


def test_notice_of_a_group_in_flight_stays_and_is_taken_back_when_the_eviction_is_given_up(
    statuses: StatusRig,
) -> None:
    statuses.world.put("pods", noticed("told"))
    statuses.picture.delta(NOW)
    notify = pb.Decision(id="notify", notify=pb.Notify(pod="uid-told", node="n1"))
    withdraw = pb.Decision(id="withdraw", withdraw_notice=pb.WithdrawNotice(pod="uid-told"))
    assert taken_back(statuses, JournalEntry(group(notify))) == ([], [])
    evicting = JournalEntry(group(evict("told"), id="h"))
    assert taken_back(statuses, evicting) == ([], [])
    failed = outcomes.DecisionResult(decision_id=evicting.group.decisions[0].id, status=3)
    evicting.handle(EntryEvent.SENT)
    evicting.add_result(failed)
    assert taken_back(statuses, evicting) == (["told"], ["told"])
    assert taken_back(statuses, evicting) == ([], [])
    assert taken_back(statuses, JournalEntry(group(notify))) == ([], [])
    assert taken_back(statuses, JournalEntry(group(withdraw, best_effort=True)))[1] == []


def test_notice_that_an_earlier_adapter_gave_is_taken_back_if_the_journal_was_lost(
    statuses: StatusRig,
) -> None:
    statuses.world.put("pods", noticed("told"))
    leaving = noticed("leaving")
    leaving["metadata"]["deletionTimestamp"] = "2027-01-15T08:02:00Z"
    statuses.world.put("pods", leaving)
    statuses.picture.delta(NOW)
    assert taken_back(statuses) == (["told"], ["told"])
