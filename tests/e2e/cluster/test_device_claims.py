"""Pods with resource claims on a real cluster: they use devices that are allocated, and wait for others."""

from typing import Any

import msgspec
import pytest
from tenure.kubernetes.api.transport import MERGE_PATCH

from tests.e2e.cluster.story import Story
from tests.e2e.cluster.volumes import on_node
from tests.kubernetes.cluster import wait_until

pytestmark = pytest.mark.kube

DRIVER = "gpu.example.test"
USES_CLAIM = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}
NOT_ALLOCATED = "resource claim 'gpu' has no status.allocation, and the adapter allocates no devices"


class Claims:
    """Resource claims of a story, and a driver that allocates them."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._path = f"/apis/resource.k8s.io/v1/namespaces/{story.namespace}/resourceclaims"

    def create(self, name: str) -> None:
        """Create a claim for one device."""
        request = {"name": "one", "exactly": {"deviceClassName": "gpu"}}
        spec = {"devices": {"requests": [request]}}
        self._story.transport.post(self._path, {"metadata": {"name": name}, "spec": spec})

    def allocate(self, name: str, node: str, **device: Any) -> None:
        """Allocate a device of a node to a claim, as an allocator does."""
        full = self._story.full(node)
        result = {"request": "one", "driver": DRIVER, "pool": full, "device": "gpu-0", **device}
        selector = {"nodeSelectorTerms": [on_node(full)]}
        status = {"allocation": {"devices": {"results": [result]}, "nodeSelector": selector}}
        self._story.transport.patch(f"{self._path}/{name}/status", {"status": status}, MERGE_PATCH)

    def consumers(self, name: str) -> set[str]:
        """Names of the pods that a claim is reserved for."""
        claim = msgspec.json.decode(self._story.transport.get(f"{self._path}/{name}"))
        return {one["name"] for one in claim["status"].get("reservedFor", [])}


@pytest.fixture
def claims(story: Story) -> Claims:
    """Two nodes, and the claim `gpu`."""
    story.node("n1")
    story.node("n2")
    made = Claims(story)
    made.create("gpu")
    return made


def test_pods_that_share_an_allocated_claim_run_on_its_node_and_are_its_consumers(
    story: Story, claims: Claims
) -> None:
    claims.allocate("gpu", "n2")
    story.gang("gang", pods=3, gpus=0, **USES_CLAIM)
    wait_until(lambda: story.running("gang") == 3)
    assert set(story.live("gang").values()) == {"n2"}
    assert claims.consumers("gpu") == set(story.live("gang"))


def test_pod_waits_until_its_claim_is_allocated_and_names_the_field(story: Story, claims: Claims) -> None:
    story.gang("gang", pods=1, gpus=0, **USES_CLAIM)
    wait_until(lambda: NOT_ALLOCATED in str(story.conditions_of("gang")))
    assert story.live("gang") == {}
    claims.allocate("gpu", "n1")
    wait_until(lambda: story.running("gang") == 1)
    assert list(story.live("gang").values()) == ["n1"]


def test_claim_of_a_template_is_used_when_its_controller_made_it(story: Story) -> None:
    story.node("n1")
    request = {"name": "one", "exactly": {"deviceClassName": "gpu"}}
    template = {"metadata": {"name": "one"}, "spec": {"spec": {"devices": {"requests": [request]}}}}
    base = f"/apis/resource.k8s.io/v1/namespaces/{story.namespace}"
    story.transport.post(f"{base}/resourceclaimtemplates", template)
    entry = {"name": "gpu", "resourceClaimTemplateName": "one"}
    story.gang("gang", pods=1, gpus=0, resourceClaims=[entry])

    def created() -> list[str]:
        items = msgspec.json.decode(story.transport.get(f"{base}/resourceclaims"))["items"]
        return [item["metadata"]["name"] for item in items]

    (name,) = wait_until(created)
    wait_until(
        lambda: f"resource claim '{name}' has no status.allocation" in str(story.conditions_of("gang"))
    )
    Claims(story).allocate(name, "n1")
    wait_until(lambda: story.running("gang") == 1)
