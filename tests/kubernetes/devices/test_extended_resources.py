"""Extended resources that classes of devices offer: a node serves them with its device plugin, or devices."""

from typing import Any

import pytest
from msgspec import convert, to_builtins
from tenure.kubernetes.devices.extended_resources import extended_claim
from tenure.kubernetes.objects.pod import Pod
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.kubernetes.devices.test_decisions import bound, builder_of, decide
from tests.kubernetes.devices.test_device_sets import DRIVER, claim
from tests.kubernetes.devices.test_extended_claim_requests import FPGA
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

GPU = "nvidia.com/gpu"
IMPLICIT = "deviceclass.resource.kubernetes.io/fpga"
_UNLIMITED = {"quota": -1, "limit": -1}
_AMOUNTS = {"cpu": "64", "memory": "512Gi", "pods": "110"}


@pytest.fixture
def world() -> CachedCluster:
    """A queue without a limit, and one with a quota of four GPUs."""
    made = CachedCluster()
    amounts = {"cpu": _UNLIMITED, "memory": _UNLIMITED}
    made.put("kai_queues", queue("root", resources={**amounts, "gpu": _UNLIMITED}))
    made.put("kai_queues", queue("q", parentQueue="root", resources={**amounts, "gpu": _UNLIMITED}))
    four = {"quota": 4, "limit": 4}
    made.put("kai_queues", queue("small", parentQueue="root", resources={**amounts, "gpu": four}))
    return made


def by_plugin(world: CachedCluster, resource: str, amount: int = 8, name: str = "plugin") -> None:
    world.put("nodes", node(name, allocatable={**_AMOUNTS, resource: str(amount)}))


def by_devices(world: CachedCluster, count: int = 8, name: str = "devices") -> None:
    """Create a node with devices, half of them of model A."""
    world.put("nodes", node(name, allocatable=_AMOUNTS))
    models = ["A" if at < count // 2 else "B" for at in range(count)]
    devices = [{"name": f"d{at}", "attributes": {"model": {"string": one}}} for at, one in enumerate(models)]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
    world.put("resource_slices", {"metadata": {"name": name}, "spec": spec})


def device_class(world: CachedCluster, name: str, resource: str = "", model: str = "") -> None:
    """Create a class of all devices, or those of a model."""
    selectors = [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]
    if model:
        selectors.append({"cel": {"expression": f"device.attributes['{DRIVER}'].model == '{model}'"}})
    spec = {"selectors": selectors} | ({"extendedResourceName": resource} if resource else {})
    world.put("device_classes", {"metadata": {"name": name}, "spec": spec})


def ask(world: CachedCluster, name: str, amount: int = 1, resource: str = FPGA, **more: Any) -> None:
    """Create a pod that requests a resource; `uses` is a claim of the pod, `queue` that of its pod group."""
    world.put("kai_pod_groups", pod_group(name, minMember=1, queue=more.get("queue", "q")))
    spec: dict[str, Any] = {}
    if uses := more.get("uses"):
        item = claim(name, **uses)
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": f"uid-{name}"}
        item["metadata"]["ownerReferences"] = [owner]
        world.put("resource_claims", item)
        spec = {"resourceClaims": [{"name": "x", "resourceClaimName": name}]}
    requests = {"cpu": "1"} | ({resource: str(amount)} if amount else {})
    made = running if "on" in more else pod
    world.put(
        "pods", made(name, *filter(None, [more.get("on")]), meta=member(name), requests=requests, spec=spec)
    )


def reason(world: CachedCluster, name: str, *, allocates: bool = True) -> str:
    builder = builder_of(world) if allocates else world.builder()
    (row,) = (one for one in builder.snapshot(NOW).pods if one.uid == f"uid-{name}")
    return row.blocked_reason


def nodes(response: DecideResponse) -> dict[str, str]:
    return {
        one.bind.pod.removeprefix("uid-"): one.bind.node
        for group in response.groups
        for one in group.decisions
        if one.HasField("bind")
    }


@pytest.mark.parametrize("resource", [FPGA, GPU, IMPLICIT])
def test_pod_says_why_it_waits_where_the_adapter_allocates_no_devices(
    world: CachedCluster, resource: str
) -> None:
    by_devices(world)
    device_class(world, "fpga", "" if resource == IMPLICIT else resource)
    ask(world, "p", resource=resource)
    assert reason(world, "p", allocates=False) == (
        f"no node has resource {resource!r} in its status.allocatable, and devices of class 'fpga' cannot "
        "serve it: the adapter allocates no devices"
    )


@pytest.mark.parametrize("allocates", [False, True])
@pytest.mark.parametrize("resource", [FPGA, GPU])
def test_node_that_has_the_resource_serves_it_without_devices(
    world: CachedCluster, resource: str, allocates: bool
) -> None:
    by_plugin(world, resource)
    device_class(world, "c", resource)
    ask(world, "p", 8, resource)
    assert reason(world, "p", allocates=allocates) == ""
    assert nodes(decide(world)) == {"p": "plugin"}
    ask(world, "q", 1, resource)
    assert len(bound(decide(world))) == 1


@pytest.mark.parametrize(
    ("device_classes", "resource", "why"),
    [
        ({}, FPGA, "no node offers example.com/fpga"),
        ({}, IMPLICIT, "device class 'fpga' does not exist"),
        ({"fpga": "example.com/other"}, FPGA, "no node offers example.com/fpga"),
    ],
)
def test_pod_says_why_no_class_serves_its_resource(
    world: CachedCluster, device_classes: dict[str, str], resource: str, why: str
) -> None:
    by_devices(world)
    for name, offered in device_classes.items():
        device_class(world, name, offered)
    ask(world, "p", resource=resource)
    assert why in reason(world, "p")
    assert bound(decide(world)) == []


@pytest.mark.parametrize("resource", [FPGA, GPU, IMPLICIT, "deviceclass.resource.kubernetes.io/gpu"])
def test_devices_serve_a_resource_once_each(world: CachedCluster, resource: str) -> None:
    by_devices(world, 4)
    name = resource.rpartition("/")[2]
    device_class(world, name, resource if resource in (FPGA, GPU) else "")
    ask(world, "a", 3, resource)
    assert nodes(decide(world)) == {"a": "devices"}
    ask(world, "a", 3, resource, on="devices")
    ask(world, "b", 2, resource)
    assert bound(decide(world)) == []
    ask(world, "b", 1, resource)
    assert bound(decide(world)) == ["b"]


@pytest.mark.parametrize("resource", [FPGA, GPU])
def test_pods_start_on_nodes_of_both_kinds(world: CachedCluster, resource: str) -> None:
    by_plugin(world, resource)
    by_devices(world)
    device_class(world, "c", resource)
    for name in ("a", "b", "c"):
        ask(world, name, 8, resource)
    assert sorted(nodes(decide(world)).values()) == ["devices", "plugin"]


@pytest.mark.parametrize("resource", [FPGA, GPU])
@pytest.mark.parametrize(
    ("amount", "claimed", "starts"), [(8, 1, False), (7, 1, True), (4, 4, True), (4, 5, False)]
)
def test_resources_and_claims_of_a_pod_are_served_by_different_devices(
    world: CachedCluster, resource: str, amount: int, claimed: int, starts: bool
) -> None:
    by_devices(world)
    device_class(world, "c", resource)
    ask(world, "p", amount, resource, uses={"count": claimed, "deviceClassName": "c"})
    assert bound(decide(world)) == (["p"] if starts else [])


@pytest.mark.parametrize("resource", [FPGA, GPU])
def test_claims_to_some_of_the_devices_leave_the_rest(world: CachedCluster, resource: str) -> None:
    by_devices(world)
    device_class(world, "c", resource)
    ask(world, "a", 0, uses={"selector": "model == 'A'", "count": 4, "deviceClassName": "c"})
    ask(world, "b", 4, resource)
    assert bound(decide(world)) == ["a", "b"]
    ask(world, "b", 5, resource)
    assert len(bound(decide(world))) == 1


@pytest.mark.parametrize("resource", [FPGA, GPU])
def test_claims_are_kept_off_what_device_plugins_serve(world: CachedCluster, resource: str) -> None:
    by_plugin(world, resource)
    by_devices(world, 2)
    device_class(world, "c", resource)
    ask(world, "other", 1, resource, on="plugin")
    ask(world, "p", 0, uses={"count": 3, "deviceClassName": "c"})
    assert bound(decide(world)) == []
    ask(world, "p", 0, uses={"count": 2, "deviceClassName": "c"})
    assert nodes(decide(world)) == {"p": "devices"}


@pytest.mark.parametrize(("amount", "starts"), [(4, True), (5, False)])
@pytest.mark.parametrize("resource", [GPU, "deviceclass.resource.kubernetes.io/gpu.c"])
def test_gpus_that_devices_serve_count_once_in_the_queue(
    world: CachedCluster, resource: str, amount: int, starts: bool
) -> None:
    by_devices(world)
    device_class(world, "gpu.c", resource if resource == GPU else "")
    ask(world, "p", amount, resource, queue="small")
    assert bound(decide(world)) == (["p"] if starts else [])


@pytest.mark.parametrize(("amount", "starts"), [(4, True), (5, False)])
def test_class_of_some_gpus_serves_as_many_as_it_has(world: CachedCluster, amount: int, starts: bool) -> None:
    by_plugin(world, GPU)
    by_devices(world)
    device_class(world, "a", GPU, model="A")
    device_class(world, "gpu.all")
    ask(world, "p", 8, GPU)
    assert nodes(decide(world)) == {"p": "plugin"}
    ask(world, "full", 8, GPU, on="plugin")
    ask(world, "p", amount, GPU)
    assert nodes(decide(world)) == ({"p": "devices"} if starts else {})
    ask(world, "q", 4, "deviceclass.resource.kubernetes.io/gpu.all")
    assert len(bound(decide(world))) == 1 + starts


def test_shares_of_gpus_are_not_served_by_devices(world: CachedCluster) -> None:
    by_devices(world)
    device_class(world, "c", GPU)
    world.put("kai_pod_groups", pod_group("p", minMember=1))
    meta = member("p")
    meta["annotations"]["gpu-fraction"] = "0.5"
    world.put("pods", pod("p", meta=meta))
    assert bound(decide(world)) == []


def rows(snapshot: ClusterSnapshot) -> dict[str, list[Any]]:
    return {name: list(getattr(snapshot, name)) for name in ("nodes", "pods", "shapes", "resource_claims")}


def test_updated_rows_are_those_of_a_new_builder(world: CachedCluster) -> None:
    by_plugin(world, FPGA, name="devices")
    ask(world, "p", 3)
    ask(world, "g", 1, GPU)
    builder = builder_of(world)
    builder.snapshot(NOW)
    for change in (
        lambda: device_class(world, "c", FPGA),
        lambda: by_devices(world, 4),
        lambda: ask(world, "p", 4),
        lambda: device_class(world, "gpu", GPU, model="A"),
        lambda: by_plugin(world, FPGA, 1),
        lambda: world.remove("nodes", "nodes-plugin"),
        lambda: device_class(world, "c", "example.com/other"),
        lambda: device_class(world, "c", FPGA),
        lambda: world.remove("device_classes", "device_classes-c"),
        lambda: world.remove("resource_slices", "resource_slices-devices"),
    ):
        change()
        updated = rows(builder.snapshot(NOW))
        assert updated == rows(builder_of(world).snapshot(NOW))
        claims = {row.id for row in updated["resource_claims"]}
        assert {id for row in updated["pods"] for id in row.resource_claims} <= claims


def test_devices_serve_a_resource_when_it_is_no_longer_allocatable(world: CachedCluster) -> None:
    by_plugin(world, FPGA, name="devices")
    device_class(world, "c", FPGA)
    ask(world, "p", 3)
    assert [row.allocatable.extended[FPGA] for row in builder_of(world).snapshot(NOW).nodes] == [8]
    by_devices(world, 4)
    assert [row.allocatable.extended[FPGA] for row in builder_of(world).snapshot(NOW).nodes] == [4]


def give(world: CachedCluster, name: str, *devices: str, scheduler: str = "kai-scheduler") -> None:
    """Let a pod run on the node with devices, with the claim that its scheduler made for it."""
    item = running(name, "devices", meta=member(name), requests={FPGA: str(len(devices))})
    item["spec"]["schedulerName"] = scheduler
    made = extended_claim(
        convert({**item, "metadata": {**item["metadata"], "uid": f"uid-{name}"}}, Pod), {FPGA: "c"}
    )
    assert made is not None
    results = [
        {"request": "container-0-request-0", "driver": DRIVER, "pool": "devices", "device": one}
        for one in devices
    ]
    consumer = {"resource": "pods", "name": name, "uid": f"uid-{name}"}
    status = {"allocation": {"devices": {"results": results}}, "reservedFor": [consumer]}
    of_claim = to_builtins(made.claim) | {"status": status}
    of_claim["metadata"].pop("uid")
    world.put("resource_claims", of_claim)
    world.put("pods", item)


@pytest.mark.parametrize("scheduler", ["kai-scheduler", "default-scheduler"])
def test_devices_of_running_pods_are_not_free(world: CachedCluster, scheduler: str) -> None:
    by_devices(world)
    device_class(world, "c", FPGA)
    world.put("kai_pod_groups", pod_group("r", minMember=1))
    give(world, "r", "d0", "d1", "d4", scheduler=scheduler)
    ask(world, "a", 0, uses={"selector": "model == 'A'", "count": 3, "deviceClassName": "c"})
    assert bound(decide(world)) == []
    ask(world, "a", 0, uses={"selector": "model == 'A'", "count": 2, "deviceClassName": "c"})
    ask(world, "b", 4)
    assert len(bound(decide(world))) == 1
    ask(world, "b", 3)
    assert bound(decide(world)) == ["a", "b"]


def test_running_pods_are_evicted_for_extended_resources(world: CachedCluster) -> None:
    world.put("priority_classes", {"metadata": {"name": "high"}, "value": 90})
    world.put("priority_classes", {"metadata": {"name": "low"}, "value": 10})
    by_devices(world, 4)
    device_class(world, "c", FPGA)
    for at in range(2):
        low = {"minMember": 1, "priorityClassName": "low", "preemptibility": "preemptible"}
        world.put("kai_pod_groups", pod_group(f"low{at}", **low))
        give(world, f"low{at}", f"d{2 * at}", f"d{2 * at + 1}")
    ask(world, "high", 2)
    world.put("kai_pod_groups", pod_group("high", minMember=1, priorityClassName="high"))
    response = decide(world)
    evicted = [one.evict.pod for group in response.groups for one in group.decisions if one.HasField("evict")]
    assert len(evicted) == 1
