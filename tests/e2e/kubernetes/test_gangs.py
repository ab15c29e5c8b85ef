"""Gangs on a real API server: they start completely or not at all."""

import pytest
from tenure.kubernetes.apply import status_writer

from tests.e2e.kubernetes.conftest import Adapter
from tests.kubernetes.adapter.adapter_stage import Stage
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.control_plane import ControlPlane

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
        wait_until(lambda: cluster.conditions_of("gang").get("reason") == "Scheduled")


def test_gang_created_pod_by_pod_starts_with_the_last_and_gets_no_condition_before(
    plane: ControlPlane, cluster: UserCluster, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each `later` pod group starts with a decision that has seen the pods of the gang so far."""
    monkeypatch.setattr(status_writer, "QUIET_SECONDS", 3600.0)
    settings = dict.fromkeys(("clusterId", "namespace"), cluster.namespace)
    with Stage(plane, cluster, server, settings).adapter():
        cluster.workload("gang", pods=1, gpus=1, minMember=3)
        for number in (1, 2):
            later = f"later-{number}"
            cluster.workload(later, pods=1, gpus=1)
            wait_until(lambda later=later: cluster.running(later) == 1)  # type: ignore[misc]
            assert cluster.bound("gang") == 0
            cluster.pod(f"gang-{number}", gpus=1, annotations={"pod-group-name": "gang"})
        wait_until(lambda: cluster.running("gang") == 3)
        cluster.workload("huge", pods=1, gpus=64)
        wait_until(lambda: cluster.events("NoNodeMatches") == ["huge"])  # after all earlier conditions
        assert cluster.conditions_of("gang") == {}
        assert cluster.events("NotReady") == []
