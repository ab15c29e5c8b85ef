"""Who yields on a real API server, when, and what stays: nothing is changed in the cluster meanwhile."""

import time
from datetime import datetime, timedelta

import pytest

from tests.e2e.kube.conftest import Adapter
from tests.kube.cluster import Cluster, eventually

pytestmark = pytest.mark.kube


def ran(cluster: Cluster, workload: str) -> timedelta:
    """How long a workload had run when it was last evicted."""
    noted = cluster.noted(workload)
    return moment(noted["last-eviction-timestamp"]) - moment(noted["last-start-timestamp"])


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_a_gang_yields_whole_to_a_more_important_one_of_its_queue(cluster: Cluster, adapter: Adapter) -> None:
    cluster.workload("gang", pods=2, gpus=4)
    with adapter():
        started = eventually(lambda: cluster.noted("gang"))["last-start-timestamp"]
        cluster.workload("urgent", pods=1, gpus=4, priority="high")
        eventually(lambda: cluster.running("urgent") == 1)
        noted = cluster.noted("gang")
        assert cluster.pods("gang") == {}
        assert noted["last-start-timestamp"] == started
        assert moment(noted["last-eviction-timestamp"]) > moment(started)
        assert noted["eviction-count"] == "1"
        eventually(lambda: cluster.events("Evicted") == ["gang-0", "gang-1"])
        eventually(lambda: cluster.events("Scheduled") == ["gang-0", "gang-1", "urgent-0"])


def test_a_reclaim_waits_for_the_minimum_runtime_and_for_nothing_else(
    bare: Cluster, adapter: Adapter
) -> None:
    bare.node("n1", gpus=8)
    bare.priorities(low=10)
    bare.queue("greedy", gpus=4, reclaimMinRuntime="6s")
    bare.queue("modest", gpus=4)
    with adapter():
        bare.workload("first", pods=1, gpus=4, queue="greedy")
        bare.workload("second", pods=1, gpus=4, queue="greedy")
        eventually(lambda: bare.running("first") == bare.running("second") == 1)
        bare.workload("owed", pods=1, gpus=4, queue="modest")
        assert eventually(lambda: bare.why("owed")) == "MinRuntime"
        assert bare.running("first") == bare.running("second") == 1
        eventually(lambda: bare.running("owed") == 1)
        eventually(lambda: len(bare.events("Evicted")) == 1)
        (evicted,) = (name.removesuffix("-0") for name in bare.events("Evicted"))
        eventually(lambda: "eviction-count" in bare.noted(evicted))
        assert timedelta(seconds=6) <= ran(bare, evicted) < timedelta(seconds=15)
        assert bare.running("first") + bare.running("second") == 1


def test_who_runs_longer_than_expected_makes_room_and_is_then_left_alone_for_a_while(
    bare: Cluster, adapter: Adapter
) -> None:
    bare.node("n1", gpus=8)
    bare.priorities(low=10, high=90)
    bare.queue("batch", gpus=8)
    bare.queue("research", gpus=8)
    terms = {"kai.scheduler/expected-runtime": "2s", "kai.scheduler/requeue-delay": "9s"}
    bare.workload("other", pods=1, gpus=4, queue="batch")
    with adapter():
        bare.workload("long", pods=1, gpus=4, queue="batch", annotations=terms)
        eventually(lambda: bare.running("long") == bare.running("other") == 1)
        bare.workload("one", pods=1, gpus=4, queue="research", priority="high")
        eventually(lambda: bare.running("one") == 1)
        assert timedelta(seconds=2) <= ran(bare, "long") < timedelta(seconds=15)
        noted = bare.noted("long")
        left_alone = moment(noted["requeue-not-before"])
        assert left_alone - moment(noted["last-eviction-timestamp"]) == timedelta(seconds=9)

        bare.again("long", pods=1, gpus=4)
        bare.end("one")
        eventually(lambda: bare.running("long") == 1)
        bare.workload("two", pods=1, gpus=4, queue="research", priority="high")
        eventually(lambda: bare.running("two") == 1)
        eventually(lambda: bare.noted("long")["eviction-count"] == "2")
        assert moment(bare.noted("long")["last-eviction-timestamp"]) >= left_alone
        assert bare.running("other") == 1


def test_a_semi_preemptible_one_keeps_its_minimum(cluster: Cluster, adapter: Adapter) -> None:
    semi = {"kai.scheduler/preemptibility": "Semi-Preemptible"}
    with adapter():
        cluster.workload("elastic", pods=4, gpus=2, annotations=semi, minMember=2, preemptibility=None)
        eventually(lambda: cluster.running("elastic") == 4)
        cluster.workload("urgent", pods=1, gpus=4, priority="high")
        eventually(lambda: cluster.running("urgent") == 1)
        core = set(cluster.pods("elastic"))
        assert len(core) == 2
        cluster.workload("more", pods=1, gpus=6, priority="highest")
        eventually(lambda: cluster.why("more"))
        time.sleep(1)
        assert set(cluster.pods("elastic")) == core
        assert cluster.running("elastic") == 2
        assert cluster.running("more") == 0
