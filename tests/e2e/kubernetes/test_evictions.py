"""Evictions on a real API server: which pods, when, and which pods stay. The cluster does not change."""

from datetime import datetime, timedelta

import pytest
from tenure.kubernetes.api.transport import MERGE_PATCH

from tests.e2e.kubernetes.conftest import Adapter
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.resource_definitions import KAI_QUEUE

pytestmark = pytest.mark.kube


def runtime_before_eviction(cluster: UserCluster, workload: str) -> timedelta:
    """How long a workload had run when it was last evicted."""
    noted = cluster.wait_for_annotations(workload, "last-eviction-timestamp", "last-start-timestamp")
    return moment(noted["last-eviction-timestamp"]) - moment(noted["last-start-timestamp"])


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_gang_is_evicted_completely_for_higher_priority_in_its_queue(
    cluster: UserCluster, adapter: Adapter
) -> None:
    cluster.workload("gang", pods=2, gpus=4)
    with adapter():
        started = cluster.wait_for_annotations("gang", "last-start-timestamp")["last-start-timestamp"]
        cluster.workload("urgent", pods=1, gpus=4, priority="high")
        wait_until(lambda: cluster.running("urgent") == 1)
        wait_until(lambda: cluster.pods("gang") == {})
        noted = cluster.wait_for_annotations("gang", "eviction-count", "last-eviction-timestamp")
        assert noted["last-start-timestamp"] == started
        assert moment(noted["last-eviction-timestamp"]) > moment(started)
        assert noted["eviction-count"] == "1"
        wait_until(lambda: cluster.events("Evicted") == ["gang-0", "gang-1"])
        wait_until(lambda: cluster.events("Scheduled") == ["gang-0", "gang-1", "urgent-0"])


def test_reclaim_is_delayed_by_the_minimum_runtime_only(
    namespace_only: UserCluster, adapter: Adapter
) -> None:
    namespace_only.node("n1", gpus=8)
    namespace_only.priorities(low=10)
    namespace_only.queue("greedy", gpus=4, reclaimMinRuntime="1h")
    namespace_only.queue("modest", gpus=4)
    greedy = f"/apis/{KAI_QUEUE.api_version}/queues/greedy"
    with adapter():
        namespace_only.workload("first", pods=1, gpus=4, queue="greedy")
        namespace_only.workload("second", pods=1, gpus=4, queue="greedy")
        wait_until(lambda: namespace_only.running("first") == namespace_only.running("second") == 1)
        namespace_only.workload("owed", pods=1, gpus=4, queue="modest")
        assert wait_until(lambda: namespace_only.reasons_of("owed")) == "MinRuntime"
        assert namespace_only.running("first") == namespace_only.running("second") == 1
        namespace_only.transport.patch(greedy, {"spec": {"reclaimMinRuntime": "6s"}}, MERGE_PATCH)
        wait_until(lambda: namespace_only.running("owed") == 1)
        (evicted,) = wait_until(lambda: namespace_only.events("Evicted"))
        assert runtime_before_eviction(namespace_only, evicted.removesuffix("-0")) >= timedelta(seconds=6)
        assert namespace_only.running("first") + namespace_only.running("second") == 1


def test_pod_group_past_its_expected_runtime_is_requeued_and_then_exempt_for_its_delay(
    namespace_only: UserCluster, adapter: Adapter
) -> None:
    namespace_only.node("n1", gpus=8)
    namespace_only.priorities(low=10, high=90)
    namespace_only.queue("batch", gpus=8)
    namespace_only.queue("research", gpus=8)
    terms = {"kai.scheduler/expected-runtime": "2s", "kai.scheduler/requeue-delay": "9s"}
    namespace_only.workload("other", pods=1, gpus=4, queue="batch")
    with adapter():
        namespace_only.workload("long", pods=1, gpus=4, queue="batch", annotations=terms)
        wait_until(lambda: namespace_only.running("long") == namespace_only.running("other") == 1)
        namespace_only.workload("one", pods=1, gpus=4, queue="research", priority="high")
        wait_until(lambda: namespace_only.running("one") == 1)
        assert runtime_before_eviction(namespace_only, "long") >= timedelta(seconds=2)
        noted = namespace_only.wait_for_annotations("long", "requeue-not-before")
        left_alone = moment(noted["requeue-not-before"])
        assert left_alone - moment(noted["last-eviction-timestamp"]) == timedelta(seconds=9)

        namespace_only.again("long", pods=1, gpus=4)
        namespace_only.end("one")
        wait_until(lambda: namespace_only.running("long") == 1)
        namespace_only.workload("two", pods=1, gpus=4, queue="research", priority="high")
        wait_until(lambda: namespace_only.running("two") == 1)
        wait_until(lambda: namespace_only.annotations_of("long").get("eviction-count") == "2")
        assert moment(namespace_only.annotations_of("long")["last-eviction-timestamp"]) >= left_alone
        assert namespace_only.running("other") == 1


def test_semi_preemptible_pod_group_retains_its_minimum(cluster: UserCluster, adapter: Adapter) -> None:
    semi = {"kai.scheduler/preemptibility": "Semi-Preemptible"}
    with adapter():
        cluster.workload("elastic", pods=4, gpus=2, annotations=semi, minMember=2, preemptibility=None)
        wait_until(lambda: cluster.running("elastic") == 4)
        cluster.workload("urgent", pods=1, gpus=4, priority="high")
        wait_until(lambda: cluster.running("urgent") == 1)
        core = set(cluster.pods("elastic"))
        assert len(core) == 2
        cluster.workload("more", pods=1, gpus=6, priority="highest")
        wait_until(lambda: cluster.reasons_of("more"))
        cluster.workload("later", pods=1, gpus=0, priority="highest")
        wait_until(lambda: cluster.running("later") == 1)  # after what was decided on `more` is applied
        assert set(cluster.pods("elastic")) == core
        assert cluster.running("elastic") == 2
        assert cluster.running("more") == 0
