"""What is said about pods that wait: the right word, and not again and again."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from tenure.client.kubernetes.apply import telling
from tenure.client.kubernetes.apply.conditions import verdict_of
from tenure.client.kubernetes.apply.telling import Teller
from tenure.client.kubernetes.transport import Transport
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decision_service_pb2 import DecideResponse

from tests.kube.apply.answering import Answer, ApiServer, Call
from tests.kube.apply.made import NOW
from tests.kube.observe.world import World, member, pod, pod_group, queue

Served = tuple[ApiServer, Transport]
GROUP = "/apis/scheduling.run.ai/v2alpha2/namespaces/team/podgroups/job"


def outcome(kind: str, code: str, message: str = "why") -> pb.PodGroupOutcome:
    return pb.PodGroupOutcome(
        pod_group="uid-job",
        kind=f"OUTCOME_KIND_{kind}",
        reason=pb.Reason(code=f"REASON_CODE_{code}", message=message),
    )


@pytest.mark.parametrize("kind", [kind for kind, number in pb.OutcomeKind.items() if number])
def test_unschedulable_is_said_of_what_cannot_run_and_of_nothing_else(kind: str) -> None:
    verdict = verdict_of(outcome(kind.removeprefix("OUTCOME_KIND_"), "NO_ROOM"))
    assert verdict is not None
    assert (verdict.reason == "Unschedulable") == (kind == "OUTCOME_KIND_INFEASIBLE")


def test_who_is_beyond_its_share_would_be_helped_by_a_node_more() -> None:
    verdict = verdict_of(outcome("WAITING_FOR_QUOTA", "OVER_FAIR_SHARE"))
    assert verdict is not None
    assert (verdict.reason, verdict.code) == ("Unschedulable", "OverFairShare")


class Rig:
    """A pod group that waits, and what is written about it."""

    def __init__(self, served: Served, patched: pytest.MonkeyPatch) -> None:
        self.server, transport = served
        self.patched = patched
        world = World()
        world.put("kai_queues", queue("q"))
        world.put("kai_pod_groups", pod_group("job", minMember=1))
        world.put("pods", pod("p", meta=member("job")))
        self.picture = world.picture()
        self.picture.snapshot(NOW)
        self.uid = next(row.uid for row in self.picture.snapshot(NOW).pod_groups)
        self.status: dict[str, Any] = {}
        self.server.rules.append(self._answer)
        self.leads = True
        self.teller = Teller(transport, world.mirrors, lambda: self.leads, "", "test")

    def _answer(self, call: Call) -> Answer:
        if call.method == "GET" and call.path == GROUP:
            meta = {"uid": self.uid, "resourceVersion": "7"}
            return Answer(200, {"metadata": meta, "status": self.status})
        if call.path == f"{GROUP}/status":
            self.status = call.body["status"]
        return Answer(200)

    def quiet_is(self, seconds: float) -> None:
        self.patched.setattr(telling, "QUIET_SECONDS", seconds)

    def tell(self, kind: str, code: str, message: str = "why") -> list[str]:
        """Tell an outcome; what was written."""
        before = len(self.server.writes())
        said = outcome(kind, code, message)
        said.pod_group = self.uid
        self.teller.tell(DecideResponse(outcomes=[said]), [], self.picture)
        self.teller._write_due()
        return [write.rpartition("/")[2] for write in self.server.writes()[before:]]

    @property
    def conditions(self) -> list[dict[str, Any]]:
        return list(self.status["schedulingConditions"])


@pytest.fixture
def rig(served: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    made = Rig(served, monkeypatch)
    made.quiet_is(0)
    return made


def test_who_waits_for_quota_is_told_which_quota(rig: Rig) -> None:
    assert rig.tell("WAITING_FOR_QUOTA", "NON_PREEMPTIBLE_OVER_QUOTA") == ["status", "status", "events"]
    (condition,) = rig.conditions
    assert condition["reasons"] == [{"reason": "NonPreemptibleOverQuota", "message": "why"}]
    assert (condition["type"], condition["status"]) == ("UnschedulableOnNodePool", "True")
    told = next(call.body for call in rig.server.calls if call.path.endswith("/pods/p/status"))
    assert told["status"]["conditions"][0]["reason"] == "WaitingForQuota"
    assert told["metadata"]["uid"] == "uid-p"


def test_the_same_verdict_is_written_once_whatever_its_words(rig: Rig) -> None:
    rig.tell("INFEASIBLE", "NO_ROOM", "2 of 4 fit")
    assert rig.tell("INFEASIBLE", "NO_ROOM", "3 of 4 fit") == []


def test_a_search_that_was_cut_short_takes_back_no_verdict(rig: Rig) -> None:
    rig.tell("INFEASIBLE", "NO_ROOM")
    assert rig.tell("BUDGET_EXHAUSTED", "BUDGET_EXHAUSTED") == []
    assert rig.tell("INFEASIBLE", "NO_ROOM") == []


def test_a_verdict_that_changes_back_within_the_quiet_time_is_not_written(rig: Rig) -> None:
    rig.tell("INFEASIBLE", "NO_ROOM")
    rig.quiet_is(3600)
    assert rig.tell("WAITING_FOR_RELEASE", "PIPELINED") == []
    assert rig.tell("INFEASIBLE", "NO_ROOM") == []
    rig.quiet_is(0)
    assert rig.tell("INFEASIBLE", "NO_ROOM") == []
    assert len(rig.server.writes()) == 3


def test_a_verdict_that_lasts_is_written_after_the_quiet_time(rig: Rig) -> None:
    rig.tell("INFEASIBLE", "NO_ROOM")
    rig.quiet_is(3600)
    rig.tell("WAITING_FOR_VICTIMS", "VICTIMS_EVICTED")
    rig.quiet_is(0)
    assert "status" in rig.tell("WAITING_FOR_VICTIMS", "VICTIMS_EVICTED")
    assert rig.conditions[0]["status"] == "False"
    assert rig.conditions[0]["transitionID"] == "2"


@pytest.mark.parametrize(
    ("answer", "is_tried_again"),
    [(Answer(409), True), (Answer(500), True), (Answer(0), True), (Answer(404), False), (Answer(403), False)],
)
def test_a_verdict_that_could_not_be_written_is_tried_again_if_that_may_help(
    rig: Rig, answer: Answer, is_tried_again: bool
) -> None:
    rig.tell("INFEASIBLE", "NO_ROOM")
    answers = [answer]
    rig.server.rules.insert(
        0, lambda call: answers.pop() if answers and call.path == f"{GROUP}/status" else None
    )
    rig.tell("BOUND", "ALLOCATED")
    assert rig.conditions[0]["status"] == "True"
    rig.teller._write_due()
    assert (rig.conditions[0]["status"] == "False") == is_tried_again
    rig.teller._write_due()
    assert len([write for write in rig.server.writes() if write == f"PATCH {GROUP}/status"]) <= 3


def test_a_pod_that_could_not_be_told_is_told_later(rig: Rig) -> None:
    waits = "/api/v1/namespaces/team/pods/p/status"
    answers = [Answer(500)]
    rig.server.rules.insert(0, lambda call: answers.pop() if answers and call.path == waits else None)
    rig.tell("INFEASIBLE", "NO_ROOM")
    rig.teller._write_due()
    rig.teller._write_due()
    assert rig.server.writes().count(f"PATCH {waits}") == 2
    assert rig.server.writes().count(f"PATCH {GROUP}/status") == 1


def test_a_gang_whose_pods_are_still_being_made_is_not_told_so(rig: Rig) -> None:
    rig.quiet_is(3600)
    assert rig.tell("REJECTED_INPUT", "NOT_READY") == []
    assert rig.tell("BOUND", "ALLOCATED") == []


def test_a_gang_whose_pods_do_not_come_is_told_so_after_the_quiet_time(rig: Rig) -> None:
    rig.quiet_is(0.05)
    assert rig.tell("REJECTED_INPUT", "NOT_READY") == []
    assert rig.tell("REJECTED_INPUT", "NOT_READY") == []
    time.sleep(0.05)
    assert rig.tell("REJECTED_INPUT", "NOT_READY") == ["status", "status", "events"]


def test_who_loses_the_lease_after_a_look_writes_nothing_until_it_is_back(rig: Rig) -> None:
    def lose(call: Call) -> None:
        rig.leads = call.path != GROUP

    rig.server.rules.insert(0, lose)
    assert rig.tell("INFEASIBLE", "NO_ROOM") == ["status"]
    assert rig.server.calls[-1].method == "GET"
    rig.server.rules.remove(lose)
    rig.leads = True
    rig.teller._write_due()
    assert rig.conditions[0]["status"] == "True"


def test_conditions_of_others_stay(rig: Rig) -> None:
    other = {"type": "UnschedulableOnNodePool", "nodePool": "elsewhere", "status": "True"}
    rig.status = {"schedulingConditions": [other]}
    rig.tell("INFEASIBLE", "NO_ROOM")
    assert other in rig.conditions
    assert len(rig.conditions) == 2


def test_what_starts_at_once_gets_no_condition_but_one_that_waited_does(rig: Rig) -> None:
    assert rig.tell("BOUND", "ALLOCATED") == []
    rig.tell("INFEASIBLE", "NO_ROOM")
    rig.tell("BOUND", "ALLOCATED")
    assert (rig.conditions[0]["status"], rig.conditions[0]["reason"]) == ("False", "Scheduled")


def test_an_event_that_is_there_already_is_counted_up(rig: Rig) -> None:
    events = "/apis/events.k8s.io/v1/namespaces/team/events"
    rig.server.rules.insert(
        0, lambda call: Answer(409) if (call.method, call.path) == ("POST", events) else None
    )
    written = rig.tell("INFEASIBLE", "NO_ROOM")
    last = rig.server.calls[-1]
    assert written[-1].startswith("job.")
    assert (last.method, last.body["series"]["count"]) == ("PATCH", 2)


def test_an_object_with_null_for_conditions_is_told_like_any_other(rig: Rig) -> None:
    rig.status = {"schedulingConditions": None}
    assert "status" in rig.tell("INFEASIBLE", "NO_ROOM")
    assert rig.conditions[0]["status"] == "True"
