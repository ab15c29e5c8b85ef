"""Volcano's queues and pod groups, and pods that name no pod group, on a real API server."""

from typing import Any

import pytest

from tests.e2e.kube.conftest import Adapter
from tests.kube.cluster import Cluster, eventually
from tests.kube.definitions import VOLCANO_POD_GROUP
from tests.kube.owning import owner
from tests.kube.volcano import volcano_queue, volcano_workload

pytestmark = pytest.mark.kube


def test_a_gang_of_volcanos_starts_whole_and_yields_whole(bare: Cluster, adapter: Adapter) -> None:
    bare.node("n1", gpus=9)
    bare.priorities(low=10, high=90)
    volcano_queue(bare, "team", gpus=9)
    volcano_workload(bare, "gang", pods=2, gpus=4, queue="team")
    volcano_workload(bare, "torn", pods=1, gpus=1, queue="team", minMember=2)
    with adapter("--scheduler-name", "volcano", "--workload-api", "volcano"):
        eventually(lambda: bare.running("gang") == 2)
        assert "last-start-timestamp" in eventually(lambda: bare.noted("gang", VOLCANO_POD_GROUP))
        volcano_workload(bare, "urgent", pods=1, gpus=8, queue="team", priority="high")
        eventually(lambda: bare.running("urgent") == 1)
        assert bare.pods("gang") == {}
        assert bare.noted("gang", VOLCANO_POD_GROUP)["eviction-count"] == "1"
        assert bare.bound("torn") == 0


def test_what_waits_is_told_on_volcanos_pod_groups_too(bare: Cluster, adapter: Adapter) -> None:
    bare.node("n1", gpus=8)
    bare.priorities(low=10)
    volcano_queue(bare, "team", gpus=8)
    volcano_workload(bare, "huge", pods=1, gpus=64, queue="team")

    def told() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (
            bare.group("huge", VOLCANO_POD_GROUP).get("status", {}).get("conditions", [])
        )
        return found

    with adapter("--scheduler-name", "volcano", "--workload-api", "volcano"):
        (condition,) = eventually(told)
        assert (condition["type"], condition["status"]) == ("Unschedulable", "True")
        assert condition["reason"] == "NoNodeMatches"


def test_pods_of_a_job_and_of_a_deployment_start_without_a_pod_group(bare: Cluster, adapter: Adapter) -> None:
    bare.node("n1", gpus=8)
    bare.priorities(train=50, inference=125)
    bare.queue("default-queue")
    job = owner(bare, "/apis/batch/v1", "Job", "jobs", "train")
    replicas = owner(bare, "/apis/apps/v1", "ReplicaSet", "replicasets", "serve")
    with adapter():
        for i in range(2):
            bare.pod(f"train-{i}", gpus=3, ownerReferences=[job])
        eventually(lambda: bare.running("train") == 2)
        bare.pod("serve-0", gpus=4, ownerReferences=[replicas])  # of the class inference: more important
        eventually(lambda: bare.running("serve") == 1)
        eventually(lambda: len(bare.events("Evicted")) == 1)
        assert bare.running("train") == 1  # a job's pods are no gang: one makes room, the other runs on
