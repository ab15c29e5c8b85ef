"""An incrementally updated snapshot equals a newly built one, and a server accepts both."""

from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tenure.codec.decode import decode_snapshot
from tenure.kubernetes.api.object_caches import COLLECTIONS
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.deltas import apply_deltas

from tests.kubernetes.observe.cached_cluster import (
    NOW,
    CachedCluster,
    node,
    pod,
    pod_group,
    queue,
    running,
    uid_of,
)

CONFIG = SnapshotScope(cluster_id="test")
POOL = st.sampled_from([{}, {}, {}, {"kai.scheduler/node-pool": "other"}])
NAMES = st.sampled_from(["a", "b", "c"])
APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}
            ]
        }
    }
}
LEVELS = [{"nodeLabel": "zone"}]
PARTS = [[], [{"name": "x", "minMember": 1}], [{"name": "x"}, {"name": "X"}], [{"name": "x", "parent": "y"}]]


@st.composite
def pods(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    annotations = draw(
        st.sampled_from(
            [
                {},
                {"pod-group-name": "a"},
                {"pod-group-name": "b", "gpu-fraction": "0.5"},
                {"scheduling.k8s.io/group-name": "a", "volcano.sh/task-spec": "T"},
                {"gpu-memory": "x", "gpu-fraction": "1"},
            ]
        )
    )
    owner = {
        "apiVersion": "batch/v1",
        "kind": draw(st.sampled_from(["Job", "ReplicaSet"])),
        "name": "o",
        "uid": "o",
    }
    meta = {
        "annotations": annotations,
        "labels": draw(st.sampled_from([{}, {"app": "x"}, {"kai.scheduler/subgroup-name": "x"}]))
        | draw(POOL),
        "ownerReferences": draw(st.sampled_from([[], [{**owner, "controller": True}]])),
    }
    if draw(st.booleans()):
        meta["deletionTimestamp"] = draw(st.sampled_from(["2027-01-15T07:58:10Z", "2027-01-15T08:00:00Z"]))
    native = {"schedulingGroup": {"podGroupName": draw(NAMES)}}
    spec: dict[str, Any] = dict(draw(st.sampled_from([{}, {}, APART, native, {"schedulerName": "other"}])))
    requests = draw(st.sampled_from([{"cpu": "1"}, {"cpu": "2", "nvidia.com/gpu": "1"}, {"cpu": "?"}]))
    make = draw(st.sampled_from([pod, running]))
    name = draw(st.sampled_from(["p", "q", "r", "s"]))
    item = make(name, meta=meta, spec=spec, requests=requests)
    if draw(st.integers(0, 4)) == 0:
        item["status"]["phase"] = draw(st.sampled_from(["Succeeded", "Failed", "Unknown"]))
    return "pods", item


@st.composite
def others(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    name, labels = draw(NAMES), draw(POOL)
    groups = ["kai_pod_groups", "volcano_pod_groups", "native_pod_groups"]
    kind = draw(st.sampled_from(["nodes", *groups, "kai_queues", "volcano_queues"]))
    if kind == "nodes":
        return kind, node(draw(st.sampled_from(["n1", "n2"])), labels=labels)
    if kind == "kai_pod_groups":
        constraint = draw(st.sampled_from([{}, {"topology": "a", "requiredTopologyLevel": "zone"}]))
        spec = {
            "priorityClassName": name,
            "subGroups": draw(st.sampled_from(PARTS)),
            "topologyConstraint": constraint,
        }
        return kind, pod_group(name, labels=labels, minMember=draw(st.integers(0, 2)), **spec)
    if kind == "native_pod_groups":
        constraints = {"topology": [{"key": draw(st.sampled_from(["zone", "none"]))}]}
        policy = {"gang": {"minCount": draw(st.integers(1, 3))}}
        spec = {
            "schedulingPolicy": policy,
            "schedulingConstraints": draw(st.sampled_from([None, constraints])),
        }
        return kind, {"metadata": {"name": name, "namespace": "team", "labels": labels}, "spec": spec}
    if kind == "volcano_pod_groups":
        return kind, pod_group(name, minTaskMember=draw(st.sampled_from([{}, {"t": 1}])))
    parent = draw(st.sampled_from(["", "a", "b", "gone"]))
    if kind == "kai_queues":
        return kind, queue(
            name, parentQueue=parent, preemptMinRuntime=draw(st.sampled_from([None, "1h", "x"]))
        )
    return kind, queue(draw(st.sampled_from(["root", "a", "v"])), parent=parent, deserved={"cpu": "1"})


@st.composite
def cluster_wide(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    name = draw(NAMES)
    if draw(st.booleans()):
        return "priority_classes", {"metadata": {"name": name}, "value": draw(st.integers(0, 200))}
    return "topologies", {"metadata": {"name": name}, "spec": {"levels": draw(st.sampled_from([[], LEVELS]))}}


ITEMS = st.one_of(pods(), pods(), others(), cluster_wide())
CHANGES = st.lists(st.tuples(ITEMS, st.booleans()), min_size=1, max_size=6)


def ordered(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return the same rows by key, without the version, which counts calls."""
    result = ClusterSnapshot()
    result.CopyFrom(snapshot)
    result.version = 0
    for name in ("nodes", "queues", "topologies"):
        getattr(result, name).sort(key=lambda row: row.name)
    for name in ("pods", "pod_groups"):
        getattr(result, name).sort(key=lambda row: row.uid)
    result.shapes.sort(key=lambda row: row.id)
    return result


@settings(
    max_examples=80,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(rounds=st.lists(CHANGES, min_size=1, max_size=8))
def test_incremental_snapshot_equals_a_fresh_one(
    rounds: list[list[tuple[tuple[str, dict[str, Any]], bool]]],
) -> None:
    world = CachedCluster()
    kept = world.builder(CONFIG)
    state = kept.snapshot(NOW)
    for number, changes in enumerate(rounds):
        for (collection, item), is_there in changes:
            if is_there:
                world.put(collection, item)
            else:
                world.remove(collection, uid_of(collection, item))
        now = Timestamp(seconds=NOW.seconds + 20 * number)
        delta = kept.delta(now)
        assert delta.base.version == state.version
        state = apply_deltas(state, delta)
    copy = CachedCluster()
    for collection in COLLECTIONS:
        getattr(copy.mirrors, collection.name).on_replace(getattr(world.mirrors, collection.name).all())
    # Of a pod on a node, the share of a GPU counts that it had first.
    copy.mirrors.pods.on_replace([member.pod for member in kept._members.by_uid.values()])
    fresh = copy.builder(CONFIG).snapshot(now)
    assert ordered(state) == ordered(fresh)
    decode_snapshot(state)
    active = [each for each in kept.warnings.active if "its share of a GPU was changed" not in each.text]
    assert sorted(active) == sorted(copy_warnings(copy, now))


def copy_warnings(world: CachedCluster, now: Timestamp) -> list[Any]:
    picture = world.builder(CONFIG)
    picture.snapshot(now)
    return picture.warnings.active


def test_versions_count_calls_and_a_delta_builds_on_the_previous_version() -> None:
    picture = CachedCluster().builder(CONFIG)
    assert picture.snapshot(NOW).version == 1
    assert (picture.delta(NOW).base.version, picture.delta(NOW).version) == (1, 3)
