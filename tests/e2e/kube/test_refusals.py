"""What keeps a pod group waiting on a real API server, and what is told about it."""

import pytest

from tests.e2e.kube.conftest import Adapter
from tests.kube.cluster import Cluster, eventually
from tests.kube.disruption import allow_disruptions

pytestmark = pytest.mark.kube


def conditions(cluster: Cluster, pod: str) -> list[str]:
    """Reasons why a pod is not scheduled."""
    found = cluster.pods()[pod]["status"].get("conditions", [])
    return [one["reason"] for one in found if one["type"] == "PodScheduled" and one["status"] == "False"]


def test_what_cannot_run_is_told_why_on_the_pod_and_the_pod_group(cluster: Cluster, adapter: Adapter) -> None:
    cluster.workload("huge", pods=1, gpus=64)
    with adapter():
        assert eventually(lambda: cluster.why("huge")) == "NoNodeMatches"
        assert cluster.told("huge")["status"] == "True"
        assert eventually(lambda: conditions(cluster, "huge-0")) == ["Unschedulable"]
        assert eventually(lambda: cluster.events("NoNodeMatches")) == ["huge"]


def test_beyond_its_share_in_a_full_cluster_it_is_unschedulable_and_a_node_more_helps(
    cluster: Cluster, adapter: Adapter
) -> None:
    cluster.workload("runs", pods=1, gpus=8)
    with adapter():
        eventually(lambda: cluster.running("runs") == 1)
        cluster.workload("more", pods=1, gpus=4)
        assert eventually(lambda: cluster.why("more")) == "OverFairShare"
        assert eventually(lambda: conditions(cluster, "more-0")) == ["Unschedulable"]
        cluster.node("n2", gpus=4)
        eventually(lambda: cluster.running("more") == 1)


def test_a_non_preemptible_one_over_quota_waits_though_there_is_room(bare: Cluster, adapter: Adapter) -> None:
    bare.node("n1", gpus=8)
    bare.priorities(low=10)
    bare.queue("small", gpus=4)
    bare.workload("firm", pods=1, gpus=6, queue="small", preemptibility="non-preemptible")
    bare.workload("modest", pods=1, gpus=4, queue="small", preemptibility="non-preemptible")
    with adapter():
        eventually(lambda: bare.running("modest") == 1)
        assert eventually(lambda: bare.why("firm")) == "NonPreemptibleOverQuota"
        assert "small" in bare.told("firm")["message"]
        assert eventually(lambda: conditions(bare, "firm-0")) == ["WaitingForQuota"]
        assert eventually(lambda: bare.events("NonPreemptibleOverQuota")) == ["firm"]
        assert bare.bound("firm") == 0


def test_a_disruption_budget_holds_and_what_waits_for_it_is_told(cluster: Cluster, adapter: Adapter) -> None:
    cluster.workload("serving", pods=1, gpus=8)
    with adapter():
        eventually(lambda: cluster.running("serving") == 1)
        cluster.budget("always-one", "serving", available=1)
        allow_disruptions(cluster.transport)
        cluster.workload("urgent", pods=1, gpus=8, priority="high")
        assert eventually(lambda: cluster.why("urgent")) == "VictimsEvicted"
        assert eventually(lambda: cluster.events("EvictionRefused")) == ["urgent"]
        (event,) = cluster.notes("EvictionRefused")
        assert "serving-0 is not evicted" in event
        assert "always-one" in event
        assert cluster.running("serving") == 1
        cluster.change_budget("always-one", available=0)
        allow_disruptions(cluster.transport)
        eventually(lambda: cluster.running("urgent") == 1)
        assert cluster.noted("serving")["eviction-count"] == "1"
        eventually(lambda: cluster.events("Evicted") == ["serving-0"])
