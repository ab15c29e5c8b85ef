"""Resource claims: pods are placed when theirs are allocated, on nodes that can use the devices."""

from typing import Any

import pytest

from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, pod
from tests.kubernetes.volumes.test_volumes import blocked_reason, nodes_for
from tests.kubernetes.volumes.volume_objects import bound_claim, mounts, storage_cluster, volume

UID = "uid-p"
NAMED = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}
OF_TEMPLATE = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}
CREATED = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]}


@pytest.fixture
def world() -> CachedCluster:
    return storage_cluster()


def claim(**more: Any) -> dict[str, Any]:
    """Build a claim; `meta` adds metadata, other fields are those of its status."""
    return {"metadata": {"name": "c", "namespace": "team", **more.pop("meta", {})}, "status": more}


def allocated(*nodes: str, **device: Any) -> dict[str, Any]:
    """Build an allocation for some nodes, or for all."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}
    selector = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}} if nodes else {}
    return {"allocation": {"devices": {"results": [{"device": "d", **device}]}, **selector}}


def consumers(count: int, first: str = "other") -> dict[str, Any]:
    return {"reservedFor": [{"resource": "pods", "name": "x", "uid": first}, *others(count - 1)]}


def others(count: int) -> list[dict[str, Any]]:
    return [{"resource": "pods", "name": f"p{i}", "uid": f"u{i}"} for i in range(count)]


CASES: dict[str, tuple[dict[str, Any] | None, str]] = {
    "missing": (None, "resource claim 'c' does not exist"),
    "not allocated": (
        claim(),
        "resource claim 'c' has no status.allocation, and the adapter allocates no devices",
    ),
    "terminating": (
        claim(meta={"deletionTimestamp": "2027-01-01T00:00:00Z"}),
        "resource claim 'c' is terminating",
    ),
    "waits for its driver": (
        claim(**allocated("n1", bindingConditions=["ready"])),
        "resource claim 'c' has status.allocation.devices.results.bindingConditions, which is not supported",
    ),
    "used by the most pods": (
        claim(**allocated("n1"), **consumers(256)),
        "resource claim 'c' is reserved for 256 pods, the maximum",
    ),
    "used by the most pods and this one": (claim(**allocated("n1"), **consumers(256, UID)), ""),
    "allocated": (claim(**allocated("n1")), ""),
    "for no node": (
        claim(allocation={"nodeSelector": {"nodeSelectorTerms": [{}]}}),
        "its volumes and devices are for no node",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_pod_is_blocked_unless_its_claim_is_allocated(world: CachedCluster, case: str) -> None:
    item, reason = CASES[case]
    if item is not None:
        world.put("resource_claims", item)
    world.put("pods", pod("p", spec=NAMED))
    assert blocked_reason(world.snapshot()) == reason


def test_nodes_of_an_allocation_and_of_a_volume_apply_together(world: CachedCluster) -> None:
    world.put("resource_claims", claim(**allocated("n1", "n2")))
    world.put("volumes", volume("v", ("n2", "n3"), phase="Bound"))
    world.put("volume_claims", bound_claim("data", "v"))
    world.put("pods", pod("p", spec={**NAMED, **mounts("data")}))
    assert nodes_for(world.snapshot()) == {"n2"}


def test_devices_for_all_nodes_do_not_restrict_a_pod(world: CachedCluster) -> None:
    world.put("resource_claims", claim(**allocated()))
    world.put("pods", pod("p", spec=NAMED))
    assert nodes_for(world.snapshot()) == {"n1", "n2", "n3"}


def test_claim_of_a_template_must_be_created_for_the_pod(world: CachedCluster) -> None:
    world.put("pods", pod("p", spec=OF_TEMPLATE))
    assert blocked_reason(world.snapshot()) == "resource claim for 'gpu' is not created yet"
    world.put("pods", pod("p", spec=OF_TEMPLATE, status=CREATED))
    world.put("resource_claims", claim(**allocated("n1")))
    assert blocked_reason(world.snapshot()) == "resource claim 'c' was not created for this pod"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": UID, "controller": True}
    world.put("resource_claims", claim(meta={"ownerReferences": [owner]}, **allocated("n1")))
    assert blocked_reason(world.snapshot()) == ""


def test_template_for_which_no_claim_is_needed_requires_nothing(world: CachedCluster) -> None:
    world.put("pods", pod("p", spec=OF_TEMPLATE, status={"resourceClaimStatuses": [{"name": "gpu"}]}))
    assert blocked_reason(world.snapshot()) == ""


def test_pod_is_read_again_when_its_claim_is_allocated(world: CachedCluster) -> None:
    world.put("pods", pod("p", spec=NAMED))
    builder = world.builder()
    builder.snapshot(NOW)
    for item in (claim(), claim(**allocated("n3"))):
        world.put("resource_claims", item)
        builder.delta(NOW)
    snapshot = builder.snapshot(NOW)
    assert blocked_reason(snapshot) == ""
    assert nodes_for(snapshot) == {"n3"}


def test_server_without_the_api_is_named(world: CachedCluster) -> None:
    world.put("pods", pod("p", spec=NAMED))
    world.mirrors.followed_collections["pods"] = "/api/v1/pods"
    reason = blocked_reason(world.snapshot())
    assert reason == "resourceClaims['gpu'] is not supported: the API server has no resource.k8s.io/v1"
