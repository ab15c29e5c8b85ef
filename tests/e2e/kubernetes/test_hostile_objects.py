"""Hostile objects of a namespace user on the real API server: named, and nobody else waits for them."""

import pytest

from tests.e2e.kubernetes.conftest import Adapter
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP

pytestmark = pytest.mark.kube
LONG = "x" * 254
RULE = "requiredDuringSchedulingIgnoredDuringExecution"


def make_hostile_pods(cluster: UserCluster) -> None:
    cluster.pod("long-queue", gpus=0, annotations={"scheduling.volcano.sh/queue-name": LONG})
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "o" * 70_000, "uid": "u", "controller": True}
    cluster.pod("long-owner", gpus=0, ownerReferences=[owner])
    values = [f"{i:063}" for i in range(18_000)]
    terms = [{"matchExpressions": [{"key": "k", "operator": "In", "values": values}]}]
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    spec = {
        "schedulerName": "kai-scheduler",
        "containers": [container],
        "affinity": {"nodeAffinity": {RULE: {"nodeSelectorTerms": terms}}},
    }
    cluster.transport.post(cluster.pods_path, {"metadata": {"name": "huge-affinity"}, "spec": spec})


def reason_of(cluster: UserCluster, pod: str) -> str:
    """Reason of the condition PodScheduled of a pod; empty if there is none."""
    conditions = cluster.pods()[pod]["status"].get("conditions", [])
    return next((str(one["reason"]) for one in conditions if one["type"] == "PodScheduled"), "")


def test_hostile_objects_are_set_aside_and_named_and_the_honest_pod_runs(
    cluster: UserCluster, adapter: Adapter
) -> None:
    make_hostile_pods(cluster)
    cluster.workload("long-group", pods=1, gpus=1, queue=LONG)
    with adapter():
        cluster.workload("honest", pods=1, gpus=1)
        wait_until(lambda: cluster.running("honest") == 1)
        named = {"long-queue", "long-owner", "huge-affinity", "long-group"}
        wait_until(lambda: named <= set(cluster.events("SetAside")))
        wait_until(lambda: cluster.reasons_of("long-group") == "SetAside")
        for name in ("long-queue", "huge-affinity", "long-group-0"):
            wait_until(lambda name=name: reason_of(cluster, name) == "SetAside")  # type: ignore[misc]
        path = f"{cluster.path(KAI_POD_GROUP)}/long-group"
        cluster.transport.patch(
            path, {"spec": {"queue": "q"}}, "application/merge-patch+json", {"fieldManager": "user"}
        )
        wait_until(lambda: cluster.running("long-group") == 1)
