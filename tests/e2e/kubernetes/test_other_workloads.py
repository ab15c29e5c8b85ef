"""Volcano queues and pod groups, and pods without a pod group, on a real API server."""

from typing import Any

import pytest

from tests.e2e.kubernetes.conftest import Adapter
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.resource_definitions import VOLCANO_POD_GROUP
from tests.kubernetes.owner_objects import create_owner
from tests.kubernetes.volcano_objects import volcano_queue, volcano_workload

pytestmark = pytest.mark.kube


def test_volcano_gang_starts_and_is_evicted_completely(namespace_only: UserCluster, adapter: Adapter) -> None:
    namespace_only.node("n1", gpus=9)
    namespace_only.priorities(low=10, high=90)
    volcano_queue(namespace_only, "team", gpus=9)
    volcano_workload(namespace_only, "gang", pods=2, gpus=4, queue="team")
    volcano_workload(namespace_only, "torn", pods=1, gpus=1, queue="team", minMember=2)
    with adapter("--scheduler-name", "volcano", "--workload-api", "volcano"):
        wait_until(lambda: namespace_only.running("gang") == 2)
        namespace_only.wait_for_annotations("gang", "last-start-timestamp", kind=VOLCANO_POD_GROUP)
        volcano_workload(namespace_only, "urgent", pods=1, gpus=8, queue="team", priority="high")
        wait_until(lambda: namespace_only.running("urgent") == 1)
        wait_until(lambda: namespace_only.pods("gang") == {})
        wait_until(
            lambda: namespace_only.annotations_of("gang", VOLCANO_POD_GROUP).get("eviction-count") == "1"
        )
        assert namespace_only.bound("torn") == 0


def test_pending_reason_is_written_to_volcano_pod_groups(
    namespace_only: UserCluster, adapter: Adapter
) -> None:
    namespace_only.node("n1", gpus=8)
    namespace_only.priorities(low=10)
    volcano_queue(namespace_only, "team", gpus=8)
    volcano_workload(namespace_only, "huge", pods=1, gpus=64, queue="team")

    def conditions() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (
            namespace_only.group("huge", VOLCANO_POD_GROUP).get("status", {}).get("conditions", [])
        )
        return found

    with adapter("--scheduler-name", "volcano", "--workload-api", "volcano"):
        (condition,) = wait_until(conditions)
        assert (condition["type"], condition["status"]) == ("Unschedulable", "True")
        assert condition["reason"] == "NoNodeMatches"


def test_pods_of_a_job_and_of_a_deployment_start_without_a_pod_group(
    namespace_only: UserCluster, adapter: Adapter
) -> None:
    namespace_only.node("n1", gpus=8)
    namespace_only.priorities(train=50, inference=125)
    namespace_only.queue("default-queue")
    job = create_owner(namespace_only, "/apis/batch/v1", "Job", "jobs", "train")
    replicas = create_owner(namespace_only, "/apis/apps/v1", "Deployment", "deployments", "serve")
    with adapter():
        for i in range(2):
            namespace_only.pod(f"train-{i}", gpus=3, ownerReferences=[job])
        wait_until(lambda: namespace_only.running("train") == 2)
        namespace_only.pod(
            "serve-0", gpus=4, ownerReferences=[replicas]
        )  # of class inference: higher priority
        wait_until(lambda: namespace_only.running("serve") == 1)
        wait_until(lambda: len(namespace_only.events("Evicted")) == 1)
        assert (
            namespace_only.running("train") == 1
        )  # the pods of a job are no gang: one is evicted, the other keeps running


def test_api_server_without_pod_groups_of_its_own_starts_pods_that_name_one(
    cluster: UserCluster, adapter: Adapter
) -> None:
    """It drops the field: such pods are grouped like others, and nothing of that API is called."""
    cluster.queue("default-queue")
    made = cluster.pod("alone-0", gpus=1, spec={"schedulingGroup": {"podGroupName": "gang"}})
    assert "schedulingGroup" not in made["spec"]
    with adapter():
        wait_until(lambda: cluster.running("alone") == 1)
