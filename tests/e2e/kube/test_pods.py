"""Single pods on a real API server: held back by a gate, sharing a GPU, moved to another node."""

import pytest
from tenure.client.kubernetes.transport import MERGE_PATCH

from tests.e2e.kube.conftest import Adapter
from tests.kube.audit import Audit
from tests.kube.cluster import Cluster, eventually

pytestmark = pytest.mark.kube


@pytest.fixture
def derived(cluster: Cluster) -> Cluster:
    """With the queue of pods that name no pod group."""
    cluster.queue("default-queue")
    return cluster


def test_a_pod_that_is_held_back_by_a_gate_starts_when_the_gate_is_gone(
    derived: Cluster, adapter: Adapter, audit: Audit
) -> None:
    derived.pod("held-0", gpus=1, gates=("team.example/quota",))
    derived.pod("free-0", gpus=1)
    with adapter():
        eventually(lambda: derived.running("free") == 1)
        assert derived.bound("held") == 0
        derived.transport.patch(
            f"{derived.pods_path}/held-0", {"spec": {"schedulingGates": None}}, MERGE_PATCH
        )
        eventually(lambda: derived.running("held") == 1)
    tried = [one for one in audit.writes("adapter", derived.namespace) if one.name == "held-0"]
    assert [one.resource for one in tried if one.status >= 400] == []


def test_two_halves_share_a_gpu_that_is_named_on_both_before_they_are_bound(
    derived: Cluster, adapter: Adapter, audit: Audit
) -> None:
    for name in ("half-0", "half-1"):
        derived.pod(name, gpus=0, annotations={"gpu-fraction": "0.5"})
    with adapter():
        eventually(lambda: derived.running("half") == 2)
    labels = [pod["metadata"]["labels"]["runai-gpu-group"] for pod in derived.pods().values()]
    assert len(set(labels)) == 1
    writes = audit.writes("adapter", derived.namespace)
    for name in ("half-0", "half-1"):
        about = [one.resource for one in writes if one.name == name and one.resource != "events"]
        assert about == ["pods", "pods/binding"]


def test_a_pod_makes_room_by_moving_and_its_successor_gets_what_was_kept_for_it(
    cluster: Cluster, adapter: Adapter
) -> None:
    cluster.workload("stays", pods=1, gpus=4)
    cluster.workload("ends", pods=1, gpus=4)
    with adapter():
        eventually(lambda: cluster.running("stays") == cluster.running("ends") == 1)
        cluster.node("n2", gpus=8)
        cluster.workload("other", pods=1, gpus=4)
        eventually(lambda: cluster.running("other") == 1)
        cluster.end("ends")
        eventually(lambda: cluster.pods("ends") == {})
        cluster.workload("whole", pods=1, gpus=8)
        moved = eventually(lambda: [name.removesuffix("-0") for name in cluster.events("Evicted")])
        assert moved in (["stays"], ["other"])
        cluster.again(moved[0], pods=1, gpus=4)
        eventually(
            lambda: cluster.running("whole") == cluster.running("stays") == cluster.running("other") == 1
        )
        nodes = {name: pod["spec"]["nodeName"] for name, pod in cluster.pods().items()}
        assert nodes["stays-0"] == nodes["other-0"] != nodes["whole-0"]
