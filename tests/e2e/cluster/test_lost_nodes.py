"""Nodes whose kubelet is silent, that are deleted, or that are drained: their pods run elsewhere."""

import pytest

from tests.e2e.cluster.story import Story
from tests.kubernetes.cluster import wait_until

pytestmark = pytest.mark.kube

SHORT = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
    for key in ("unreachable", "not-ready")
]
"""Pods stay for a second on a node that is lost, instead of five minutes."""

COLLECTION_SECONDS = 240.0
"""The controller that deletes pods without a node does so after 40 to 80 seconds."""


def silence(story: Story, node: str) -> None:
    """Stop the kubelet of a node, and report it as the node controller does after 50 seconds."""
    name = story.full(node)
    story.change("Node", name, {"metadata": {"labels": {"type": None}}})

    def is_tainted() -> bool:
        """Report again if the kubelet's last report came later."""
        found = story.object("Node", name)
        conditions = found["status"]["conditions"]
        silent = [{**one, "status": "Unknown"} if one["type"] == "Ready" else one for one in conditions]
        if silent != conditions:
            story.change("Node", name, {"status": {"conditions": silent}}, "/status")
        taints = found["spec"].get("taints", [])
        return any(taint["key"] == "node.kubernetes.io/unreachable" for taint in taints)

    wait_until(is_tainted)


def test_pods_of_a_silent_node_are_replaced_on_another_one(story: Story) -> None:
    story.node("n1", gpus=2)
    story.deployment("web", replicas=2, gpus=1, tolerations=SHORT)
    wait_until(lambda: story.running("web") == 2)
    lost = set(story.pods("web"))
    story.node("n2", gpus=2)
    silence(story, "n1")
    wait_until(lambda: sorted(story.live("web").values()) == ["n2", "n2"])
    assert not lost & set(story.live("web"))
    assert lost <= set(story.pods("web")), "no kubelet confirms that they have ended"


@pytest.mark.thorough
@pytest.mark.timeout(400)
def test_pods_of_a_deleted_node_are_replaced_and_others_start_meanwhile(story: Story) -> None:
    story.node("n1", gpus=2)
    story.deployment("web", replicas=2, gpus=1)
    wait_until(lambda: story.running("web") == 2)
    lost = set(story.pods("web"))
    story.node("n2", gpus=3)
    story.transport.delete(f"/api/v1/nodes/{story.full('n1')}")
    story.job("other", pods=1, gpus=1)
    wait_until(lambda: story.running("other") == 1)
    wait_until(lambda: not lost & set(story.pods()), COLLECTION_SECONDS)
    wait_until(lambda: list(story.live("web").values()) == ["n2", "n2"])


def test_pods_of_a_drained_node_move_to_another_one(story: Story) -> None:
    story.node("n1", gpus=2)
    story.deployment("web", replicas=2, gpus=1)
    wait_until(lambda: story.running("web") == 2)
    story.node("n2", gpus=2)
    story.change("Node", story.full("n1"), {"spec": {"unschedulable": True}})
    for pod in story.pods("web"):
        story.evict(pod)
    wait_until(lambda: list(story.live("web").values()) == ["n2", "n2"] and story.running("web") == 2)
