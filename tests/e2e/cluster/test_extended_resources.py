"""Pods that request extended resources of device classes on a real cluster: devices serve them."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from tenure.kubernetes.api.api_errors import RequestRejected
from tenure.kubernetes.api.transport import Transport

from tests.cluster.tenure_deployment import ACCOUNT, NAMESPACE
from tests.cluster.whole_cluster import WholeCluster
from tests.e2e.cluster.admission import refused_bindings
from tests.e2e.cluster.device_driver import DeviceDriver, request
from tests.e2e.cluster.story import Story
from tests.kubernetes.cluster import wait_until
from tests.kubernetes.environment.control_plane import account_token

pytestmark = pytest.mark.kube

ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


@pytest.fixture
def driver(story: Story) -> DeviceDriver:
    """Node n1 with four devices, and a class of them."""
    made = DeviceDriver(story)
    story.node("n1", gpus=0)
    made.publish("n1", {f"d{at}": "A" for at in range(4)})
    return made


def requests(*amounts: dict[str, int]) -> dict[str, Any]:
    """Build a container for each of the amounts."""
    named = [{"cpu": "1", **{name: str(n) for name, n in one.items()}} for one in amounts]
    return {
        "containers": [
            {"name": f"c{at}", "image": "none", "resources": {"requests": one, "limits": one}}
            for at, one in enumerate(named)
        ]
    }


def explicit(driver: DeviceDriver, suffix: str = "fpga") -> str:
    """Create the class of all devices, with a resource; return its name."""
    name = f"{driver.name}/{suffix}"
    driver.device_class(extendedResourceName=name)
    return name


@pytest.mark.parametrize("kind", ["fpga", "gpu", "implicit"])
def test_pod_gets_a_claim_of_its_own_before_it_is_bound(
    story: Story, driver: DeviceDriver, kind: str
) -> None:
    if kind == "implicit":
        driver.device_class()
        name = f"deviceclass.resource.kubernetes.io/{driver.name}"
    else:
        name = explicit(driver, kind)
    story.job("job", pods=1, gpus=0, **requests({name: 1}, {}, {name: 2}))
    wait_until(lambda: story.running("job") == 1)
    ((pod, _),) = story.live("job").items()
    item = story.object("Pod", pod)
    (claim,) = driver.claims()
    status = item["status"]["extendedResourceClaimStatus"]
    assert status["resourceClaimName"] == claim["metadata"]["name"]
    mapped = {
        (one["containerName"], one["resourceName"]): one["requestName"] for one in status["requestMappings"]
    }
    asked = {one["name"]: one["exactly"]["count"] for one in claim["spec"]["devices"]["requests"]}
    assert {container: asked[request] for (container, _), request in mapped.items()} == {"c0": 1, "c2": 2}
    assert {resource for _, resource in mapped} == {name}
    (owner,) = claim["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (item["metadata"]["uid"], True)
    assert claim["metadata"]["annotations"][ANNOTATION] == "true"
    assert [one["uid"] for one in claim["status"]["reservedFor"]] == [item["metadata"]["uid"]]
    assert len(driver.given()) == 3
    story.delete("Job", "job")
    wait_until(lambda: driver.claims() == [])


def test_devices_serve_as_many_pods_as_there_are(story: Story, driver: DeviceDriver) -> None:
    name = explicit(driver)
    story.job("many", pods=3, gpus=0, **requests({name: 2}))
    wait_until(lambda: story.running("many") == 2)
    wait_until(lambda: any(story.waiting("many").values()))
    assert len(driver.given()) == len(set(driver.given())) == 4
    story.finish("many")
    wait_until(lambda: len(driver.given()) == 2)


def test_node_whose_device_plugin_has_the_resource_needs_no_claim(story: Story, driver: DeviceDriver) -> None:
    name = explicit(driver)
    story.node("n2", gpus=0)
    amounts = {"capacity": {name: "4"}, "allocatable": {name: "4"}}
    story.change("Node", story.full("n2"), {"status": amounts}, "/status")
    story.gang("gang", pods=2, gpus=0, **requests({name: 4}))
    wait_until(lambda: story.running("gang") == 2)
    assert sorted(story.live("gang").values()) == ["n1", "n2"]
    assert len(driver.claims()) == 1
    with_claim = {
        node: "extendedResourceClaimStatus" in story.object("Pod", pod)["status"]
        for pod, node in story.live("gang").items()
    }
    assert with_claim == {"n1": True, "n2": False}


def test_pod_says_why_no_devices_serve_its_resource(story: Story, driver: DeviceDriver) -> None:
    missing = "deviceclass.resource.kubernetes.io/no-such-class"
    story.gang("gang", pods=1, gpus=0, **requests({missing: 1}))
    wait_until(lambda: "device class 'no-such-class' does not exist" in str(story.conditions_of("gang")))
    assert missing in str(story.conditions_of("gang"))
    assert driver.claims() == []


def test_claim_of_a_pod_that_cannot_be_bound_is_deleted_and_made_anew(
    story: Story, driver: DeviceDriver
) -> None:
    name = explicit(driver)
    with refused_bindings(story, "gang", "not here"):
        story.gang("gang", pods=1, gpus=0, **requests({name: 4}))
        wait_until(driver.given)
        first = driver.claims()[0]["metadata"]["uid"]
        wait_until(lambda: first not in [one["metadata"]["uid"] for one in driver.claims()])
    wait_until(lambda: story.running("gang") == 1)
    assert len(driver.claims()) == 1
    assert len(driver.given()) == 4


def test_adapter_may_create_and_delete_claims_for_extended_resources_only(
    cluster: WholeCluster, story: Story, driver: DeviceDriver
) -> None:
    driver.device_class()
    driver.claim("theirs", request("one", driver.name))
    path = f"/apis/resource.k8s.io/v1/namespaces/{story.namespace}/resourceclaims"
    spec = {"devices": {"requests": [request("one", driver.name)]}}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    own = {"annotations": {ANNOTATION: "true"}, "ownerReferences": [owner]}
    token = account_token(cluster.admin, NAMESPACE, ACCOUNT)
    with closing(Transport(cluster.plane.kubeconfig(token))) as adapter:

        def rejection(call: Callable[[], object]) -> str:
            try:
                call()
            except RequestRejected as refused:
                return str(refused)
            return ""

        def create(metadata: dict[str, Any]) -> bytes:
            body = {"metadata": {"name": "new", **metadata}, "spec": spec}
            return adapter.post(path, body, {"dryRun": "All"})

        assert rejection(lambda: create(own)) == ""
        for other in ({}, {**own, "annotations": {}}, {**own, "ownerReferences": []}):
            assert "for extended resources of pods only" in rejection(lambda other=other: create(other))
        assert "for extended resources of pods only" in rejection(lambda: adapter.delete(f"{path}/theirs"))
