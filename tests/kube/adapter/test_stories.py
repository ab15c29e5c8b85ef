"""A whole adapter, from what it observes to what it writes down. On a real API server: tests/e2e/kube."""

from datetime import UTC, datetime, timedelta

from tests.kube.adapter.stage import Stage
from tests.kube.cluster import eventually


def ago(hours: int) -> str:
    return (datetime.now(UTC) - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_gang_starts_whole_or_not_at_all(stage: Stage) -> None:
    cluster = stage.cluster
    cluster.workload("fits", pods=3, gpus=2)
    cluster.workload("large", pods=5, gpus=2)
    with stage.adapter() as adapter:
        eventually(lambda: cluster.running("fits") == 3)
        assert eventually(lambda: cluster.why("large"))
        eventually(lambda: "last-start-timestamp" in cluster.noted("fits"))
        eventually(lambda: cluster.events("Scheduled") == ["fits-0", "fits-1", "fits-2"])
        assert adapter.health() == ("", "")
    assert stage.sent("binding") == ["fits-0", "fits-1", "fits-2"]
    assert cluster.bound("large") == 0


def test_a_gang_yields_whole_to_a_more_important_one_and_that_is_written_down(stage: Stage) -> None:
    cluster = stage.cluster
    cluster.workload("gang", pods=2, gpus=4)
    with stage.adapter():
        eventually(lambda: cluster.running("gang") == 2)
        cluster.workload("urgent", pods=1, gpus=4, priority="high")
        eventually(lambda: cluster.running("urgent") == 1)
        eventually(lambda: "last-eviction-timestamp" in cluster.noted("gang"))
        eventually(lambda: cluster.events("Evicted") == ["gang-0", "gang-1"])
    assert cluster.noted("gang")["eviction-count"] == "1"
    assert stage.sent("eviction") == ["gang-0", "gang-1"]
    assert cluster.pods("gang") == {}


def test_who_ran_longer_than_expected_makes_room_and_is_left_alone_for_a_while(stage: Stage) -> None:
    cluster = stage.cluster
    terms = {"expected-runtime": "1h", "requeue-delay": "30m", "last-start-timestamp": ago(hours=2)}
    cluster.workload("long", 1, 4, annotations={f"kai.scheduler/{key}": text for key, text in terms.items()})
    cluster.workload("short", 1, 4)
    stage.start("long-0", "short-0")
    cluster.workload("waits", 1, 4, queue="other", priority="high")
    with stage.adapter():
        eventually(lambda: cluster.running("waits") == 1)
        until = eventually(lambda: cluster.noted("long").get("requeue-not-before", ""))
        evicted = cluster.noted("long")["last-eviction-timestamp"]
    assert datetime.fromisoformat(until) - datetime.fromisoformat(evicted) == timedelta(minutes=30)
    assert stage.sent("eviction") == ["long-0"]
    assert cluster.running("short") == 1


def test_of_two_adapters_one_acts_and_the_other_goes_on_when_it_stops(stage: Stage) -> None:
    cluster = stage.cluster
    with stage.adapter():
        with stage.adapter():
            cluster.workload("one", pods=1, gpus=1)
            eventually(lambda: cluster.running("one") == 1)
        cluster.workload("two", pods=1, gpus=1)
        eventually(lambda: cluster.running("two") == 1)
    assert stage.sent("binding") == ["one-0", "two-0"]


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(stage: Stage) -> None:
    cluster = stage.cluster
    cluster.workload("gang", pods=2, gpus=4)
    assert sorted((step["step"], step["pod"], step["node"]) for step in stage.would_do()) == [
        ("bind", "gang-0", "n1"),
        ("bind", "gang-1", "n1"),
    ]
    assert stage.writes() == []
    assert cluster.bound("gang") == 0
