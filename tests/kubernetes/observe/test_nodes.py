"""Nodes (R1.15, R1.28, R1.32), and the resources that pods of other schedulers use on them (R4.1)."""

from typing import Any, Final

import pytest
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.resources_pb2 import Resources

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

OTHER = {"schedulerName": "default-scheduler"}
GIB = 2**30


def row(item: dict[str, Any]) -> pb.Node:
    world = CachedCluster()
    world.put("nodes", item)
    return world.snapshot().nodes[0]


def test_node_row_contains_the_allocatable_resources() -> None:
    allocatable = {
        "cpu": "3920m",
        "memory": "10Gi",
        "pods": "10",
        "nvidia.com/gpu": "2",
        "nvidia.com/mig-1g.5gb": "7",
        "example.com/fpga": "1",
    }
    taint = {"key": "a", "value": "b", "effect": "NoExecute"}
    item = node(
        labels={"zone": "x"}, spec={"taints": [taint], "unschedulable": True}, allocatable=allocatable
    )
    assert row(item) == pb.Node(
        name="n1",
        labels={"zone": "x", "metadata.name": "n1"},
        allocatable=Resources(
            cpu_milli=3920,
            memory_bytes=10 * GIB,
            gpu_milli=2000,
            pods=10,
            extended={"nvidia.com/mig-1g.5gb": 7, "example.com/fpga": 1},
        ),
        taints=[pb.Taint(key="a", value="b", effect=pb.TAINT_EFFECT_NO_EXECUTE)],
        unschedulable=True,
    )


@pytest.mark.parametrize(
    ("label", "memory_mib"),
    [("40536", 40500), ("42504028160", 40500), ("99", 0), ("much", 0), ("", 0), ("9" * 30, 0)],
)
def test_gpu_memory_is_in_mebibytes_or_bytes_and_rounded_down(label: str, memory_mib: int) -> None:
    assert row(node(labels={"nvidia.com/gpu.memory": label})).gpu_memory_mib == memory_mib


@pytest.mark.parametrize(
    ("conditions", "unready"),
    [
        ([{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}], []),
        ([], []),
        ([{"type": "Ready", "status": "Unknown"}], ["NotReady"]),
        ([{"type": "MemoryPressure", "status": "True"}], ["MemoryPressure"]),
        ([{"type": "NetworkUnavailable", "status": "Unknown"}], ["NetworkUnavailable"]),
        ([{"type": "SomethingElse", "status": "True"}], []),
    ],
)
def test_conditions_make_a_node_unready(conditions: list[dict[str, str]], unready: list[str]) -> None:
    assert list(row(node(conditions=conditions)).unready_conditions) == unready


def test_the_strategy_of_mig_nodes_is_their_label() -> None:
    assert row(node(labels={"nvidia.com/mig.strategy": "mixed"})).mig_strategy == pb.MIG_STRATEGY_MIXED
    assert row(node(labels={"nvidia.com/mig.strategy": "none"})).mig_strategy == 0


def test_running_foreign_pods_occupy_capacity_until_they_end() -> None:
    world = CachedCluster()
    world.put("nodes", node())
    request = {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "3"}
    uid = world.put("pods", running("other", requests=request, spec=OTHER))
    world.put("pods", pod("waits", spec=OTHER))
    picture = world.builder()
    snapshot = picture.snapshot(NOW)
    assert not snapshot.pods
    assert snapshot.nodes[0].allocatable == Resources(
        cpu_milli=62_000, memory_bytes=511 * GIB, gpu_milli=5000, pods=109
    )
    world.put(
        "pods",
        running("other", requests=request, spec=OTHER, meta={"deletionTimestamp": "2027-01-15T00:00:00Z"}),
    )
    assert not picture.delta(NOW).upserts.nodes
    world.remove("pods", uid)
    assert picture.delta(NOW).upserts.nodes[0].allocatable.gpu_milli == 8000


def test_foreign_gpu_share_counts_as_a_whole_gpu() -> None:
    world = CachedCluster()
    world.put("nodes", node())
    world.put("pods", running("x", spec=OTHER, meta={"annotations": {"gpu-fraction": "0.1"}}))
    assert world.snapshot().nodes[0].allocatable.gpu_milli == 7000


def test_gpu_reservation_pods_occupy_no_capacity() -> None:
    world = CachedCluster()
    world.put("nodes", node())
    meta = {"namespace": "kai-resource-reservation"}
    world.put("pods", running("hold", requests={"nvidia.com/gpu": "1"}, spec=OTHER, meta=meta))
    assert world.snapshot().nodes[0].allocatable.gpu_milli == 8000


def test_foreign_overcommitment_leaves_zero_capacity() -> None:
    world = CachedCluster()
    world.put("nodes", node())
    world.put("pods", running("x", requests={"cpu": "100"}, spec=OTHER))
    assert world.snapshot().nodes[0].allocatable.cpu_milli == 0


def test_own_pod_whose_pod_group_is_unknown_comes_into_reach_after_a_while() -> None:
    """Else its owner would only have to delete the pod group to keep what other queues lent it."""
    world = CachedCluster()
    world.put("nodes", node())
    world.put("kai_queues", queue("q"))
    world.put("pods", running("p", meta=member("g")))
    picture = world.builder()
    snapshot = picture.snapshot(NOW)
    assert (list(snapshot.pods), list(snapshot.pod_groups)) == ([], [])
    assert snapshot.nodes[0].allocatable.cpu_milli == 63_000
    assert picture.recheck_seconds == LATER.seconds
    missing = "pod group 'g' does not exist"
    text = f"{missing}: nothing evicts this pod for 5 minutes: create the pod group again"
    assert picture.warnings.take_new() == [("Pod team/p", text)]
    assert [(one.target.name, one.reason.text) for one in picture.set_aside.take_new()] == [("p", text)]
    snapshot = picture.snapshot(LATER)
    assert picture.recheck_seconds is None
    assert [row.pod_group for row in snapshot.pods] == ["uid-p"]
    assert [row.queue for row in snapshot.pod_groups] == ["-"]
    assert [row.name for row in snapshot.queues] == ["-", "q"]
    assert snapshot.nodes[0].allocatable.cpu_milli == 64_000
    text = (
        f"{missing}: while it runs, it counts in queue '-' and keeps what the quota of that queue covers: "
        "create the pod group again"
    )
    assert ("Pod team/p", text) in picture.warnings.take_new()
    assert [(one.target.name, one.reason.text) for one in picture.set_aside.take_new()] == [("p", text)]
    world.put("kai_pod_groups", pod_group("g"))
    delta = picture.delta(NOW)
    assert [row.pod_group for row in delta.upserts.pods] == ["uid-g"]
    assert list(delta.removals.queues) == ["-"]
    assert not picture.warnings.active
    assert not picture.set_aside.objects


NAMED: Final = {"kai": "pod-group-name", "volcano": "scheduling.k8s.io/group-name"}


@pytest.mark.parametrize("api", NAMED)
def test_own_pod_whose_pod_groups_are_not_observed_stays_out_of_reach(api: str) -> None:
    """An API server serves queues of this kind, but not its pod groups, or in a version that is not known."""
    meta = {"labels": {"kai.scheduler/queue": "q"}, "annotations": {NAMED[api]: "g"}}
    world, spec, collection = CachedCluster(), dict[str, Any](), f"{api}_pod_groups"
    world.mirrors.followed_collections |= {"pods": "/api/v1/pods", f"{api}_queues": "/apis/any"}
    world.put("nodes", node())
    world.put("pods", running("p", meta=meta, spec=spec))
    picture = world.builder()
    for now in (NOW, LATER):
        snapshot = picture.snapshot(now)
        assert not snapshot.pods
        assert snapshot.nodes[0].allocatable.cpu_milli == 63_000
    assert picture.recheck_seconds is None
    (warned,) = picture.warnings.active
    assert warned.text.endswith("nothing evicts this pod, as pod groups of its kind are not observed")
    world.mirrors.followed_collections[collection] = "/apis/any"
    picture = world.builder()
    assert (len(picture.snapshot(NOW).pods), len(picture.snapshot(LATER).pods)) == (0, 1)


def test_own_pod_that_names_a_pod_group_of_a_kind_that_the_cluster_lacks_comes_into_reach() -> None:
    """Anybody may write such a name. What the pod borrowed would stay with it for good."""
    world = CachedCluster()
    world.mirrors.followed_collections |= dict.fromkeys(("pods", "kai_queues"), "/apis/any")
    world.put("nodes", node())
    world.put("pods", running("p", meta={"annotations": {NAMED["volcano"]: "g"}}))
    picture = world.builder()
    assert (len(picture.snapshot(NOW).pods), len(picture.snapshot(LATER).pods)) == (0, 1)


def test_snapshot_contains_one_node_pool_and_foreign_pods_occupy_it() -> None:
    world = CachedCluster()
    pool = {"kai.scheduler/node-pool": "a"}
    world.put("nodes", node("in", labels=pool))
    world.put("nodes", node("out"))
    world.put("kai_pod_groups", pod_group("ours", labels=pool))
    world.put("kai_pod_groups", pod_group("theirs"))
    world.put("pods", running("p1", on="in", meta=member("ours")))
    world.put("pods", running("p2", on="in", meta=member("theirs")))
    snapshot = world.snapshot(SnapshotScope(cluster_id="test", node_pool="a"))
    assert [row.name for row in snapshot.nodes] == ["in"]
    assert [row.uid for row in snapshot.pod_groups] == ["uid-ours"]
    assert [row.uid for row in snapshot.pods] == ["uid-p1"]
    assert snapshot.nodes[0].allocatable.cpu_milli == 63_000
    rest = world.snapshot(SnapshotScope(cluster_id="test"))
    assert [row.name for row in rest.nodes] == ["out"]
    assert [row.uid for row in rest.pod_groups] == ["uid-theirs"]


def test_recreated_node_occurs_once() -> None:
    world = CachedCluster()
    uid = world.put("nodes", node())
    picture = world.builder()
    picture.snapshot(NOW)
    world.remove("nodes", uid)
    again = node(labels={"new": "yes"})
    again["metadata"]["uid"] = "another"
    world.put("nodes", again)
    delta = picture.delta(NOW)
    assert [dict(row.labels)["new"] for row in delta.upserts.nodes] == ["yes"]
    assert not delta.removals.nodes
    assert picture.snapshot(NOW).nodes == world.builder(CONFIG).snapshot(NOW).nodes
