"""The status of pending pods: the correct condition, without repeated writes."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from tenure.integration.journal_entry import JournalEntry
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.apply import status_writer
from tenure.kubernetes.apply.conditions import build_condition
from tenure.kubernetes.apply.ownership import Ownership
from tenure.kubernetes.apply.status_writer import StatusWriter
from tenure.kubernetes.observe import names
from tenure.kubernetes.observe.snapshot_scope import QueueAccess, SnapshotScope
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse

from tests.kubernetes.apply.decision_groups import IDENTITY, NOW, group, reserve
from tests.kubernetes.apply.scripted_api_server import RecordedCall, ScriptedApiServer, ScriptedResponse
from tests.kubernetes.observe.cached_cluster import (
    CONFIG,
    CachedCluster,
    member,
    node,
    pod,
    pod_group,
    queue,
    running,
)

Served = tuple[ScriptedApiServer, Transport]
GROUP = "/apis/scheduling.run.ai/v2alpha2/namespaces/team/podgroups/job"


def outcome(kind: str, code: str, message: str = "why") -> pb.PodGroupOutcome:
    return pb.PodGroupOutcome(
        pod_group="uid-job",
        kind=f"OUTCOME_KIND_{kind}",
        reason=pb.Reason(code=f"REASON_CODE_{code}", message=message),
    )


CONDITIONS = {
    ("BOUND", "ALLOCATED"): "",
    ("WAITING_FOR_RELEASE", "PIPELINED"): "WaitingForRelease",
    ("WAITING_FOR_VICTIMS", "VICTIMS_EVICTED"): "WaitingForVictims",
    ("WAITING_FOR_QUOTA", "OVER_LIMIT"): "WaitingForQuota",
    ("DELAYED", "MIN_RUNTIME"): "Delayed",
    ("INFEASIBLE", "NO_NODE_MATCHES"): "Unschedulable",
    ("WAITING_FOR_CAPACITY", "QUEUE_ORDER"): "Unschedulable",
    ("WAITING_FOR_CAPACITY", "NO_CAPACITY"): "Unschedulable",
    ("WAITING_FOR_CAPACITY", "OPTED_OUT"): "Unschedulable",
    ("BUDGET_EXHAUSTED", "BUDGET_EXHAUSTED"): "SearchIncomplete",
    ("INVALID_POD_GROUP", "NOT_READY"): "InvalidPodGroup",
}


def test_conditions_cover_every_outcome_kind() -> None:
    kinds = {kind.removeprefix("OUTCOME_KIND_") for kind, number in pb.OutcomeKind.items() if number}
    assert {kind for kind, _ in CONDITIONS} == kinds


@pytest.mark.parametrize(("kind", "code"), CONDITIONS)
def test_condition_reason_follows_the_catalog(kind: str, code: str) -> None:
    verdict = build_condition(outcome(kind, code))
    assert verdict is not None
    assert verdict.reason == CONDITIONS[kind, code]


@pytest.mark.parametrize(("kind", "reason"), [("INFEASIBLE", "Unschedulable"), ("DELAYED", "Delayed")])
def test_condition_of_an_unknown_code_follows_the_outcome_kind(kind: str, reason: str) -> None:
    unknown = pb.PodGroupOutcome(kind=f"OUTCOME_KIND_{kind}", reason=pb.Reason(code=9_999))
    verdict = build_condition(unknown)
    assert verdict is not None
    assert (verdict.reason, verdict.code) == (reason, "Unspecified")


def test_pod_group_over_fair_share_is_unschedulable_for_the_autoscaler() -> None:
    verdict = build_condition(outcome("WAITING_FOR_QUOTA", "OVER_FAIR_SHARE"))
    assert verdict is not None
    assert (verdict.reason, verdict.code) == ("Unschedulable", "OverFairShare")


class StatusRig:
    """A pending pod group, and the statuses written for it."""

    def __init__(self, served: Served, patched: pytest.MonkeyPatch, scope: SnapshotScope = CONFIG) -> None:
        self.server, transport = served
        self.patched = patched
        self.world = world = CachedCluster()
        world.put("kai_queues", queue("q"))
        world.put("kai_pod_groups", pod_group("job", minMember=1))
        world.put("pods", pod("p", meta=member("job")))
        self.picture = world.builder(scope)
        self.picture.snapshot(NOW)
        self.uid = next(row.uid for row in self.picture.snapshot(NOW).pod_groups)
        self.status: dict[str, Any] = {}
        self.server.rules.append(self._respond)
        self.leads = True
        ownership = Ownership(world.mirrors, self.picture, "kai-scheduler")
        self.writer = StatusWriter(
            transport, world.mirrors, self.picture, ownership, lambda: self.leads, IDENTITY
        )

    def _respond(self, call: RecordedCall) -> ScriptedResponse:
        if call.method == "GET" and call.path == GROUP:
            meta = {"uid": self.uid, "resourceVersion": "7"}
            return ScriptedResponse(200, {"metadata": meta, "status": self.status})
        if call.path == f"{GROUP}/status":
            self.status = call.body["status"]
        return ScriptedResponse(200)

    def assert_no_writes(self, seconds: float) -> None:
        self.patched.setattr(status_writer, "QUIET_SECONDS", seconds)

    def write_status(self, kind: str, code: str, message: str = "why") -> list[str]:
        """Write the status of an outcome; return the writes."""
        before = len(self.server.writes())
        pod_group_outcome = outcome(kind, code, message)
        pod_group_outcome.pod_group = self.uid
        self.writer.report(DecideResponse(outcomes=[pod_group_outcome]), [])
        self.writer._write_due()
        return [write.rpartition("/")[2] for write in self.server.writes()[before:]]

    def bind(self) -> None:
        """The API server bound the pod; the object cache follows later."""
        self.world.mirrors.bound_to["uid-p"] = "n"

    def start(self) -> list[str]:
        """Bind the pod and report it; return the writes."""
        self.bind()
        return self.write_status("BOUND", "ALLOCATED")

    def set_aside(self) -> list[str]:
        """Observe changes and write what is set aside; return the writes."""
        before = len(self.server.writes())
        self.picture.delta(NOW)
        self.writer.report_set_aside(self.picture.set_aside.take_new())
        self.writer._write_due()
        return [write.rpartition("/")[2] for write in self.server.writes()[before:]]

    @property
    def conditions(self) -> list[dict[str, Any]]:
        return list(self.status["schedulingConditions"])


@pytest.fixture
def rig(scripted_server: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[StatusRig]:
    made = StatusRig(scripted_server, monkeypatch)
    made.assert_no_writes(0)
    return made


def test_condition_of_a_quota_wait_has_reason_waiting_for_quota(rig: StatusRig) -> None:
    assert rig.write_status("WAITING_FOR_QUOTA", "NON_PREEMPTIBLE_OVER_QUOTA") == [
        "status",
        "status",
        "events",
    ]
    (condition,) = rig.conditions
    assert condition["reasons"] == [{"reason": "NonPreemptibleOverQuota", "message": "why"}]
    assert (condition["type"], condition["status"]) == ("UnschedulableOnNodePool", "True")
    body = next(call.body for call in rig.server.calls if call.path.endswith("/pods/p/status"))
    assert body["status"]["conditions"][0]["reason"] == "WaitingForQuota"
    assert body["metadata"]["uid"] == "uid-p"


def test_unchanged_condition_is_written_once_despite_new_message(rig: StatusRig) -> None:
    rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES", "2 of 4 fit")
    assert rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES", "3 of 4 fit") == []


def test_exhausted_budget_does_not_replace_a_condition(rig: StatusRig) -> None:
    rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    assert rig.write_status("BUDGET_EXHAUSTED", "BUDGET_EXHAUSTED") == []
    assert rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES") == []


def test_condition_that_reverts_within_the_quiet_time_is_not_written(rig: StatusRig) -> None:
    rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    rig.assert_no_writes(3600)
    assert rig.write_status("WAITING_FOR_RELEASE", "PIPELINED") == []
    assert rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES") == []
    rig.assert_no_writes(0)
    assert rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES") == []
    assert len(rig.server.writes()) == 3


def test_lasting_condition_is_written_after_the_quiet_time(rig: StatusRig) -> None:
    rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    rig.assert_no_writes(3600)
    rig.write_status("WAITING_FOR_VICTIMS", "VICTIMS_EVICTED")
    rig.assert_no_writes(0)
    assert "status" in rig.write_status("WAITING_FOR_VICTIMS", "VICTIMS_EVICTED")
    assert rig.conditions[0]["status"] == "False"
    assert rig.conditions[0]["transitionID"] == "2"


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
    rig: StatusRig, answer: ScriptedResponse, is_tried_again: bool
) -> None:
    rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    answers = [answer]
    rig.server.rules.insert(
        0, lambda call: answers.pop() if answers and call.path == f"{GROUP}/status" else None
    )
    rig.start()
    assert rig.conditions[0]["status"] == "True"
    rig.writer._write_due()
    assert (rig.conditions[0]["status"] == "False") == is_tried_again
    rig.writer._write_due()
    assert len([write for write in rig.server.writes() if write == f"PATCH {GROUP}/status"]) <= 3


def test_failed_pod_status_write_is_retried(rig: StatusRig) -> None:
    waits = "/api/v1/namespaces/team/pods/p/status"
    answers = [ScriptedResponse(500)]
    rig.server.rules.insert(0, lambda call: answers.pop() if answers and call.path == waits else None)
    rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    rig.writer._write_due()
    rig.writer._write_due()
    assert rig.server.writes().count(f"PATCH {waits}") == 2
    assert rig.server.writes().count(f"PATCH {GROUP}/status") == 1


def test_gang_with_pods_being_created_gets_no_condition(rig: StatusRig) -> None:
    rig.assert_no_writes(3600)
    assert rig.write_status("INVALID_POD_GROUP", "NOT_READY") == []
    assert rig.write_status("BOUND", "ALLOCATED") == []


def test_gang_with_missing_pods_gets_a_condition_after_the_quiet_time(rig: StatusRig) -> None:
    now = time.monotonic()
    rig.patched.setattr(status_writer.time, "monotonic", lambda: now)
    rig.assert_no_writes(5)
    assert rig.write_status("INVALID_POD_GROUP", "NOT_READY") == []
    assert rig.write_status("INVALID_POD_GROUP", "NOT_READY") == []
    now += 5
    assert rig.write_status("INVALID_POD_GROUP", "NOT_READY") == ["status", "status", "events"]


def test_adapter_without_lease_writes_no_status_until_the_lease_returns(rig: StatusRig) -> None:
    def lose(call: RecordedCall) -> None:
        rig.leads = call.path != GROUP

    rig.server.rules.insert(0, lose)
    assert rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES") == ["status"]
    assert rig.server.calls[-1].method == "GET"
    rig.server.rules.remove(lose)
    rig.leads = True
    rig.writer._write_due()
    assert rig.conditions[0]["status"] == "True"


def test_foreign_conditions_are_preserved(rig: StatusRig) -> None:
    other = {"type": "UnschedulableOnNodePool", "nodePool": "elsewhere", "status": "True"}
    rig.status = {"schedulingConditions": [other]}
    rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    assert other in rig.conditions
    assert len(rig.conditions) == 2


def test_immediate_start_writes_only_the_condition_that_kubectl_waits_for(rig: StatusRig) -> None:
    assert rig.start() == ["status"]
    assert list(rig.status) == ["conditions"]
    (condition,) = rig.status["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Scheduled", "True", "Allocated")
    assert rig.start() == []


def test_start_after_pending_changes_both_conditions(rig: StatusRig) -> None:
    rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    (pending,) = rig.status["conditions"]
    assert (pending["status"], pending["reason"]) == ("False", "InsufficientResources")
    rig.start()
    assert (rig.conditions[0]["status"], rig.conditions[0]["reason"]) == ("False", "Scheduled")
    (condition,) = rig.status["conditions"]
    assert (condition["status"], condition["transitionID"]) == ("True", "2")


def test_pod_group_is_not_told_as_scheduled_before_its_pods_are_bound(rig: StatusRig) -> None:
    assert rig.write_status("BOUND", "ALLOCATED") == []
    assert rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    rig.bind()
    rig.writer.report(DecideResponse(), [])
    rig.writer._write_due()
    assert rig.status["conditions"][0]["status"] == "False"


def test_condition_of_another_type_stays(rig: StatusRig) -> None:
    rig.status["conditions"] = [{"type": "Other", "status": "True"}]
    rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    assert [one["type"] for one in rig.status["conditions"]] == ["Other", "Scheduled"]


def test_existing_event_is_counted_up(rig: StatusRig) -> None:
    events = "/apis/events.k8s.io/v1/namespaces/team/events"
    rig.server.rules.insert(
        0, lambda call: ScriptedResponse(409) if (call.method, call.path) == ("POST", events) else None
    )
    written = rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    last = next(call for call in reversed(rig.server.calls) if call.method != "GET")
    assert written[-1].startswith("job.")
    assert (last.method, last.body["series"]["count"]) == ("PATCH", 2)


def test_null_conditions_are_treated_as_empty(rig: StatusRig) -> None:
    rig.status = {"schedulingConditions": None}
    assert "status" in rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    assert rig.conditions[0]["status"] == "True"


def nominations(rig: StatusRig, *groups: pb.DecisionGroup) -> list[tuple[str, Any]]:
    """Report groups in flight; return the pods whose nominated node is written, and its value."""
    before = len(rig.server.calls)
    rig.writer.report(DecideResponse(), [JournalEntry(one) for one in groups])
    rig.writer._write_due()
    written = [call for call in rig.server.calls[before:] if call.method == "PATCH"]
    return [(call.path.split("/")[-2], call.body["status"].get("nominatedNodeName")) for call in written]


def test_reserved_node_is_nominated_once_until_the_reservation_is_given_up(rig: StatusRig) -> None:
    for name in ("n1", "n2"):
        rig.world.put("nodes", node(name))
    rig.picture.delta(NOW)
    assert nominations(rig, group(reserve("p"))) == [("p", "n1")]
    assert nominations(rig, group(reserve("p"))) == []
    assert nominations(rig, group(reserve("p", "n2"), id="h")) == [("p", "n2")]
    assert nominations(rig) == [("p", None)]
    assert nominations(rig) == []


def test_reservation_that_an_earlier_adapter_told_is_removed(rig: StatusRig) -> None:
    rig.world.put("pods", pod("p", meta=member("job"), status={"nominatedNodeName": "n1"}))
    rig.picture.delta(NOW)
    assert nominations(rig) == [("p", None)]


def test_no_foreign_pod_and_no_node_of_another_pool_is_nominated(rig: StatusRig) -> None:
    rig.world.put("pods", pod("foreign", spec={"schedulerName": "default-scheduler"}))
    rig.world.put("nodes", node("n1"))
    rig.picture.delta(NOW)
    assert nominations(rig, group(reserve("foreign"), reserve("p", "elsewhere"))) == []


LONG = "x" * 254


def test_pod_group_that_is_set_aside_is_named_until_it_is_scheduled_again(rig: StatusRig) -> None:
    rig.world.put("kai_pod_groups", pod_group("job", queue=LONG))
    assert rig.set_aside() == ["status", "status", "events"]
    assert (rig.conditions[0]["reason"], rig.conditions[0]["status"]) == ("SetAside", "True")
    assert "has 254 characters" in rig.conditions[0]["message"]
    assert rig.set_aside() == []
    rig.world.put("kai_pod_groups", pod_group("job"))
    assert rig.set_aside() == []
    rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    assert rig.conditions[0]["reason"] == "Unschedulable"


def test_later_pods_of_a_pod_group_that_is_set_aside_get_its_condition(rig: StatusRig) -> None:
    rig.world.put("kai_pod_groups", pod_group("job", queue=LONG))
    rig.set_aside()
    rig.world.put("pods", pod("later", meta=member("job")))
    rig.set_aside()
    assert "PATCH /api/v1/namespaces/team/pods/later/status" in rig.server.writes()
    assert rig.server.writes().count("POST /apis/events.k8s.io/v1/namespaces/team/events") == 1


def test_set_aside_condition_replaces_one_that_is_not_written_yet(rig: StatusRig) -> None:
    rig.writer.report(DecideResponse(outcomes=[outcome("INFEASIBLE", "INSUFFICIENT_RESOURCES")]), [])
    rig.world.put("kai_pod_groups", pod_group("job", queue=LONG))
    rig.set_aside()
    assert rig.conditions[0]["reason"] == "SetAside"


def test_outcome_does_not_replace_the_reason_of_a_forbidden_queue(
    scripted_server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod group with pods on nodes keeps its row, so that its pending pods have an outcome."""
    access = QueueAccess(namespaces={"theirs": ("elsewhere",)})
    scope = SnapshotScope(cluster_id="test", node_pool_label="", queue_access=access)
    rig = StatusRig(scripted_server, monkeypatch, scope)
    rig.assert_no_writes(0)
    rig.world.put("pods", running("runs", meta=member("job")))
    rig.set_aside()
    rig.world.put("kai_pod_groups", pod_group("job", queue="theirs", minMember=1))
    rig.set_aside()
    assert rig.picture.pod_group(rig.uid) is not None
    assert rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES") == []
    assert rig.conditions[0]["reason"] == "QueueForbidden"
    rig.world.put("kai_pod_groups", pod_group("job", minMember=1))
    rig.set_aside()
    rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    assert rig.conditions[0]["reason"] == "Unschedulable"


def test_pod_group_without_own_pods_is_set_aside_without_a_write(rig: StatusRig) -> None:
    rig.world.put("kai_pod_groups", pod_group("theirs", queue=LONG))
    spec = {"schedulerName": "default-scheduler"}
    rig.world.put("pods", pod("foreign", meta=member("theirs"), spec=spec))
    assert rig.set_aside() == []
    assert [one.target.name for one in rig.picture.set_aside.objects.values()] == ["theirs"]


def test_many_objects_that_are_set_aside_do_not_delay_other_conditions(rig: StatusRig) -> None:
    for number in range(200):
        rig.world.put("pods", pod(f"bad-{number}", meta={"annotations": {names.VOLCANO_QUEUE: LONG}}))
    rig.picture.delta(NOW)
    rig.writer.report_set_aside(rig.picture.set_aside.take_new())
    written = rig.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    assert rig.server.writes()[:2] == ["PATCH /api/v1/namespaces/team/pods/p/status", f"PATCH {GROUP}/status"]
    assert len(written) == 3 + 2 * 50
