"""Why a pod group is pending on a real API server, which reasons are reported, and when it starts."""

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.kubernetes.conftest import Adapter
from tests.kubernetes.cluster import PATIENCE_SECONDS, UserCluster, wait_until
from tests.kubernetes.environment.disruption_controller import allow_disruptions

pytestmark = pytest.mark.kube


def unscheduled_reasons(cluster: UserCluster, pod: str) -> list[str]:
    """Reasons why a pod is not scheduled."""
    found = cluster.pods()[pod]["status"].get("conditions", [])
    return [one["reason"] for one in found if one["type"] == "PodScheduled" and one["status"] == "False"]


def pending_message(cluster: UserCluster, pod: str) -> str:
    """What the condition of a pod that is not scheduled says."""
    found = cluster.pods()[pod]["status"].get("conditions", [])
    return next((one["message"] for one in found if one["type"] == "PodScheduled"), "")


def _tells_estimate(cluster: UserCluster, name: str) -> bool:
    """Whether the condition of a pod group and those of its two pods tell an estimate."""
    pods = [pending_message(cluster, f"{name}-{number}") for number in range(2)]
    return all("Estimate:" in each for each in [*pods, cluster.conditions_of(name).get("message", "")])


def test_conditions_tell_place_and_start_r17_24(
    cluster: UserCluster, adapter: Adapter, tmp_path: Path
) -> None:
    config = tmp_path / "adapter.yaml"
    config.write_text("adapter: {estimateStarts: 1m}")
    runtime, firm = {"kai.scheduler/expected-runtime": "2h"}, "non-preemptible"
    cluster.workload("runs", pods=1, gpus=8, preemptibility=firm, annotations=runtime)
    with adapter() as program:
        started = cluster.wait_for_annotations("runs", "last-start-timestamp")["last-start-timestamp"]
        program.terminate(PATIENCE_SECONDS)
    for name, priority in (("waits", "high"), ("later", "low")):
        cluster.workload(name, pods=2, gpus=4, preemptibility=firm, priority=priority)
    end, step = datetime.fromisoformat(started) + timedelta(hours=2), timedelta(minutes=15)
    rounded = end + (datetime.min.replace(tzinfo=UTC) - end) % step
    with adapter("--config", str(config)):
        for name in ("waits", "later"):
            wait_until(partial(_tells_estimate, cluster, name))
        first = f"first in its queue; starts at about {rounded:%Y-%m-%d %H:%M} UTC, if nothing more important"
        for message in (pending_message(cluster, "waits-0"), cluster.conditions_of("waits")["message"]):
            assert f" Estimate: {first} arrives." in message
        assert "second in its queue; no start is known." in cluster.conditions_of("later")["message"]


def test_unschedulable_reason_is_written_to_pod_and_pod_group(cluster: UserCluster, adapter: Adapter) -> None:
    cluster.workload("huge", pods=1, gpus=64)
    with adapter():
        assert wait_until(lambda: cluster.reasons_of("huge")) == "NoNodeMatches"
        assert cluster.conditions_of("huge")["status"] == "True"
        assert wait_until(lambda: unscheduled_reasons(cluster, "huge-0")) == ["Unschedulable"]
        assert wait_until(lambda: cluster.events("NoNodeMatches")) == ["huge"]


def test_pod_group_over_fair_share_in_a_full_cluster_starts_after_a_node_is_added(
    cluster: UserCluster, adapter: Adapter
) -> None:
    cluster.workload("runs", pods=1, gpus=8)
    with adapter():
        wait_until(lambda: cluster.running("runs") == 1)
        cluster.workload("more", pods=1, gpus=4)
        # No other queue has anything to give, so the fair share is not what stands in the way.
        assert wait_until(lambda: cluster.reasons_of("more")) == "NoCapacity"
        assert wait_until(lambda: unscheduled_reasons(cluster, "more-0")) == ["Unschedulable"]
        cluster.node("n2", gpus=4)
        wait_until(lambda: cluster.running("more") == 1)


def test_non_preemptible_pod_group_over_quota_is_pending_despite_free_capacity(
    namespace_only: UserCluster, adapter: Adapter
) -> None:
    namespace_only.node("n1", gpus=8)
    namespace_only.priorities(low=10)
    namespace_only.queue("small", gpus=4)
    namespace_only.workload("firm", pods=1, gpus=6, queue="small", preemptibility="non-preemptible")
    namespace_only.workload("modest", pods=1, gpus=4, queue="small", preemptibility="non-preemptible")
    with adapter():
        wait_until(lambda: namespace_only.running("modest") == 1)
        assert wait_until(lambda: namespace_only.reasons_of("firm")) == "NonPreemptibleOverQuota"
        assert "small" in namespace_only.conditions_of("firm")["message"]
        assert wait_until(lambda: unscheduled_reasons(namespace_only, "firm-0")) == ["WaitingForQuota"]
        assert wait_until(lambda: namespace_only.events("NonPreemptibleOverQuota")) == ["firm"]
        assert namespace_only.bound("firm") == 0


def test_nothing_is_evicted_beyond_a_disruption_budget_and_the_preemptor_is_told(
    cluster: UserCluster, adapter: Adapter
) -> None:
    cluster.workload("serving", pods=1, gpus=8)
    with adapter():
        wait_until(lambda: cluster.running("serving") == 1)
        cluster.budget("always-one", "serving", available=1)
        allow_disruptions(cluster.transport)
        cluster.workload("urgent", pods=1, gpus=8, priority="high")
        assert wait_until(lambda: cluster.reasons_of("urgent")) == "DisruptionBudget"
        message = cluster.conditions_of("urgent")["message"]
        assert f"disruption budget {cluster.namespace}/always-one" in message
        assert cluster.running("serving") == 1
        assert not cluster.events("EvictionBlocked")
        cluster.change_budget("always-one", available=0)
        allow_disruptions(cluster.transport)
        wait_until(lambda: cluster.running("urgent") == 1)
        wait_until(lambda: cluster.annotations_of("serving").get("eviction-count") == "1")
        wait_until(lambda: cluster.events("Evicted") == ["serving-0"])


def test_as_many_victims_as_a_disruption_budget_allows_are_evicted_and_the_rest_waits(
    cluster: UserCluster, adapter: Adapter
) -> None:
    cluster.workload("serving", pods=2, gpus=4, minMember=1)
    with adapter():
        wait_until(lambda: cluster.running("serving") == 2)
        cluster.budget("one-stays", "serving", available=1)
        allow_disruptions(cluster.transport)
        for name in ("urgent", "other"):
            cluster.workload(name, pods=1, gpus=4, priority="high")
        wait_until(lambda: cluster.running("urgent") + cluster.running("other") == 1)
        waiting = "other" if cluster.running("urgent") else "urgent"
        assert wait_until(lambda: cluster.reasons_of(waiting)) == "DisruptionBudget"
        assert cluster.running("serving") == 1
        (evicted,) = cluster.events("Evicted")
        assert evicted in ("serving-0", "serving-1")  # they are of one second, and in the order of their uids
