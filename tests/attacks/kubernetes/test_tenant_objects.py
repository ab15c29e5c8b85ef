"""A tenant of a real API server without the chart's policies: the adapter alone withstands its objects."""

from pathlib import Path

import pytest
import yaml
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

from tests.e2e.kubernetes.conftest import Adapter
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP

pytestmark = pytest.mark.kube

FORGED = {
    "kai.scheduler/last-start-timestamp": "2261-01-01T00:00:00Z",
    "kai.scheduler/last-eviction-timestamp": "1971-01-01T00:00:00Z",
    "tenure.scheduler/eviction-count": "1000",
    "tenure.scheduler/total-eviction-wait": "5000w",
    "tenure.scheduler/evictions-without-progress": "1000",
    "tenure.scheduler/held-by": "evicted",
    "tenure.scheduler/evictions": "preempt=1000",
    "tenure.scheduler/signature": "9.00000000000000000000000000000000",
}


def test_forged_times_and_counts_neither_protect_nor_persist(
    cluster: UserCluster, adapter: Adapter, tenant: Transport
) -> None:
    cluster.queue("short", gpus=8, preemptMinRuntime="1s", reclaimMinRuntime="1s")
    with adapter():
        cluster.workload("immortal", pods=1, gpus=8, queue="short")
        wait_until(lambda: cluster.running("immortal") == 1)
        wait_until(lambda: "signature" in cluster.annotations_of("immortal"))
        path = f"{cluster.path(KAI_POD_GROUP)}/immortal"
        tenant.patch(path, {"metadata": {"annotations": FORGED}}, MERGE_PATCH)
        cluster.workload("urgent", pods=1, gpus=8, queue="short", priority="high")
        wait_until(lambda: cluster.running("urgent") == 1)
        wait_until(lambda: cluster.annotations_of("immortal").get("eviction-count") == "1")
        assert not cluster.annotations_of("immortal").get("total-eviction-wait")


def test_forbidden_queue_is_refused_and_others_are_scheduled(
    cluster: UserCluster, adapter: Adapter, tmp_path: Path
) -> None:
    cluster.queue("theirs")
    access = {"default": "deny", "namespaces": {"q": ["story-*"], "theirs": ["elsewhere"]}}
    file = tmp_path / "adapter.yaml"
    file.write_text(yaml.safe_dump({"adapter": {"queueAccess": access}}))
    with adapter("--config", str(file)):
        cluster.workload("thief", pods=1, gpus=1, queue="theirs")
        cluster.workload("honest", pods=1, gpus=1)
        wait_until(lambda: cluster.running("honest") == 1)
        wait_until(lambda: cluster.events("QueueForbidden") == ["thief"])
        assert "may not use queue 'theirs'" in wait_until(lambda: cluster.conditions_of("thief"))["message"]
        assert cluster.bound("thief") == 0


def test_tenant_names_a_system_class_and_evicts_nobody(
    cluster: UserCluster, adapter: Adapter, tenant: Transport
) -> None:
    cluster.workload("neighbour", pods=1, gpus=8, priority="highest")
    with adapter():
        wait_until(lambda: cluster.running("neighbour") == 1)
        amounts = {"cpu": "1", "nvidia.com/gpu": "8"}
        container = {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
        labels = {"kai.scheduler/queue": "q", "priorityClassName": "system-node-critical"}
        spec = {"schedulerName": "kai-scheduler", "containers": [container]}
        tenant.post(cluster.pods_path, {"metadata": {"name": "pusher-0", "labels": labels}, "spec": spec})
        cluster.workload("huge", pods=1, gpus=64)
        assert wait_until(lambda: cluster.reasons_of("huge"))
        assert cluster.running("neighbour") == 1
        assert cluster.events("Evicted") == []
