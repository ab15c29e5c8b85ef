"""Gangs on a real API server: whole or not at all."""

import time

import pytest

from tests.e2e.kube.conftest import Adapter
from tests.kube.cluster import Cluster, eventually

pytestmark = pytest.mark.kube


def test_a_gang_that_fits_is_bound_whole(cluster: Cluster, adapter: Adapter) -> None:
    cluster.workload("gang", pods=4, gpus=2)
    with adapter():
        eventually(lambda: cluster.running("gang") == 4)
        eventually(lambda: cluster.events("Scheduled") == ["gang-0", "gang-1", "gang-2", "gang-3"])
        found = [each for pod in cluster.pods("gang").values() for each in pod["status"]["conditions"]]
        assert {each["status"] for each in found if each["type"] == "PodScheduled"} == {"True"}


def test_of_a_gang_that_does_not_fit_whole_nobody_is_bound_until_it_does(
    cluster: Cluster, adapter: Adapter
) -> None:
    cluster.node("n2", gpus=7)
    cluster.workload("gang", pods=3, gpus=5)  # a third pod would fit if GPUs of two nodes were one
    with adapter():
        assert eventually(lambda: cluster.why("gang")) == "NoSolution"
        assert [pod["spec"].get("nodeName") for pod in cluster.pods("gang").values()] == [None] * 3
        cluster.node("n3", gpus=5)
        eventually(lambda: cluster.running("gang") == 3)
        eventually(lambda: cluster.told("gang")["reason"] == "Scheduled")


def test_a_gang_whose_pods_come_one_by_one_waits_for_the_last_and_nothing_is_said(
    cluster: Cluster, adapter: Adapter
) -> None:
    with adapter():
        cluster.workload("sign-of-life", pods=1, gpus=1)
        eventually(lambda: cluster.running("sign-of-life") == 1)
        cluster.workload("gang", pods=1, gpus=1, minMember=3)
        for name in ("gang-1", "gang-2"):
            time.sleep(0.5)
            assert cluster.bound("gang") == 0
            cluster.pod(name, gpus=1, annotations={"pod-group-name": "gang"})
        eventually(lambda: cluster.running("gang") == 3)
        assert cluster.told("gang") == {}
        assert cluster.events("NotReady") == []
