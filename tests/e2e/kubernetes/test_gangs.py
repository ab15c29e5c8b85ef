"""Gangs on a real API server: they start completely or not at all."""

import time

import pytest

from tests.e2e.kubernetes.conftest import Adapter
from tests.kubernetes.cluster import UserCluster, wait_until

pytestmark = pytest.mark.kube


def test_fitting_gang_is_bound_completely(cluster: UserCluster, adapter: Adapter) -> None:
    cluster.workload("gang", pods=4, gpus=2)
    with adapter():
        wait_until(lambda: cluster.running("gang") == 4)
        wait_until(lambda: cluster.events("Scheduled") == ["gang-0", "gang-1", "gang-2", "gang-3"])
        found = [each for pod in cluster.pods("gang").values() for each in pod["status"]["conditions"]]
        assert {each["status"] for each in found if each["type"] == "PodScheduled"} == {"True"}


def test_no_pod_of_a_gang_is_bound_until_all_fit(cluster: UserCluster, adapter: Adapter) -> None:
    cluster.node("n2", gpus=7)
    cluster.workload("gang", pods=3, gpus=5)  # a third pod would fit if the GPUs of two nodes were on one
    with adapter():
        assert wait_until(lambda: cluster.reasons_of("gang")) == "Fragmented"
        assert [pod["spec"].get("nodeName") for pod in cluster.pods("gang").values()] == [None] * 3
        cluster.node("n3", gpus=5)
        wait_until(lambda: cluster.running("gang") == 3)
        wait_until(lambda: cluster.conditions_of("gang")["reason"] == "Scheduled")


def test_gang_created_pod_by_pod_starts_with_the_last_and_gets_no_condition_before(
    cluster: UserCluster, adapter: Adapter
) -> None:
    with adapter():
        cluster.workload("sign-of-life", pods=1, gpus=1)
        wait_until(lambda: cluster.running("sign-of-life") == 1)
        cluster.workload("gang", pods=1, gpus=1, minMember=3)
        for name in ("gang-1", "gang-2"):
            time.sleep(0.5)
            assert cluster.bound("gang") == 0
            cluster.pod(name, gpus=1, annotations={"pod-group-name": "gang"})
        wait_until(lambda: cluster.running("gang") == 3)
        assert cluster.conditions_of("gang") == {}
        assert cluster.events("NotReady") == []
