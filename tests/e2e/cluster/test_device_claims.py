"""Pods with resource claims on a real cluster: the adapter allocates devices, and frees them."""

from contextlib import closing
from typing import Any

import pytest
from tenure.kubernetes.api.api_errors import RequestRejected
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

from tests.cluster.tenure_deployment import ACCOUNT, NAMESPACE
from tests.cluster.whole_cluster import WholeCluster
from tests.e2e.cluster.admission import refused_bindings
from tests.e2e.cluster.device_driver import DeviceDriver, request
from tests.e2e.cluster.story import THEIRS, Story
from tests.kubernetes.cluster import wait_until
from tests.kubernetes.environment.control_plane import account_token

pytestmark = pytest.mark.kube


@pytest.fixture
def driver(story: Story) -> DeviceDriver:
    """Two nodes with two devices each, of model A and B, and a class of all of them."""
    made = DeviceDriver(story)
    for node in ("n1", "n2"):
        story.node(node)
        made.publish(node, {"a0": "A", "b0": "B"})
    made.device_class()
    return made


def uses(*claims: str) -> dict[str, Any]:
    return {"resourceClaims": [{"name": name, "resourceClaimName": name} for name in claims]}


def test_claim_is_allocated_reserved_and_protected_before_its_pod_is_bound(
    story: Story, driver: DeviceDriver
) -> None:
    driver.claim("c", request("one", driver.name, "model == 'B'"))
    story.gang("gang", pods=1, gpus=0, **uses("c"))
    wait_until(lambda: story.running("gang") == 1)
    (pod, node) = next(iter(story.live("gang").items()))
    claim = driver.read("c")
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    assert result == {**result, "request": "one", "driver": driver.name, "device": "b0"}
    assert result["pool"] == story.full(node)
    assert [one["name"] for one in claim["status"]["reservedFor"]] == [pod]
    assert "resource.kubernetes.io/delete-protection" in claim["metadata"]["finalizers"]


def test_pods_of_a_template_get_different_devices_and_the_rest_waits(
    story: Story, driver: DeviceDriver
) -> None:
    entry = driver.template("t", request("one", driver.name))
    story.job("many", pods=5, gpus=0, resourceClaims=[entry])
    wait_until(lambda: story.running("many") == 4)
    wait_until(lambda: any(story.waiting("many").values()))
    assert len(driver.given()) == len(set(driver.given())) == 4


def test_devices_of_ended_pods_are_given_to_the_next(story: Story, driver: DeviceDriver) -> None:
    entry = driver.template("t", request("two", driver.name, count=2))
    story.job("first", pods=2, gpus=0, resourceClaims=[entry])
    wait_until(lambda: story.running("first") == 2)
    story.job("next", pods=1, gpus=0, resourceClaims=[entry])
    wait_until(lambda: any(story.waiting("next").values()))
    story.finish("first")
    wait_until(lambda: story.running("next") == 1)


def test_gang_whose_claims_do_not_all_fit_gets_none(story: Story, driver: DeviceDriver) -> None:
    entry = driver.template("t", request("one", driver.name, "model == 'A'"))
    story.gang("gang", pods=3, gpus=0, resourceClaims=[entry])
    wait_until(lambda: story.reasons_of("gang"))
    assert driver.given() == []
    story.node("n3")
    driver.publish("n3", {"a0": "A"})
    wait_until(lambda: story.running("gang") == 3)


def test_pods_that_share_a_claim_run_on_one_node_with_its_devices(story: Story, driver: DeviceDriver) -> None:
    driver.claim("shared", request("both", driver.name, count=2))
    story.gang("gang", pods=3, gpus=0, **uses("shared"))
    wait_until(lambda: story.running("gang") == 3)
    assert len(set(story.live("gang").values())) == 1
    assert len(driver.given()) == 2
    consumers = {one["name"] for one in driver.read("shared")["status"]["reservedFor"]}
    assert consumers == set(story.live("gang"))


def test_alternatives_are_tried_in_order(story: Story, driver: DeviceDriver) -> None:
    wanted = [
        {"name": "four", "deviceClassName": driver.name, "count": 4},
        {"name": "two", "deviceClassName": driver.name, "count": 2},
    ]
    driver.claim("c", {"name": "one", "firstAvailable": wanted})
    story.gang("gang", pods=1, gpus=0, **uses("c"))
    wait_until(lambda: story.running("gang") == 1)
    results = driver.read("c")["status"]["allocation"]["devices"]["results"]
    assert [one["request"] for one in results] == ["one/two", "one/two"]


def test_devices_of_one_claim_have_one_value_of_an_attribute(story: Story, driver: DeviceDriver) -> None:
    driver.publish("n1", {"a0": "A", "b0": "B", "b1": "B"}, generation=2)
    constraint = {"requests": ["pair"], "matchAttribute": f"{driver.name}/model"}
    driver.claim("pair", request("pair", driver.name, count=2), constraints=[constraint])
    story.gang("gang", pods=1, gpus=0, **uses("pair"))
    wait_until(lambda: story.running("gang") == 1)
    assert sorted(name for _, name in driver.given()) == ["b0", "b1"]


def test_tainted_device_is_given_to_claims_that_tolerate_it(story: Story, driver: DeviceDriver) -> None:
    story.node("n3")
    taint = {"key": "example.test/broken", "value": "yes", "effect": "NoSchedule"}
    driver.publish("n3", {"c0": "C"}, taints=[taint])
    driver.claim("plain", request("one", driver.name, "model == 'C'"))
    tolerations = [{"key": "example.test/broken", "operator": "Exists"}]
    driver.claim("tolerant", request("one", driver.name, "model == 'C'", tolerations=tolerations))
    story.gang("plain", pods=1, gpus=0, **uses("plain"))
    wait_until(lambda: "no device of class" in str(story.conditions_of("plain")))
    story.gang("tolerant", pods=1, gpus=0, **uses("tolerant"))
    wait_until(lambda: story.running("tolerant") == 1)


def test_rule_of_an_administrator_keeps_claims_off_a_device(story: Story, driver: DeviceDriver) -> None:
    story.node("n3")
    driver.publish("n3", {"d0": "D", "d1": "D"})
    driver.taint("n3", "d0", "example.test/repair")
    entry = driver.template("t", request("one", driver.name, "model == 'D'"))
    story.job("two", pods=2, gpus=0, resourceClaims=[entry])
    wait_until(lambda: story.running("two") == 1)
    wait_until(lambda: any(story.waiting("two").values()))
    assert [device for _, device in driver.given()] == ["d1"]
    driver.remove_taint("n3")
    wait_until(lambda: story.running("two") == 2)


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"adminAccess": True}, "spec.devices.requests[0].exactly.adminAccess is not supported"),
        ({"allocationMode": "All"}, "spec.devices.requests[0].exactly.allocationMode All is not supported"),
    ],
)
def test_field_that_is_not_supported_is_named(
    story: Story, driver: DeviceDriver, more: dict[str, Any], field: str
) -> None:
    if "adminAccess" in more:
        label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
        story.transport.patch(f"/api/v1/namespaces/{story.namespace}", label, MERGE_PATCH)
    driver.claim("c", request("one", driver.name, **more))
    story.gang("gang", pods=1, gpus=0, **uses("c"))
    wait_until(lambda: field in str(story.conditions_of("gang")))
    assert story.live("gang") == {}


def test_devices_are_freed_when_their_pods_are_deleted(story: Story, driver: DeviceDriver) -> None:
    driver.claim("c", request("one", driver.name))
    story.gang("gang", pods=1, gpus=0, **uses("c"))
    wait_until(lambda: story.running("gang") == 1)
    story.delete("Job", "gang")
    wait_until(lambda: driver.given() == [])


def test_adapter_may_add_its_finalizer_and_annotation_to_claims_only(
    cluster: WholeCluster, story: Story, driver: DeviceDriver
) -> None:
    driver.claim("c", request("one", driver.name))
    path = f"/apis/resource.k8s.io/v1/namespaces/{story.namespace}/resourceclaims/c"
    token = account_token(cluster.admin, NAMESPACE, ACCOUNT)
    with closing(Transport(cluster.plane.kubeconfig(token))) as own:

        def rejection(metadata: dict[str, Any]) -> str:
            try:
                own.patch(path, {"metadata": metadata}, MERGE_PATCH, {"dryRun": "All"})
            except RequestRejected as refused:
                return str(refused)
            return ""

        assert rejection({"annotations": {"tenure.scheduler/device-allocator": "x"}}) == ""
        assert rejection({"finalizers": ["resource.kubernetes.io/delete-protection"]}) == ""
        assert "annotations of a resource claim" in rejection({"annotations": {"other": "x"}})
        assert "labels and owners of a resource claim" in rejection({"labels": {"a": "b"}})
        assert "the finalizers of a resource claim" in rejection({"finalizers": ["a.b/c"]})


def test_kube_scheduler_cannot_allocate(story: Story, driver: DeviceDriver) -> None:
    driver.claim("c", request("one", driver.name))
    story.job("theirs", pods=1, gpus=0, scheduler=THEIRS, **uses("c"))
    wait_until(lambda: "allocates all devices of this cluster" in str(story.event_notes("FailedScheduling")))
    assert driver.given() == []


def test_pods_without_claims_are_kept_off_gpus_that_only_claims_can_use(
    story: Story, driver: DeviceDriver
) -> None:
    story.node("n3")
    driver.publish("n3", {"g0": "G"})
    driver.device_class(f"gpu.{driver.name}", "model == 'G'")
    story.gang("plain", pods=3, gpus=8)
    wait_until(lambda: story.reasons_of("plain"))
    driver.retract("n3")
    wait_until(lambda: story.running("plain") == 3)


def test_pod_group_is_evicted_for_devices_of_higher_priority(story: Story, driver: DeviceDriver) -> None:
    entry = driver.template("t", request("both", driver.name, count=2))
    story.gang("low", pods=2, gpus=0, resourceClaims=[entry])
    wait_until(lambda: story.running("low") == 2)
    story.gang("high", pods=1, gpus=0, priority="urgent", resourceClaims=[entry])
    wait_until(lambda: story.running("high") == 1)
    assert len(driver.given()) == len(set(driver.given()))


def test_devices_are_freed_when_their_pod_cannot_be_bound(story: Story, driver: DeviceDriver) -> None:
    driver.claim("c", request("one", driver.name))
    with refused_bindings(story, "gang", "not here"):
        story.gang("gang", pods=1, gpus=0, **uses("c"))
        wait_until(driver.given)
        wait_until(lambda: driver.given() == [])
    wait_until(lambda: story.running("gang") == 1)
