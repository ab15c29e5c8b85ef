"""What the adapter writes into a namespace names nothing of the tenants of other namespaces.

A spy causes each thing that the adapter tells about others, and reads all that it may read of its namespace.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from tenure.client import Client

from tests.kubernetes.adapter.adapter_stage import AdapterStage, open_stage
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP
from tests.server.servers import run_server
from tests.server.service.gpu_cluster import GpuCluster

SECRET: Final = "secret"
"""Part of every name of the other tenant: namespace, queue, pod groups, pods, budgets."""


class Spy:
    """The namespaces of a spy and of another tenant; all GPUs are those of one node."""

    def __init__(self, stage: AdapterStage) -> None:
        self.stage = stage
        self.own = UserCluster(stage.cluster.transport, "spy")
        self.other = UserCluster(stage.cluster.transport, "secret-space")

    def readable(self) -> str:
        """Return everything that the spy may read: its pods, pod groups and events."""
        events = "/apis/events.k8s.io/v1/namespaces/spy/events"
        paths = (self.own.pods_path, self.own.path(KAI_POD_GROUP), events)
        return "\n".join(str(self.own.transport.get(path), "utf-8") for path in paths)


@pytest.fixture
def spy(tmp_path: Path) -> Iterator[Spy]:
    with run_server() as (_, server), open_stage(tmp_path, server, tmp_path.name) as stage:
        stage.cluster.queue("secret-queue", gpus=0, reclaimMinRuntime="2h")
        yield Spy(stage)


def wait_for_protected(spy: Spy) -> None:
    """The spy wants GPUs that pods of another queue have, which run too briefly to be evicted."""
    spy.other.workload("secret-job", pods=1, gpus=8, queue="secret-queue")
    wait_until(lambda: spy.other.running("secret-job") == 1)
    spy.own.workload("asks", pods=1, gpus=8)
    assert wait_until(lambda: spy.own.reasons_of("asks")) == "MinRuntime"
    assert "minimum runtime" in spy.own.conditions_of("asks")["message"]
    wait_until(lambda: spy.own.events("MinRuntime"))


def be_evicted(spy: Spy) -> None:
    """The spy is evicted for a pod group of another namespace."""
    spy.own.workload("victim", pods=1, gpus=8)
    wait_until(lambda: spy.own.running("victim") == 1)
    spy.other.workload("secret-job", pods=1, gpus=8, priority="high")
    wait_until(lambda: spy.own.events("Evicted"))
    assert spy.own.event_notes("Evicted") == [
        "It was preempted by a workload with higher priority in its queue."
    ]


def be_blocked(spy: Spy) -> None:
    """Another tenant's disruption budget blocks an eviction for the spy."""
    spy.other.workload("secret-job", pods=1, gpus=8)
    wait_until(lambda: spy.other.running("secret-job") == 1)
    spy.other.budget("secret-budget", "secret-job", available=1)
    spy.own.workload("asks", pods=1, gpus=8, priority="high")
    wait_until(lambda: spy.own.reasons_of("asks") == "DisruptionBudget")
    assert "disruption budget" in spy.own.conditions_of("asks")["message"]
    wait_until(lambda: spy.own.events("DisruptionBudget"))


@pytest.mark.parametrize("attack", [wait_for_protected, be_evicted, be_blocked])
def test_nothing_in_a_namespace_names_another_tenant(spy: Spy, attack: Callable[[Spy], None]) -> None:
    with spy.stage.adapter():
        attack(spy)
    assert SECRET not in spy.readable()


def test_events_name_who_evicts_within_a_namespace(spy: Spy) -> None:
    spy.own.workload("victim", pods=1, gpus=8)
    with spy.stage.adapter():
        wait_until(lambda: spy.own.running("victim") == 1)
        spy.own.workload("urgent", pods=1, gpus=8, priority="high")
        assert "urgent" in wait_until(lambda: spy.own.event_notes("Evicted"))[0]


def after_another() -> GpuCluster:
    """Build a queue of two namespaces whose free GPUs go to the other one in this cycle."""
    cluster = GpuCluster().node("n1", 4).queue("shared")
    cluster.job("secret-first", "shared", gpus=4, priority=60, namespace="secret-space")
    return cluster.job("asks", "shared", gpus=2, namespace="spy")


def behind_another() -> GpuCluster:
    """Build a queue of two namespaces that both wait for one pod group, which is protected."""
    cluster = GpuCluster().node("n1", 4).queue("rich", reclaim_min_runtime="2h").queue("shared", quota=4)
    cluster.job("runs", "rich", gpus=4, on="n1", ran="1h", namespace="spy")
    cluster.job("secret-first", "shared", gpus=4, priority=60, namespace="secret-space")
    return cluster.job("asks", "shared", gpus=4, namespace="spy")


@pytest.mark.parametrize("build", [after_another, behind_another])
def test_reason_names_no_pod_group_of_another_namespace_in_the_same_queue(
    build: Callable[[], GpuCluster],
) -> None:
    snapshot = build().snapshot
    with run_server() as (_, address), Client(address, timeout=20) as client:
        told = {each.pod_group: each.reason for each in client.decide(snapshot).outcomes}
        assert SECRET not in str(told["asks"])
        for group in snapshot.pod_groups:
            group.namespace = "spy"
        near = {each.pod_group: each.reason for each in client.decide(snapshot).outcomes}
    assert "secret-first" in near["asks"].message
