"""Conversion of cases to snapshots: nodes, queues, pod groups and shapes."""

from typing import Any

import pytest
from tenure.v1 import snapshot_pb2

from tests.conformance.cases import Json
from tests.conformance.conversion.snapshot import to_snapshot
from tests.conformance.conversion.times import NOW_NS
from tests.conformance.small_cases import PENDING, case, job, node, queue, task
from tests.conformance.task_table import initial_table


def _snapshot(
    jobs: list[Json], queue_fields: Json | None = None, **fields: Any
) -> snapshot_pb2.ClusterSnapshot:
    queues = [queue("q", 1.5, order=2, **(queue_fields or {}))]
    data = {**case("snapshot", [node("node0", 4)], queues, jobs, {}).data, **fields}
    return to_snapshot(data, initial_table(data), version=7)


def test_equal_offsets_differ_by_build_order() -> None:
    groups = _snapshot([job("a", "q", [PENDING]), job("b", "q", [PENDING])]).pod_groups
    created = [group.creation_time.ToNanoseconds() - NOW_NS for group in groups]
    assert created == [-60_000_000_000, -59_999_999_999]


def test_quotas_are_in_thousandths_of_a_gpu_and_memory_in_bytes() -> None:
    memory = {"quota_bytes": 5_000_000, "limit_bytes": -1.0, "over_quota_weight": 2.0}
    found = _snapshot([], {"memory_mb": {**memory, "quota": 5, "limit": -1.0}}).queues[0]
    assert (found.gpu_milli.quota, found.gpu_milli.limit) == (1500, -1)
    assert (found.memory_bytes.quota, found.memory_bytes.limit) == (5_000_000, -1)
    assert found.memory_bytes.over_quota_weight == 2.0


def test_a_job_with_an_allocated_task_started_a_minute_ago() -> None:
    running, waiting = _snapshot(
        [job("a", "q", [("Running", "node0"), PENDING]), job("b", "q", [("Releasing", "node0")])]
    ).pod_groups
    assert running.last_start_time.ToNanoseconds() == NOW_NS - 60_000_000_000
    assert not waiting.HasField("last_start_time")


def test_a_plain_job_is_a_gang_without_sub_groups() -> None:
    (group,) = _snapshot([job("a", "q", [PENDING] * 3)]).pod_groups
    assert (group.min_member, len(group.sub_groups)) == (3, 0)


def test_a_sub_group_tree_becomes_a_flat_list_with_parents() -> None:
    leaf = {"name": "leaf", "min_available": 2, "topology_constraint": None}
    rack = {"topology": "t", "required_level": "rack", "preferred_level": None}
    inner = {"name": "inner", "min_sub_groups": 1, "topology_constraint": rack, "sub_groups": []}
    tree = {
        "name": "",
        "min_sub_groups": None,
        "topology_constraint": None,
        "sub_groups": [{**inner, "pod_sets": [leaf]}],
        "pod_sets": [],
    }
    (group,) = _snapshot([job("a", "q", [], sub_group_tree=tree)]).pod_groups
    parts = [(part.name, part.parent, part.min_sub_group, part.min_member) for part in group.sub_groups]
    assert parts == [("inner", "", 1, 0), ("leaf", "inner", 0, 2)]
    assert group.sub_groups[0].topology_constraint.required_level == "rack"
    assert not group.sub_groups[1].HasField("topology_constraint")


def test_equal_requests_share_a_shape_and_names_become_a_node_affinity() -> None:
    picky = {**task("picky", PENDING, 1), "node_affinity_names": ["node0"]}
    tasks = [task("x", PENDING, 1), task("y", PENDING, 1), task("half", PENDING, 0.5), picky]
    snapshot = _snapshot([job("a", "q", [], tasks=tasks)])
    assert [pod.shape for pod in snapshot.pods] == ["shape-0", "shape-0", "shape-1", "shape-2"]
    assert snapshot.shapes[1].gpu.portion_milli == 500
    (requirement,) = snapshot.shapes[2].node_affinity[0].requirements
    assert (requirement.key, list(requirement.values)) == ("kai.scheduler/type", ["node0"])


def test_only_placed_tasks_are_on_a_node() -> None:
    pods = _snapshot([job("a", "q", [("Pending", "node0"), ("Running", "node0")], gpus=0.5)]).pods
    assert [(pod.node, list(pod.gpu_groups)) for pod in pods] == [("", []), ("node0", ["device-a-1"])]


def _claim(name: str, users: tuple[str, ...] = (), devices: int = 0) -> Json:
    pool = [{"request": "r", "driver": "d", "pool": "node0", "device": str(i)} for i in range(devices)]
    reserved = [{"resource": "pods", "name": user, "uid": user} for user in users]
    return {
        "name": name,
        "labels": {"kai.scheduler/queue": "q"},
        "device_class": "nvidia.com/gpu",
        "count": 2,
        "status": {"allocated": bool(devices), "devices": pool, "reserved_for": reserved} if users else None,
    }


def test_claims_list_foreign_users_and_slices_become_devices() -> None:
    slices = [{"node": "node0", "declared_device_class": "nvidia.com/gpu", "device_count": 3}]
    claims = [_claim("mine", ("a-0",), 2), _claim("theirs", ("x", "y"), 2), _claim("own")]
    tasks = [
        {**task("a-0", ("Running", "node0"), 0), "resource_claims": ["mine"]},
        {**task("a-1", PENDING, 0), "resource_claims": ["theirs"], "resource_claim_templates": {"t": "own"}},
    ]
    dra = {"device_classes": ["nvidia.com/gpu"], "resource_slices": slices, "resource_claims": claims}
    snapshot = _snapshot([job("a", "q", [], tasks=tasks)], dra=dra)
    assert dict(snapshot.nodes[0].devices) == {"nvidia.com/gpu": 3}
    found = [(c.id, c.queue, c.node, c.other_consumers, c.from_template) for c in snapshot.resource_claims]
    assert found == [
        ("mine", "q", "", 0, False),
        ("theirs", "q", "node0", 2, False),
        ("own", "q", "", 0, True),
    ]
    assert [list(pod.resource_claims) for pod in snapshot.pods] == [["mine"], ["theirs", "own"]]


def test_zones_contain_numa_placements_of_pods() -> None:
    zones = [{"id": "z0", "allocatable": {"cpu": 4000, "nvidia.com/gpu": 2}, "available": {"cpu": 1000}}]
    numa = {"policy": "SingleNUMANode", "scope": "Pod", "zones": zones}
    observed = [{"zone": "z0", "amount": {"cpu": 3000}}]
    tasks = [{**task("a-0", ("Running", "node0"), 0), "numa_observed_placement": observed}]
    jobs = [job("a", "q", [], tasks=tasks, qos_class="Guaranteed")]
    snapshot = _snapshot(jobs, nodes=[{**node("node0", 4), "numa_topology": numa}])
    (zone,) = snapshot.nodes[0].numa_zones
    assert snapshot.nodes[0].numa_policy == snapshot_pb2.NUMA_POLICY_SINGLE_NUMA_NODE
    assert (zone.allocatable.cpu_milli, zone.allocatable.gpu_milli, zone.available.cpu_milli) == (
        4000,
        2000,
        1000,
    )
    (placement,) = snapshot.pods[0].numa_placement
    assert (placement.zone, placement.amounts.cpu_milli) == ("z0", 3000)
    assert snapshot.shapes[0].guaranteed


def test_affinity_terms_and_labels() -> None:
    term = {"match_labels": {"app": "web"}, "topology_key": "host"}
    tasks = [
        {**task("a-0", PENDING, 0), "pod_affinity": None, "pod_anti_affinity": term, "labels": {"a": "b"}}
    ]
    snapshot = _snapshot([job("a", "q", [], tasks=tasks)])
    (found,) = snapshot.shapes[0].pod_anti_affinity
    assert (dict(found.match_labels), found.topology_key) == ({"app": "web"}, "host")
    assert dict(snapshot.pods[0].labels) == {"a": "b"}


NO_CLASS = {"dra": {"device_classes": [], "resource_claims": [_claim("c")]}}
HOOK = {
    "session_hooks": [{"call": "AddVictimInvariantPrePredicateFn"}],
    "expected": {"facts": ["a pre-predicate which always fails with 'not today' ... only for task a-0"]},
}


@pytest.mark.parametrize(
    ("of_task", "of_case", "text"),
    [
        ({}, {}, ""),
        ({"pvc_names": ["data"]}, {}, 'persistentvolumeclaim "data" not found'),
        ({"legacy_mig": True}, {}, "it uses MIG slices in the way that came before strategies"),
        ({"resource_claims": ["gone"]}, {}, 'resourceclaim "gone" not found'),
        ({"resource_claims": ["c"]}, NO_CLASS, 'deviceclass "nvidia.com/gpu" not found'),
        ({}, HOOK, "not today"),
        ({"uid": "a-1"}, HOOK, ""),
    ],
    ids=["nothing", "volume", "old MIG", "claim", "device class", "a check of the test", "another task"],
)
def test_blocked_task_has_its_reason(of_task: Json, of_case: Json, text: str) -> None:
    snapshot = _snapshot([job("a", "q", [], tasks=[{**task("a-0", PENDING, 1), **of_task}])], **of_case)
    assert snapshot.pods[0].blocked_reason == text
