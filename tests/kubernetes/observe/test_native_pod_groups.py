"""Pod groups of Kubernetes itself (`scheduling.k8s.io`): fields, wishes, refusals."""

from dataclasses import replace
from typing import Any, Final

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.objects.meta import ObjectReference
from tenure.kubernetes.observe.snapshot_scope import QueueAccess
from tenure.v1 import snapshot_pb2 as pb

from tests.kubernetes.observe.cached_cluster import (
    CONFIG,
    LATER,
    NOW,
    CachedCluster,
    member,
    pod,
    pod_group,
    running,
)

NATIVE: Final = {"schedulingGroup": {"podGroupName": "g"}}
GANG: Final = {"schedulingPolicy": {"gang": {"minCount": 3}}}
ALL: Final[dict[str, Any]] = {"all": {}}


def native_cluster(version: str = "v1alpha2") -> CachedCluster:
    world = CachedCluster()
    world.mirrors.followed_collections["native_pod_groups"] = f"/apis/scheduling.k8s.io/{version}/podgroups"
    world.put("priority_classes", {"metadata": {"name": "high"}, "value": 90})
    world.put("priority_classes", {"metadata": {"name": "train"}, "value": 50})
    world.put("topologies", {"metadata": {"name": "b"}, "spec": {"levels": [{"nodeLabel": "rack"}]}})
    levels = [{"nodeLabel": "zone"}, {"nodeLabel": "rack"}]
    world.put("topologies", {"metadata": {"name": "a"}, "spec": {"levels": levels}})
    return world


def native(meta: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "g", "namespace": "team", **(meta or {})}, "spec": {**GANG, **spec}}


def row_of(group: dict[str, Any], *pods: dict[str, Any]) -> pb.PodGroup:
    world = native_cluster()
    world.put("native_pod_groups", group)
    for one in pods or (pod("p", spec=NATIVE),):
        world.put("pods", one)
    (row,) = world.snapshot().pod_groups
    return row


def test_fields_of_a_gang() -> None:
    assert row_of(native()) == pb.PodGroup(
        uid="native_pod_groups-g",
        name="g",
        namespace="team",
        queue="default-queue",
        priority=50,
        min_member=3,
        creation_time=Timestamp(seconds=1_798_761_600),
    )


CONSTRAINT: Final = {"topology": [{"key": "rack"}]}


@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        ({"schedulingPolicy": {"basic": {}}}, "min_member", 1),
        ({"schedulingPolicy": {"gang": {"minCount": 2**31 - 1}}}, "min_member", 2**31 - 1),
        ({"priorityClassName": "high"}, "priority", 90),
        ({"priorityClassName": "gone"}, "priority", 50),
        ({"preemptionPolicy": "Never"}, "never_evicts", True),
        ({"preemptionPolicy": "PreemptLowerPriority"}, "never_evicts", False),
        (
            {"schedulingConstraints": CONSTRAINT},
            "topology_constraint",
            pb.TopologyConstraint(topology="a", required_level="rack"),
        ),
    ],
)
def test_field_of_the_spec(spec: dict[str, Any], field: str, value: object) -> None:
    assert getattr(row_of(native(**spec)), field) == value


@pytest.mark.parametrize("mode", ["PodGroup", ALL])
def test_disruption_mode_makes_all_running_pods_the_minimum(mode: object) -> None:
    pods = [running(f"r{i}", spec=NATIVE) for i in range(4)]
    leaving = running("leaves", spec=NATIVE, meta={"deletionTimestamp": "2027-01-15T08:00:00Z"})
    waiting = pod("waits", spec=NATIVE)
    assert row_of(native(disruptionMode=mode), *pods, leaving, waiting).min_member == 4
    assert row_of(native(disruptionMode=mode), waiting).min_member == 3


@pytest.mark.parametrize("mode", ["Pod", {"single": {}}, None])
def test_other_disruption_modes_leave_the_minimum(mode: object) -> None:
    pods = [running(f"r{i}", spec=NATIVE) for i in range(4)]
    assert row_of(native(disruptionMode=mode), *pods).min_member == 3


QUEUE, MODE = "kai.scheduler/queue", "kai.scheduler/preemptibility"


def test_wishes_come_from_the_pod_group_then_from_its_pods() -> None:
    own = {"labels": {QUEUE: "of-group"}}
    of_pod = {"labels": {QUEUE: "of-pod", MODE: "preemptible", "priorityClassName": "high"}}
    row = row_of(native(own), pod("p", spec=NATIVE, meta=of_pod))
    assert (row.queue, row.annotations[MODE], row.priority) == ("of-group", "preemptible", 90)
    assert row_of(native(), pod("p", spec=NATIVE, meta=of_pod)).queue == "of-pod"


def test_priority_class_without_permission_is_ignored() -> None:
    world = native_cluster()
    world.put("native_pod_groups", native(priorityClassName="high"))
    world.put("pods", pod("p", spec=NATIVE))
    (row,) = world.snapshot(replace(CONFIG, priority_classes=("low-*",))).pod_groups
    assert row.priority == 50


def test_forbidden_queue_is_refused() -> None:
    world = native_cluster()
    world.put("native_pod_groups", native({"labels": {QUEUE: "others"}}))
    world.put("pods", pod("p", spec=NATIVE))
    access = QueueAccess({"others": ["other-team"]})
    picture = world.builder(replace(CONFIG, queue_access=access))
    assert not picture.snapshot(NOW).pods
    (found,) = (one for one in picture.set_aside.objects.values() if one.target.kind == "PodGroup")
    assert found.reason.text == "namespace team may not use queue 'others'"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"resourceClaims": [{"name": "gpus", "resourceClaimName": "c"}]}, "spec.resourceClaims"),
        ({"parentCompositePodGroupName": "tree"}, "spec.parentCompositePodGroupName"),
        ({"schedulingPolicy": {"later": {}}}, "spec.schedulingPolicy without gang and basic"),
        (
            {"schedulingConstraints": {"topology": [{"key": "rack"}, {"key": "zone"}]}},
            "spec.schedulingConstraints.topology with several keys",
        ),
        (
            {"schedulingConstraints": {"topology": [{"key": "row"}]}},
            "spec.schedulingConstraints.topology: key 'row', a level of no Topology,",
        ),
    ],
)
def test_unsupported_field_blocks_pending_pods_and_protects_no_running_ones(
    spec: dict[str, Any], text: str
) -> None:
    world = native_cluster()
    world.put("native_pod_groups", native(**spec))
    world.put("pods", pod("waits", spec=NATIVE))
    world.put("pods", running("runs", spec=NATIVE))
    snapshot = world.snapshot()
    reasons = {row.name: row.blocked_reason for row in snapshot.pods}
    assert reasons == {"waits": f"{text} of pod group 'g' is not supported", "runs": ""}
    assert {row.pod_group for row in snapshot.pods} == {snapshot.pod_groups[0].uid}


def test_pods_start_once_the_topology_exists() -> None:
    world = native_cluster()
    world.put("native_pod_groups", native(schedulingConstraints={"topology": [{"key": "row"}]}))
    world.put("pods", pod("p", spec=NATIVE))
    picture = world.builder()
    assert picture.snapshot(NOW).pods[0].blocked_reason
    world.put("topologies", {"metadata": {"name": "c"}, "spec": {"levels": [{"nodeLabel": "row"}]}})
    delta = picture.delta(NOW)
    assert [row.blocked_reason for row in delta.upserts.pods] == [""]
    assert delta.upserts.pod_groups[0].topology_constraint.topology == "c"


def test_pod_waits_until_its_pod_group_exists() -> None:
    world = native_cluster()
    world.put("pods", pod("waits", spec=NATIVE))
    world.put("pods", running("runs", spec=NATIVE))
    for config in (CONFIG, replace(CONFIG, derive=False)):
        builder = world.builder(config)
        waits = {"waits": "its pod group 'g' of scheduling.k8s.io does not exist"}
        for now, runs in ((NOW, {}), (LATER, {"runs": ""})):
            reasons = {row.name: row.blocked_reason for row in builder.snapshot(now).pods}
            assert reasons == waits | runs
    picture = world.builder()
    picture.snapshot(NOW)
    picture.snapshot(LATER)
    world.put("native_pod_groups", native())
    delta = picture.delta(NOW)
    assert {row.name: row.blocked_reason for row in delta.upserts.pods} == {"waits": "", "runs": ""}
    assert [row.uid for row in delta.upserts.pod_groups] == ["native_pod_groups-g"]
    assert sorted(delta.removals.pod_groups) == ["uid-runs", "uid-waits"]


def test_deleting_the_pod_group_keeps_running_pods_in_their_queue() -> None:
    """Any user of a namespace may delete it: else its pods would be protected, and count nowhere."""
    world = native_cluster()
    uid = world.put("native_pod_groups", native())
    world.put("pods", running("r", spec=NATIVE, meta={"labels": {QUEUE: "q"}}))
    picture = world.builder()
    picture.snapshot(NOW)
    world.remove("native_pod_groups", uid)
    (group,) = picture.delta(NOW).upserts.pod_groups
    assert (group.uid, group.queue) == (uid, "q")


def test_pod_group_without_pods_of_this_scheduler_has_no_row() -> None:
    world = native_cluster()
    world.put("native_pod_groups", native())
    world.put("pods", pod("other", spec={**NATIVE, "schedulerName": "default-scheduler"}))
    assert not world.snapshot().pod_groups


def test_pod_group_with_stored_annotations_keeps_its_row_without_pods() -> None:
    world = native_cluster()
    stored = {"tenure.scheduler/eviction-count": "2", "tenure.scheduler/signature": "1.x"}
    world.put("native_pod_groups", native({"annotations": stored}))
    (row,) = world.snapshot().pod_groups
    assert (row.namespace, row.eviction_count) == ("team", 2)


def test_pod_groups_of_kai_and_volcano_precede() -> None:
    world = native_cluster()
    world.put("native_pod_groups", native())
    world.put("kai_pod_groups", pod_group("named"))
    world.put("pods", pod("p", spec=NATIVE, meta=member("named")))
    assert [row.uid for row in world.snapshot().pod_groups] == ["uid-named"]


@pytest.mark.parametrize("version", ["v1alpha2", "v1alpha3", "v1beta1"])
def test_subject_has_the_served_version(version: str) -> None:
    world = native_cluster(version)
    uid = world.put("native_pod_groups", native())
    world.put("pods", pod("p", spec=NATIVE))
    picture = world.builder()
    picture.snapshot(NOW)
    wanted = ObjectReference(f"scheduling.k8s.io/{version}", "PodGroup", "team", "g", uid)
    assert picture.subject(uid) == wanted


def test_node_pool_is_that_of_the_pod_group_else_of_its_pods() -> None:
    config = replace(CONFIG, node_pool="gpu", node_pool_label="pool")
    world = native_cluster()
    world.put("pods", pod("p", spec=NATIVE, meta={"labels": {"pool": "gpu"}}))
    world.put("native_pod_groups", native())
    assert len(world.snapshot(config).pods) == 1
    world.put("native_pod_groups", native({"labels": {"pool": "cpu"}}))
    assert not world.snapshot(config).pods
