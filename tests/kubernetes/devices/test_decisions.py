"""What the solver decides on rows of devices and claims: whole gangs, no device twice, quotas."""

from typing import Any

import pytest
from tenure.codec.engine import Engine
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse

from tests.kubernetes.devices.test_device_sets import DRIVER, claim, publish
from tests.kubernetes.observe.cached_cluster import (
    NOW,
    CachedCluster,
    member,
    node,
    pod,
    pod_group,
    queue,
    running,
)

_ENGINE = Engine(default_profile())
_UNLIMITED = {"quota": -1, "limit": -1}


@pytest.fixture
def world() -> CachedCluster:
    """Node n1 with four devices, a queue with a quota of two GPUs and one without a limit."""
    made = CachedCluster()
    made.put("nodes", node("n1", allocatable={"cpu": "64", "memory": "512Gi", "pods": "110"}))
    amounts = {"cpu": _UNLIMITED, "memory": _UNLIMITED}
    made.put("kai_queues", queue("root", resources={**amounts, "gpu": _UNLIMITED}))
    made.put("kai_queues", queue("q", parentQueue="root", resources={**amounts, "gpu": _UNLIMITED}))
    two = {"quota": 2, "limit": 2}
    made.put("kai_queues", queue("small", parentQueue="root", resources={**amounts, "gpu": two}))
    publish(made, "A", "A", "B", "B")
    device_class(made, "example.io")
    return made


def device_class(cluster: CachedCluster, name: str) -> None:
    selectors = [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]
    cluster.put("device_classes", {"metadata": {"name": name}, "spec": {"selectors": selectors}})


def gang(cluster: CachedCluster, name: str, pods: int, *, of: str = "example.io", **spec: Any) -> None:
    """Create a gang whose pods have a claim each, as from a template."""
    cluster.put("kai_pod_groups", pod_group(name, minMember=pods, preemptibility="preemptible", **spec))
    for at in range(pods):
        owner = {"apiVersion": "v1", "kind": "Pod", "name": f"{name}{at}", "uid": f"uid-{name}{at}"}
        item = claim(f"{name}{at}", deviceClassName=of)
        item["metadata"]["ownerReferences"] = [owner]
        cluster.put("resource_claims", item)
        uses = {"resourceClaims": [{"name": "x", "resourceClaimName": f"{name}{at}"}]}
        cluster.put("pods", pod(f"{name}{at}", meta=member(name), spec=uses))


def builder_of(cluster: CachedCluster) -> SnapshotBuilder:
    builder = cluster.builder()
    builder.claims.allocator_problem = lambda: ""
    return builder


def decide(cluster: CachedCluster) -> DecideResponse:
    return _ENGINE.decide(DecideRequest(snapshot=builder_of(cluster).snapshot(NOW))).parse()


def bound(response: DecideResponse) -> list[str]:
    return sorted(
        one.bind.pod.removeprefix("uid-")
        for group in response.groups
        for one in group.decisions
        if one.HasField("bind")
    )


def test_gangs_get_all_their_devices_or_none(world: CachedCluster) -> None:
    gang(world, "a", pods=3)
    gang(world, "b", pods=2)
    assert bound(decide(world)) in (["a0", "a1", "a2"], ["b0", "b1"])


def test_devices_that_are_given_are_not_free(world: CachedCluster) -> None:
    held = claim("held", count=2, deviceClassName="example.io")
    results = [{"request": "r", "driver": DRIVER, "pool": "n1", "device": f"d{at}"} for at in range(2)]
    held["status"] = {"allocation": {"devices": {"results": results}}}
    world.put("resource_claims", held)
    gang(world, "a", pods=3)
    gang(world, "b", pods=2)
    assert bound(decide(world)) == ["b0", "b1"]


def test_devices_of_gpu_classes_count_as_gpus_of_queues(world: CachedCluster) -> None:
    device_class(world, "gpu.example.io")
    gang(world, "a", pods=3, of="gpu.example.io", queue="small")
    gang(world, "b", pods=2, of="gpu.example.io", queue="small")
    assert bound(decide(world)) == ["b0", "b1"]


def test_pod_without_a_claim_does_not_get_gpus_of_claims(world: CachedCluster) -> None:
    device_class(world, "gpu.example.io")
    world.put("kai_pod_groups", pod_group("plain", minMember=1))
    world.put("pods", pod("plain", meta=member("plain"), requests={"cpu": "1", "nvidia.com/gpu": "1"}))
    assert bound(decide(world)) == []
    world.put("nodes", node("n2"))
    assert bound(decide(world)) == ["plain"]


def test_running_pods_are_evicted_for_devices(world: CachedCluster) -> None:
    world.put("priority_classes", {"metadata": {"name": "high"}, "value": 90})
    gang(world, "low", pods=4, priorityClassName="low")
    for at in range(4):
        name = f"low{at}"
        item = claim(name, deviceClassName="example.io")
        item["metadata"]["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": f"uid-{name}"}
        ]
        result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": f"d{at}"}
        consumer = {"resource": "pods", "name": name, "uid": f"uid-{name}"}
        item["status"] = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [consumer]}
        world.put("resource_claims", item)
        uses = {"resourceClaims": [{"name": "x", "resourceClaimName": name}]}
        world.put("pods", running(name, meta=member("low"), spec=uses))
    gang(world, "high", pods=1, priorityClassName="high")
    response = decide(world)
    evicted = [one.evict.pod for group in response.groups for one in group.decisions if one.HasField("evict")]
    assert sorted(evicted) == [f"uid-low{at}" for at in range(4)]


def test_pods_of_one_claim_share_its_devices_on_one_node(world: CachedCluster) -> None:
    item = claim("shared", count=4, deviceClassName="example.io")
    world.put("resource_claims", item)
    world.put("kai_pod_groups", pod_group("both", minMember=2))
    uses = {"resourceClaims": [{"name": "x", "resourceClaimName": "shared"}]}
    for name in ("s0", "s1"):
        world.put("pods", pod(name, meta=member("both"), spec=uses))
    assert bound(decide(world)) == ["s0", "s1"]
