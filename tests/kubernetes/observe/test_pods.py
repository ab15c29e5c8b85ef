"""Pods: statuses (R1.41), requests by Kubernetes' rule, GPUs (R1.5 to R1.7), shapes and node constraints."""

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.resources_pb2 import GpuRequest, Resources

from tests.kubernetes.observe.cached_cluster import (
    CONFIG,
    IMPOSSIBLE_NAME,
    NOW,
    CachedCluster,
    member,
    node,
    pod,
    pod_group,
    running,
)


def observe_pod(item: dict[str, Any], now: Timestamp = NOW) -> pb.ClusterSnapshot:
    """Return the snapshot of one pod in the pod group g, with one node."""
    world = CachedCluster()
    world.put("nodes", node())
    world.put("kai_pod_groups", pod_group("g"))
    item["metadata"].setdefault("annotations", {})["pod-group-name"] = "g"
    world.put("pods", item)
    return world.builder(CONFIG).snapshot(now)


def pod_row(item: dict[str, Any]) -> tuple[pb.Pod, pb.PodShape]:
    snapshot = observe_pod(item)
    return snapshot.pods[0], snapshot.shapes[0]


GATED = {"schedulingGates": [{"name": "wait"}]}
DELETED = {"deletionTimestamp": "2027-01-15T08:00:00Z"}
DELETED_LONG_AGO = {"deletionTimestamp": "2027-01-15T07:58:00Z"}


@pytest.mark.parametrize(
    ("item", "status"),
    [
        (pod(), pb.POD_STATUS_PENDING),
        (pod(spec=GATED), pb.POD_STATUS_GATED),
        (pod(spec={"nodeName": "n1"}), pb.POD_STATUS_BOUND),
        (pod(spec={"nodeName": "n1", **GATED}), pb.POD_STATUS_BOUND),
        (running("p"), pb.POD_STATUS_RUNNING),
        (running("p", meta=DELETED), pb.POD_STATUS_RELEASING),
        (pod(spec={"nodeName": "n1"}, meta=DELETED), pb.POD_STATUS_RELEASING),
        (running("p", meta=DELETED_LONG_AGO), pb.POD_STATUS_STUCK_IN_RELEASING),
        (pod(status={"phase": "Succeeded"}), pb.POD_STATUS_SUCCEEDED),
        (pod(status={"phase": "Failed"}, meta=DELETED), pb.POD_STATUS_FAILED),
        (pod(status={"phase": "Unknown"}, spec={"nodeName": "n1"}), pb.POD_STATUS_UNKNOWN),
    ],
)
def test_the_status_follows_phase_node_deletion_and_gates(item: dict[str, Any], status: pb.PodStatus) -> None:
    row, _ = pod_row(item)
    assert row.status == status
    on_node = status in (
        pb.POD_STATUS_BOUND,
        pb.POD_STATUS_RUNNING,
        pb.POD_STATUS_RELEASING,
        pb.POD_STATUS_STUCK_IN_RELEASING,
    )
    assert row.node == ("n1" if on_node else "")


def test_deleted_pending_pod_has_no_row() -> None:
    assert not observe_pod(pod(meta=DELETED)).pods


def test_pod_in_unknown_phase_occupies_capacity() -> None:
    snapshot = observe_pod(pod(status={"phase": "Unknown"}, spec={"nodeName": "n1"}))
    assert snapshot.nodes[0].allocatable.cpu_milli == 63_000


def node_of_cores(cpu: str, **more: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "cpu_milli"),
    [
        ({"containers": [node_of_cores("1"), node_of_cores("500m")]}, 1500),
        (
            {"containers": [node_of_cores("1")], "initContainers": [node_of_cores("3"), node_of_cores("2")]},
            3000,
        ),
        ({"containers": [node_of_cores("1")], "initContainers": [node_of_cores("3", **SIDECAR)]}, 4000),
        (
            {
                "containers": [node_of_cores("1")],
                "initContainers": [node_of_cores("1", **SIDECAR), node_of_cores("3")],
            },
            4000,
        ),
        (
            {
                "containers": [node_of_cores("1")],
                "initContainers": [node_of_cores("3"), node_of_cores("1", **SIDECAR)],
            },
            3000,
        ),
        ({"containers": [node_of_cores("1")], "overhead": {"cpu": "250m"}}, 1250),
        ({"containers": [node_of_cores("1")], "resources": {"requests": {"cpu": "5"}}}, 5000),
    ],
)
def test_requests_are_the_most_a_pod_needs_at_a_time(spec: dict[str, Any], cpu_milli: int) -> None:
    _, shape = pod_row(pod(spec=spec))
    assert shape.requests == Resources(cpu_milli=cpu_milli)


@pytest.mark.parametrize(
    ("requests", "annotations", "gpu", "extended"),
    [
        ({"nvidia.com/gpu": "2"}, {}, GpuRequest(devices=2), {}),
        ({"amd.com/gpu": "1"}, {}, GpuRequest(devices=1), {}),
        ({}, {"gpu-fraction": "0.5"}, GpuRequest(devices=1, portion_milli=500), {}),
        ({}, {"gpu-fraction": "1"}, GpuRequest(devices=1), {}),
        (
            {},
            {"gpu-fraction": "0.25", "gpu-fraction-num-devices": "3"},
            GpuRequest(devices=3, portion_milli=250),
            {},
        ),
        ({}, {"gpu-memory": "2000"}, GpuRequest(devices=1, memory_mib=2000), {}),
        ({}, {"gpu-fraction": "1.5"}, GpuRequest(), {}),
        ({}, {"gpu-fraction": "much"}, GpuRequest(), {}),
        ({"nvidia.com/mig-1g.5gb": "2"}, {}, GpuRequest(), {"nvidia.com/mig-1g.5gb": 2}),
    ],
)
def test_gpus_are_requested_as_resources_or_by_annotations(
    requests: dict[str, str], annotations: dict[str, str], gpu: GpuRequest, extended: dict[str, int]
) -> None:
    world = CachedCluster()
    world.put("nodes", node(allocatable={"nvidia.com/mig-1g.5gb": "7"}))
    world.put("pods", pod(requests=requests, meta={"annotations": annotations}))
    [shape] = world.snapshot().shapes
    assert shape.gpu == gpu
    assert shape.requests.extended == extended


@pytest.mark.parametrize(
    ("devices", "labels", "groups"),
    [
        ("1", {"runai-gpu-group": "a"}, ["a"]),
        ("2", {"runai-gpu-group/a": "a", "runai-gpu-group/b": "b"}, ["a", "b"]),
        ("1", {}, ["unknown-uid-p-0"]),
        ("2", {"runai-gpu-group": "a"}, ["a", "unknown-uid-p-0"]),
    ],
)
def test_shared_devices_are_those_of_labels_or_own_ones_if_unknown(
    devices: str, labels: dict[str, str], groups: list[str]
) -> None:
    annotations = {"gpu-fraction": "0.5", "gpu-fraction-num-devices": devices}
    row, _ = pod_row(running("p", meta={"annotations": annotations, "labels": labels}))
    assert list(row.gpu_groups) == groups


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}
            }
        }
    }


def apart(**term: Any) -> dict[str, Any]:
    rule = {"topologyKey": "zone", **term}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}}


def near(**term: Any) -> dict[str, Any]:
    rule = {"topologyKey": "zone", **term}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}}


def test_selectors_affinities_and_tolerations_are_converted() -> None:
    spec = {
        "nodeSelector": {"gpu": "a100"},
        "tolerations": [
            {"key": "a", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "b", "value": "1"},
            {"operator": "Exists"},
        ],
        **required(
            {
                "matchExpressions": [{"key": "zone", "operator": "In", "values": ["x", "y"]}],
                "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}],
            }
        ),
    }
    row, shape = pod_row(pod(spec=spec))
    assert shape.node_selector == {"gpu": "a100"}
    assert [(t.key, t.exists, t.value, t.effect) for t in shape.tolerations] == [
        ("a", True, "", pb.TAINT_EFFECT_NO_SCHEDULE),
        ("b", False, "1", pb.TAINT_EFFECT_UNSPECIFIED),
        ("", True, "", pb.TAINT_EFFECT_UNSPECIFIED),
    ]
    assert [(r.key, r.operator, list(r.values)) for r in shape.node_affinity[0].requirements] == [
        ("zone", pb.SELECTOR_OPERATOR_IN, ["x", "y"]),
        ("metadata.name", pb.SELECTOR_OPERATOR_IN, ["n1"]),
    ]
    assert not row.blocked_reason


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (near(labelSelector={}, namespaceSelector={"matchLabels": {"team": "a"}}), "namespaceSelector"),
        (near(), "no label selector"),
        (near(labelSelector={}, namespaceSelector=IMPOSSIBLE_NAME), "selects no namespace"),
        (apart(labelSelector={"matchExpressions": [{"key": "a", "operator": "Near"}]}), "'Near'"),
        (required({"matchExpressions": [{"key": "a", "operator": "Near"}]}), "'Near'"),
        ({"resourceClaims": [{"name": "gpu"}]}, "resource claim for 'gpu'"),
        ({"containers": [node_of_cores("much")]}, "are invalid"),
    ],
)
def test_unrepresentable_constraint_blocks_a_pending_pod_with_a_reason(
    spec: dict[str, Any], reason: str
) -> None:
    waits, _ = pod_row(pod(spec=spec))
    runs, _ = pod_row(running("p", spec=spec))
    assert reason in waits.blocked_reason
    assert not runs.blocked_reason


def test_only_labels_referenced_by_an_affinity_are_included() -> None:
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g"))
    meta = {**member("g"), "labels": {"app": "x", "other": "y"}}
    world.put("pods", pod("a", meta=meta))
    picture = world.builder()
    assert not picture.snapshot(NOW).pods[0].labels
    spec = apart(labelSelector={"matchExpressions": [{"key": "app", "operator": "In", "values": ["x"]}]})
    uid = world.put("pods", pod("b", meta=member("g"), spec=spec))
    changed = {row.uid: dict(row.labels) for row in picture.delta(NOW).upserts.pods}
    assert changed == {"uid-a": {"app": "x"}, "uid-b": {}}
    world.remove("pods", uid)
    assert {row.uid: dict(row.labels) for row in picture.delta(NOW).upserts.pods} == {"uid-a": {}}


def test_roles_and_priorities_within_a_pod_group() -> None:
    labels = {
        "kai.scheduler/task-priority": "-3",
        "ray.io/node-type": "head",
        "kai.scheduler/subgroup-name": "w",
    }
    row, _ = pod_row(pod(meta={"labels": labels}, status={"nominatedNodeName": "n1"}))
    assert (row.task_priority, row.leader, row.sub_group, row.nominated_node) == (-3, True, "w", "n1")


def test_deleted_pod_is_stuck_after_its_grace_period_without_an_event() -> None:
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g"))
    world.put("pods", running("p", meta={**member("g"), **DELETED}))
    picture = world.builder()
    picture.snapshot(NOW)
    just_before, then = Timestamp(seconds=NOW.seconds + 119), Timestamp(seconds=NOW.seconds + 120)
    assert not picture.delta(just_before).upserts.pods
    assert picture.delta(then).upserts.pods[0].status == pb.POD_STATUS_STUCK_IN_RELEASING
    assert not picture.delta(then).upserts.pods


def test_pods_with_equal_requests_share_a_shape_despite_different_names() -> None:
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g"))
    for name in "abc":
        world.put("pods", pod(name, meta=member("g")))
    world.put("pods", pod("d", meta=member("g"), requests={"cpu": "2"}))
    picture = world.builder()
    assert len(picture.snapshot(NOW).shapes) == 2
    world.remove("pods", "uid-d")
    assert len(picture.delta(NOW).removals.shapes) == 1
