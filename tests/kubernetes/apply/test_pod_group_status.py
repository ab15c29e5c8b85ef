"""Conditions of pod groups of Kubernetes itself: one type per version, written when they change."""

from typing import Any

import pytest
from tenure.kubernetes.api.transport import LeaderTransport, Transport
from tenure.kubernetes.apply.conditions import SchedulingCondition
from tenure.kubernetes.apply.pod_group_status import PodGroupStatusWriter
from tenure.kubernetes.objects.meta import ObjectReference

from tests.kubernetes.apply.scripted_api_server import RecordedCall, ScriptedApiServer, ScriptedResponse

Served = tuple[ScriptedApiServer, Transport]
FIRST, LATER = "PodGroupScheduled", "PodGroupInitiallyScheduled"
WAITS = SchedulingCondition("Unschedulable", "NoCapacity", "2 of 4 pods fit")
BLOCKED = SchedulingCondition("Blocked", "Blocked", "Pod p: volume v")
BOUND = SchedulingCondition("", "Allocated", "all pods are bound")
LONG_AGO = "2026-01-01T00:00:00Z"


def told(kind: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": LONG_AGO,
    }


def write(served: Served, condition: SchedulingCondition, version: str, *there: dict[str, Any]) -> Any:
    """The written condition; None: none is written."""
    server, transport = served
    path = f"/apis/scheduling.k8s.io/{version}/namespaces/team/podgroups/g"
    found: list[dict[str, Any]] = []

    def respond(call: RecordedCall) -> ScriptedResponse:
        if call.method == "GET" and call.path == path:
            meta = {"uid": "u", "resourceVersion": "7"}
            return ScriptedResponse(200, {"metadata": meta, "status": {"conditions": [*there]}})
        assert call.path == f"{path}/status"
        found.extend(call.body["status"]["conditions"])
        return ScriptedResponse(200)

    server.rules.append(respond)
    subject = ObjectReference(f"scheduling.k8s.io/{version}", "PodGroup", "team", "g", "u")
    is_written = PodGroupStatusWriter(LeaderTransport(transport, lambda: True), "").write(subject, condition)
    assert is_written == bool(found)
    return found[0] if found else None


@pytest.mark.parametrize(("version", "kind"), [("v1alpha2", FIRST), ("v1alpha3", LATER), ("v1beta1", LATER)])
def test_type_of_the_condition_follows_the_version(scripted_server: Served, version: str, kind: str) -> None:
    fresh = write(scripted_server, WAITS, version)
    moment = fresh.pop("lastTransitionTime")
    assert moment > LONG_AGO
    assert fresh == {"type": kind, "status": "False", "reason": "NoCapacity", "message": "2 of 4 pods fit"}


UNCHANGED = {
    "same, with another count": (WAITS, "v1alpha2", told(FIRST, "False", "NoCapacity", "3 of 4 pods fit")),
    "same object": (BLOCKED, "v1alpha2", told(FIRST, "False", "Blocked", "Pod p: volume v")),
    "scheduled before": (WAITS, "v1beta1", told(LATER, "True", "Allocated")),
    "scheduled": (BOUND, "v1beta1", told(LATER, "True", "Scheduled")),
}


@pytest.mark.parametrize("case", UNCHANGED)
def test_unchanged_or_final_condition_is_not_written(scripted_server: Served, case: str) -> None:
    assert write(scripted_server, *UNCHANGED[case]) is None


def test_condition_of_an_evicted_pod_group_becomes_false_again_in_the_first_version(
    scripted_server: Served,
) -> None:
    fresh = write(scripted_server, WAITS, "v1alpha2", told(FIRST, "True", "Allocated"))
    assert (fresh["status"], fresh["lastTransitionTime"] > LONG_AGO) == ("False", True)


def test_time_of_a_condition_changes_with_its_status_only(scripted_server: Served) -> None:
    fresh = write(
        scripted_server, BLOCKED, "v1alpha2", told(FIRST, "False", "Blocked", "Pod p: volume other")
    )
    assert (fresh["message"], fresh["lastTransitionTime"]) == ("Pod p: volume v", LONG_AGO)


def test_conditions_of_others_are_left_to_them(scripted_server: Served) -> None:
    other = told("DisruptionTarget", "True", "PreemptionByScheduler")
    assert write(scripted_server, WAITS, "v1alpha2", other)["type"] == FIRST
