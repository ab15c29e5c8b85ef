"""A complete adapter, from observation to status. On a real API server: tests/e2e/kubernetes."""

from datetime import UTC, datetime, timedelta

from tests.kubernetes.adapter.adapter_stage import AdapterStage
from tests.kubernetes.cluster import wait_until


def ago(hours: int) -> str:
    return (datetime.now(UTC) - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_gang_starts_completely_or_not_at_all(stage: AdapterStage) -> None:
    cluster = stage.cluster
    cluster.workload("fits", pods=3, gpus=2)
    cluster.workload("large", pods=5, gpus=2)
    with stage.adapter() as adapter:
        wait_until(lambda: cluster.running("fits") == 3)
        assert wait_until(lambda: cluster.reasons_of("large"))
        wait_until(lambda: "last-start-timestamp" in cluster.annotations_of("fits"))
        wait_until(lambda: cluster.events("Scheduled") == ["fits-0", "fits-1", "fits-2"])
        assert adapter.health() == ("", "")
    assert stage.sent("binding") == ["fits-0", "fits-1", "fits-2"]
    assert cluster.bound("large") == 0


def test_gang_is_evicted_completely_for_higher_priority_and_annotated(stage: AdapterStage) -> None:
    cluster = stage.cluster
    cluster.workload("gang", pods=2, gpus=4)
    with stage.adapter():
        wait_until(lambda: cluster.running("gang") == 2)
        cluster.workload("urgent", pods=1, gpus=4, priority="high")
        wait_until(lambda: cluster.running("urgent") == 1)
        wait_until(lambda: cluster.annotations_of("gang").get("eviction-count") == "1")
        wait_until(lambda: cluster.events("Evicted") == ["gang-0", "gang-1"])
        wait_until(lambda: cluster.pods("gang") == {})
    assert stage.sent("eviction") == ["gang-0", "gang-1"]


def test_pod_group_past_its_expected_runtime_is_requeued_and_then_exempt_for_its_delay(
    stage: AdapterStage,
) -> None:
    cluster = stage.cluster
    terms = {"expected-runtime": "1h", "requeue-delay": "30m", "last-start-timestamp": ago(hours=2)}
    cluster.workload("long", 1, 4, annotations={f"kai.scheduler/{key}": text for key, text in terms.items()})
    cluster.workload("short", 1, 4)
    stage.start("long-0", "short-0")
    cluster.workload("waits", 1, 4, queue="other", priority="high")
    with stage.adapter():
        wait_until(lambda: cluster.running("waits") == 1)
        noted = cluster.wait_for_annotations("long", "requeue-not-before", "last-eviction-timestamp")
    until, evicted = noted["requeue-not-before"], noted["last-eviction-timestamp"]
    assert datetime.fromisoformat(until) - datetime.fromisoformat(evicted) == timedelta(minutes=30)
    assert stage.sent("eviction") == ["long-0"]
    assert cluster.running("short") == 1


def test_one_of_two_adapters_leads_and_the_other_continues_after_it_stops(stage: AdapterStage) -> None:
    cluster = stage.cluster
    with stage.adapter():
        with stage.adapter():
            cluster.workload("one", pods=1, gpus=1)
            wait_until(lambda: cluster.running("one") == 1)
        cluster.workload("two", pods=1, gpus=1)
        wait_until(lambda: cluster.running("two") == 1)
    assert stage.sent("binding") == ["one-0", "two-0"]


def test_dry_run_prints_decisions_and_writes_nothing(stage: AdapterStage) -> None:
    cluster = stage.cluster
    cluster.workload("gang", pods=2, gpus=4)
    assert sorted((step["kind"], step["pod"], step["node"]) for step in stage.dry_run_output()) == [
        ("bind", "gang-0", "n1"),
        ("bind", "gang-1", "n1"),
    ]
    assert stage.writes() == []
    assert cluster.bound("gang") == 0
