"""Pod groups of KAI and Volcano: fields, annotations, and invalid objects."""

from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.objects.meta import ObjectReference
from tenure.v1 import snapshot_pb2 as pb

from tests.kubernetes.observe.cached_cluster import (
    CONFIG,
    LATER,
    NOW,
    CachedCluster,
    member,
    node,
    pod,
    pod_group,
    queue,
    running,
)


def of_kai(world: CachedCluster | None = None, **spec: Any) -> pb.PodGroup:
    world = world or CachedCluster()
    world.put("kai_pod_groups", pod_group("g", **spec))
    return world.snapshot().pod_groups[0]


def of_volcano(world: CachedCluster | None = None, **spec: Any) -> pb.PodGroup:
    world = world or CachedCluster()
    world.put("volcano_pod_groups", pod_group("g", **spec))
    return world.snapshot().pod_groups[0]


def timestamp(text: str) -> Timestamp:
    moment = Timestamp()
    moment.FromJsonString(text)
    return moment


def test_fields_of_kai() -> None:
    row = of_kai(
        minMember=3,
        preemptibility="non-preemptible",
        preemptionDelay="1m",
        stalenessGracePeriod="-1s",
        queue="x",
    )
    assert row == pb.PodGroup(
        uid="uid-g",
        name="g",
        namespace="team",
        queue="x",
        priority=50,
        preemptibility=pb.PREEMPTIBILITY_NON_PREEMPTIBLE,
        min_member=3,
        creation_time=timestamp("2027-01-01T00:00:00Z"),
        preemption_delay=Duration(seconds=60),
        staleness_grace_period=Duration(seconds=-1),
    )


def test_an_unset_minimum_is_one() -> None:
    assert of_kai().min_member == 1


@pytest.mark.parametrize("make", [of_kai, of_volcano])
def test_annotations_fill_stored_fields_and_pass_through_those_the_server_reads(make: Any) -> None:
    annotations = {
        "kai.scheduler/last-start-timestamp": "2027-01-03T00:00:00Z",
        "kai.scheduler/last-eviction-timestamp": "2027-01-04T01:00:00+01:00",
        "kai.scheduler/stale-podgroup-timestamp": "2027-01-05T00:00:00.5Z",
        "tenure.scheduler/eviction-count": "4",
        "tenure.scheduler/total-eviction-wait": "90.5s",
        "tenure.scheduler/evictions-without-progress": "2",
        "tenure.scheduler/last-notice-timestamp": "2027-01-06T00:00:00Z",
        "tenure.scheduler/held-by": "evicted",
        "tenure.scheduler/on-evict": "Hold",
        "tenure.scheduler/suspendable": "true",
        "tenure.scheduler/released": "2025-01-05T00:00:00Z",
        "tenure.scheduler/evictions": "preempt=1,reclaim=2",
        "kai.scheduler/preemptibility": "Semi-Preemptible",
        "kai.scheduler/expected-runtime": "5d8h40m",
        "kai.scheduler/requeue-delay": "1h",
        "kai.scheduler/requeue-not-before": "2027-01-06T00:00:00Z",
        "unrelated": "x",
    }
    row = make(annotations=annotations)
    assert row.last_start_time == timestamp("2027-01-03T00:00:00Z")
    assert row.last_eviction_time == timestamp("2027-01-04T00:00:00Z")
    assert row.stale_since == timestamp("2027-01-05T00:00:00.5Z")
    assert row.eviction_count == 4
    assert row.total_eviction_wait == Duration(seconds=90, nanos=500_000_000)
    assert row.evictions_without_progress == 2
    assert row.last_notice_time == timestamp("2027-01-06T00:00:00Z")
    assert (row.held_by, row.on_evict, row.suspendable) == (pb.HOLD_REASON_EVICTED, pb.FATE_HOLD, True)
    assert row.release_time == timestamp("2025-01-05T00:00:00Z")
    assert row.evictions.by_cause == {"preempt": 1, "reclaim": 2}
    passed = {
        key for key in annotations if key.startswith("kai.scheduler/") and not key.endswith("-timestamp")
    }
    assert set(row.annotations) == passed
    assert row.annotations["kai.scheduler/preemptibility"] == "Semi-Preemptible"


@pytest.mark.parametrize("text", ["yesterday", "2027-01-03", "2027-13-03T00:00:00Z"])
def test_unreadable_start_time_is_a_warning_and_derived_from_the_pods(text: str) -> None:
    world = CachedCluster()
    world.put("nodes", node())
    world.put(
        "kai_pod_groups",
        pod_group("g", annotations={"kai.scheduler/last-start-timestamp": text}, minMember=2),
    )
    for name, start in {
        "a": "2027-01-05T00:00:00Z",
        "b": "2027-01-04T00:00:00Z",
        "c": "2027-01-06T00:00:00Z",
    }.items():
        world.put("pods", running(name, meta=member("g"), status={"startTime": start}))
    picture = world.builder()
    assert picture.snapshot(NOW).pod_groups[0].last_start_time == timestamp("2027-01-05T00:00:00Z")
    assert [warned.subject for warned in picture.warnings.take_new()] == ["PodGroup team/g"]


def test_an_unknown_mode_protects() -> None:
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g", preemptibility="sometimes"))
    picture = world.builder()
    assert picture.snapshot(NOW).pod_groups[0].preemptibility == pb.PREEMPTIBILITY_NON_PREEMPTIBLE
    assert "sometimes" in picture.warnings.take_new()[0].text


def test_preemptibility_label_counts_without_annotation() -> None:
    key = "kai.scheduler/preemptibility"
    assert of_kai(labels={key: "preemptible"}).annotations[key] == "preemptible"
    assert of_kai(labels={key: "preemptible"}, annotations={key: "x"}).annotations[key] == "x"


def test_priorities_follow_classes_and_their_changes() -> None:
    world = CachedCluster()
    world.put("priority_classes", {"metadata": {"name": "high"}, "value": 125})
    world.put("kai_pod_groups", pod_group("g", priorityClassName="high"))
    world.put("kai_pod_groups", pod_group("h", priorityClassName="gone"))
    picture = world.builder()
    assert [row.priority for row in picture.snapshot(NOW).pod_groups] == [125, 50]
    world.put("priority_classes", {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True})
    assert [(row.name, row.priority) for row in picture.delta(NOW).upserts.pod_groups] == [("h", 7)]


def test_sub_group_minimum_counts_pods_in_leaves_and_sub_groups_elsewhere() -> None:
    row = of_kai(
        minSubGroup=1,
        minMember=9,
        subGroups=[
            {"name": "top", "minSubGroup": 2, "minMember": 5},
            {"name": "A", "parent": "Top", "minMember": 2},
            {"name": "b", "parent": "top", "minSubGroup": 1},
        ],
    )
    assert not row.HasField("min_member")
    assert row.min_sub_group == 1
    assert list(row.sub_groups) == [
        pb.SubGroup(name="top", min_sub_group=2),
        pb.SubGroup(name="A", parent="Top", min_member=2),
        pb.SubGroup(name="b", parent="top"),
    ]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"subGroups": [{"name": "a"}, {"name": "A"}]}, "empty or repeated"),
        ({"subGroups": [{"name": ""}]}, "empty"),
        ({"subGroups": [{"name": "a", "parent": "x"}]}, "does not exist"),
        ({"subGroups": [{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]}, "contains itself"),
        (
            {"topologyConstraint": {"topology": "t", "requiredTopologyLevel": "rack"}},
            "topology 't' does not exist",
        ),
    ],
)
def test_pods_on_nodes_of_an_unusable_pod_group_stay_in_reach(spec: dict[str, Any], reason: str) -> None:
    world = CachedCluster()
    world.put("nodes", node())
    world.put("kai_pod_groups", pod_group("g", **spec))
    world.put("pods", running("p", meta=member("g")))
    picture = world.builder()
    snapshot = picture.snapshot(NOW)
    (row,) = snapshot.pod_groups
    assert (row.queue, row.preemptibility) == ("q", pb.PREEMPTIBILITY_NON_PREEMPTIBLE)
    assert not row.HasField("grant"), "the quota of its queue limits what it requests"
    assert not row.sub_groups
    assert [pod.uid for pod in snapshot.pods] == ["uid-p"]
    assert reason in picture.warnings.take_new()[0].text
    world.put("kai_pod_groups", pod_group("g"))
    assert [row.queue for row in picture.delta(NOW).upserts.pod_groups] == ["q"]


def test_unusable_pod_group_without_pods_on_nodes_is_skipped() -> None:
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g", subGroups=[{"name": ""}]))
    world.put("pods", pod("p", meta=member("g")))
    snapshot = world.snapshot()
    assert not snapshot.pod_groups
    assert not snapshot.pods


def test_message_says_what_becomes_of_the_pods_of_a_pod_group_without_a_row() -> None:
    world = CachedCluster()
    world.put("nodes", node())
    world.put("pods", running("p", meta=member("g")))
    world.put_unreadable("kai_pod_groups", pod_group("g", queue=7))
    picture = world.builder()
    assert not picture.snapshot(NOW).pod_groups
    text = "it cannot be read: odd: its pods are omitted, and nothing evicts those on nodes"
    assert ("PodGroup team/g", text) in picture.warnings.take_new()


def test_topology_constraints_follow_the_existing_topologies() -> None:
    world = CachedCluster()
    constraint = {"topology": "t", "requiredTopologyLevel": "zone", "preferredTopologyLevel": "rack"}
    world.put("kai_pod_groups", pod_group("g", topologyConstraint=constraint))
    picture = world.builder()
    assert not picture.snapshot(NOW).pod_groups
    levels = [{"nodeLabel": "zone"}, {"nodeLabel": "rack"}]
    uid = world.put("topologies", {"metadata": {"name": "t"}, "spec": {"levels": levels}})
    delta = picture.delta(NOW)
    assert delta.upserts.topologies[0] == pb.Topology(name="t", levels=["zone", "rack"])
    assert delta.upserts.pod_groups[0].topology_constraint == pb.TopologyConstraint(
        topology="t", required_level="zone", preferred_level="rack"
    )
    world.remove("topologies", uid)
    assert list(picture.delta(NOW).removals.pod_groups) == ["uid-g"]


@pytest.mark.parametrize(
    ("annotations", "mode"),
    [
        ({}, ""),
        ({"volcano.sh/preemptable": "true"}, "Preemptible"),
        ({"volcano.sh/preemptable": "False"}, "Non-Preemptible"),
        ({"volcano.sh/preemptable": "perhaps"}, "Non-Preemptible"),
        (
            {"volcano.sh/preemptable": "true", "kai.scheduler/preemptibility": "Non-Preemptible"},
            "Non-Preemptible",
        ),
    ],
)
def test_volcano_preemptable_annotation_sets_preemptibility(annotations: dict[str, str], mode: str) -> None:
    row = of_volcano(annotations=annotations)
    assert (row.annotations.get("kai.scheduler/preemptibility", ""), row.preemptibility) == (mode, 0)


def test_volcano_tasks_with_minimum_are_sub_groups() -> None:
    world = CachedCluster()
    for name, task in {"a": "Master", "b": "worker", "c": "extra"}.items():
        annotations = {"scheduling.k8s.io/group-name": "g", "volcano.sh/task-spec": task}
        world.put("pods", pod(name, meta={"annotations": annotations}))
    row = of_volcano(world, minMember=3, minTaskMember={"master": 1, "worker": 2})
    assert not row.HasField("min_member")
    assert {part.name: part.min_member for part in row.sub_groups} == {"master": 1, "worker": 2, "extra": 0}
    parts = {row.name: row.sub_group for row in world.snapshot().pods}
    assert parts == {"a": "master", "b": "worker", "c": "extra"}


def test_volcano_tasks_without_minimum_are_not_sub_groups() -> None:
    world = CachedCluster()
    annotations = {"scheduling.volcano.sh/group-name": "g", "volcano.sh/task-spec": "worker"}
    world.put("pods", pod("a", meta={"annotations": annotations}))
    row = of_volcano(world, minMember=3)
    assert (row.min_member, len(row.sub_groups), row.queue) == (3, 0, "q")
    assert world.snapshot().pods[0].sub_group == ""


def test_target_object_of_a_pod_group_is_found() -> None:
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g"))
    world.put("volcano_pod_groups", pod_group("v"))
    world.put("pods", pod("alone"))
    picture = world.builder()
    picture.snapshot(NOW)
    assert picture.subject("uid-g") == ObjectReference(
        "scheduling.run.ai/v2alpha2", "PodGroup", "team", "g", "uid-g"
    )
    assert picture.subject("volcano_pod_groups-v") == ObjectReference(
        "scheduling.volcano.sh/v1beta1", "PodGroup", "team", "v", "volcano_pod_groups-v"
    )
    assert picture.subject("uid-alone") is None


def test_recreated_pod_group_has_the_pods_that_name_it() -> None:
    world = CachedCluster()
    uid = world.put("kai_pod_groups", pod_group("g"))
    world.put("pods", pod("p", meta=member("g")))
    picture = world.builder()
    picture.snapshot(NOW)
    world.remove("kai_pod_groups", uid)
    again = pod_group("g")
    again["metadata"]["uid"] = "another"
    world.put("kai_pod_groups", again)
    delta = picture.delta(NOW)
    assert [row.pod_group for row in delta.upserts.pods] == ["another"]
    assert list(delta.removals.pod_groups) == ["uid-g"]


def test_pods_of_a_deleted_pod_group_stay_in_reach() -> None:
    world = CachedCluster()
    world.put("nodes", node())
    world.put("kai_queues", queue("q"))
    uid = world.put("kai_pod_groups", pod_group("g"))
    world.put("pods", running("p", meta=member("g")))
    picture = world.builder()
    picture.snapshot(NOW)
    world.remove("kai_pod_groups", uid)
    delta = picture.delta(NOW)
    assert not delta.upserts.nodes
    (row,) = delta.upserts.pod_groups
    assert (row.uid, row.name, row.queue) == ("uid-g", "g", "q")
    assert row.preemptibility == pb.PREEMPTIBILITY_NON_PREEMPTIBLE, "limited by the quota of its queue"
    assert row.staleness_grace_period.seconds < 0, "what it needs is unknown"
    assert not delta.removals.pods
    text = (
        "it was deleted while its pods run: create it again: its pending pods are omitted, those on nodes "
        "count in queue 'q' and keep what they were given, else what its quota covers"
    )
    assert picture.warnings.take_new() == [("PodGroup team/g", text)]
    world.remove("pods", "uid-p")
    assert list(picture.delta(NOW).removals.pod_groups) == ["uid-g"]
    world.put("pods", running("later", meta=member("g")))
    assert not picture.delta(NOW).upserts.pods, "it is forgotten"
    assert [row.pod_group for row in picture.delta(LATER).upserts.pods] == ["uid-later"]


def test_pods_that_start_after_their_pod_group_was_deleted_are_in_it_while_others_run() -> None:
    """Their bindings were on the way."""
    world = CachedCluster()
    world.put("nodes", node())
    uid = world.put("kai_pod_groups", pod_group("g"))
    world.put("pods", running("p", meta=member("g")))
    world.put("pods", pod("bound", meta=member("g")))
    world.put("pods", pod("waits", meta=member("g")))
    picture = world.builder()
    picture.snapshot(NOW)
    world.remove("kai_pod_groups", uid)
    assert sorted(picture.delta(NOW).removals.pods) == ["uid-bound", "uid-waits"]
    world.put("pods", running("bound", meta=member("g")))
    assert [(row.uid, row.pod_group) for row in picture.delta(NOW).upserts.pods] == [("uid-bound", "uid-g")]


def test_deleted_pod_group_of_another_node_pool_has_no_row() -> None:
    world = CachedCluster()
    world.put("nodes", node("n1", labels={"pool": "a"}))
    uid = world.put("kai_pod_groups", pod_group("g", labels={"pool": "b"}))
    world.put("pods", running("p", meta={**member("g"), "labels": {"pool": "a"}}))
    picture = world.builder(replace(CONFIG, node_pool="a", node_pool_label="pool"))
    assert not picture.snapshot(NOW).pod_groups
    world.remove("kai_pod_groups", uid)
    assert not picture.delta(NOW).upserts.pod_groups


@pytest.mark.parametrize("meta", [{}, member("none")], ids=["none", "another one"])
def test_pod_on_a_node_stays_in_its_pod_group_until_it_names_one_that_exists(meta: dict[str, Any]) -> None:
    world = CachedCluster()
    world.put("nodes", node())
    world.put("kai_pod_groups", pod_group("g"))
    world.put("pods", running("p", meta=member("g")))
    picture = world.builder()
    picture.snapshot(NOW)
    world.put("pods", running("p", meta=meta))
    delta = picture.delta(NOW)
    assert not delta.upserts.pod_groups
    assert {row.pod_group for row in delta.upserts.pods} <= {"uid-g"}
    (warned,) = picture.warnings.take_new()
    assert warned.text == "it names another pod group now, which is ignored"
    world.put("kai_pod_groups", pod_group("none"))
    moved = [row.pod_group for row in picture.delta(NOW).upserts.pods]
    assert moved == (["uid-none"] if meta else [])
    assert bool(picture.warnings.active) == (not meta)


@pytest.mark.parametrize(
    ("meta", "subjects"),
    [({}, ["Pod team/p"]), ({"deletionTimestamp": "2027-01-03T00:00:00Z"}, [])],
    ids=["it stays", "it ends as well"],
)
def test_pod_of_a_deleted_pod_group_is_a_warning_unless_it_terminates(
    meta: dict[str, Any], subjects: list[str]
) -> None:
    world = CachedCluster()
    world.put("nodes", node())
    world.put("pods", running("p", meta={**member("gone"), **meta}))
    picture = world.builder()
    picture.snapshot(NOW)
    assert [warning.subject for warning in picture.warnings.take_new()] == subjects
