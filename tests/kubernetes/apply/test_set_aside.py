"""The status of pod groups that are set aside: what must be mended, told without delay for others."""

import pytest
from tenure.kubernetes.objects import names
from tenure.kubernetes.observe.snapshot_scope import QueueAccess, SnapshotScope
from tenure.v1.decide_pb2 import DecideResponse

from tests.kubernetes.apply.decision_groups import NOW
from tests.kubernetes.apply.status_rig import GROUP, Served, StatusRig, outcome
from tests.kubernetes.observe.cached_cluster import (
    member,
    pod,
    pod_group,
    running,
)

LONG = "x" * 254


def test_pod_group_that_is_set_aside_is_named_until_it_is_scheduled_again(statuses: StatusRig) -> None:
    statuses.world.put("kai_pod_groups", pod_group("job", queue=LONG))
    assert statuses.set_aside() == ["status", "status", "events"]
    assert (statuses.conditions[0]["reason"], statuses.conditions[0]["status"]) == ("SetAside", "True")
    assert "has 254 characters" in statuses.conditions[0]["message"]
    assert statuses.set_aside() == []
    statuses.world.put("kai_pod_groups", pod_group("job"))
    assert statuses.set_aside() == []
    statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    assert statuses.conditions[0]["reason"] == "Unschedulable"


def test_later_pods_of_a_pod_group_that_is_set_aside_get_its_condition(statuses: StatusRig) -> None:
    statuses.world.put("kai_pod_groups", pod_group("job", queue=LONG))
    statuses.set_aside()
    statuses.world.put("pods", pod("later", meta=member("job")))
    statuses.set_aside()
    assert "PATCH /api/v1/namespaces/team/pods/later/status" in statuses.server.writes()
    assert statuses.server.writes().count("POST /apis/events.k8s.io/v1/namespaces/team/events") == 1


def test_set_aside_condition_replaces_one_that_is_not_written_yet(statuses: StatusRig) -> None:
    statuses.writer.report(DecideResponse(outcomes=[outcome("INFEASIBLE", "INSUFFICIENT_RESOURCES")]), [])
    statuses.world.put("kai_pod_groups", pod_group("job", queue=LONG))
    statuses.set_aside()
    assert statuses.conditions[0]["reason"] == "SetAside"


def test_outcome_does_not_replace_the_reason_of_a_forbidden_queue(
    scripted_server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod group with pods on nodes keeps its row, so that its pending pods have an outcome."""
    access = QueueAccess(namespaces={"theirs": ("elsewhere",)})
    scope = SnapshotScope(cluster_id="test", node_pool_label="", queue_access=access)
    statuses = StatusRig(scripted_server, monkeypatch, scope)
    statuses.assert_no_writes(0)
    statuses.world.put("pods", running("runs", meta=member("job")))
    statuses.set_aside()
    statuses.world.put("kai_pod_groups", pod_group("job", queue="theirs", minMember=1))
    statuses.set_aside()
    assert statuses.picture.pod_group(statuses.uid) is not None
    assert statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES") == []
    assert statuses.conditions[0]["reason"] == "QueueForbidden"
    statuses.world.put("kai_pod_groups", pod_group("job", minMember=1))
    statuses.set_aside()
    statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    assert statuses.conditions[0]["reason"] == "Unschedulable"


def test_pod_group_without_own_pods_is_set_aside_without_a_write(statuses: StatusRig) -> None:
    statuses.world.put("kai_pod_groups", pod_group("theirs", queue=LONG))
    spec = {"schedulerName": "default-scheduler"}
    statuses.world.put("pods", pod("foreign", meta=member("theirs"), spec=spec))
    assert statuses.set_aside() == []
    assert [one.target.name for one in statuses.picture.set_aside.objects.values()] == ["theirs"]


def test_many_objects_that_are_set_aside_do_not_delay_other_conditions(statuses: StatusRig) -> None:
    for number in range(200):
        statuses.world.put("pods", pod(f"bad-{number}", meta={"annotations": {names.VOLCANO_QUEUE: LONG}}))
    statuses.picture.delta(NOW)
    statuses.writer.report_set_aside(statuses.picture.set_aside.take_new())
    written = statuses.write_status("INFEASIBLE", "INSUFFICIENT_RESOURCES")
    assert statuses.server.writes()[:2] == [
        "PATCH /api/v1/namespaces/team/pods/p/status",
        f"PATCH {GROUP}/status",
    ]
    assert len(written) == 3 + 2 * 50
