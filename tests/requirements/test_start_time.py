"""The start time that minimum and expected runtime count from: who sets it, when, and what it ends."""

from typing import Final

import pytest
from tenure.client import StateSession
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.requirements.answers import evicted, patches
from tests.requirements.cluster import NOW, ClusterText, ago, seconds
from tests.requirements.cluster_life import go_on
from tests.requirements.conftest import Decide
from tests.requirements.profiles import Servers


def free_node(gpus: int) -> ClusterText:
    return ClusterText().node(gpus=gpus).queue("q")


def placed_again() -> ClusterText:
    cluster = free_node(1).waits("job", "q")
    cluster.group("job").last_start_time.CopyFrom(ago("1h"))
    return cluster


STARTS: Final = {
    "placed for the first time": (free_node(1).waits("job", "q"), True),
    "placed again after an eviction": (placed_again(), True),
    "a reservation only": (free_node(1).runs("gone", "q", status="RELEASING").waits("job", "q"), False),
    "no room": (free_node(1).waits("job", "q", pods=2), False),
    "it runs and grows": (free_node(2).runs("job", "q", minimum=1).pods("job", "PENDING"), False),
    "it loses a surplus pod": (
        free_node(2).runs("job", "q", pods=2, minimum=1).waits("high", "q", priority=75),
        False,
    ),
}


@pytest.mark.parametrize(("cluster", "is_set"), STARTS.values(), ids=STARTS)
def test_start_time_is_set_by_a_start_and_by_nothing_else(
    cluster: ClusterText, is_set: bool, decide: Decide
) -> None:
    found = patches(decide(cluster), "last_start_time")
    assert {name: time.seconds for name, time in found.items() if name == "job"} == (
        {"job": NOW} if is_set else {}
    )


@pytest.mark.parametrize(("minimum", "expected"), [("0s", [0, 1, 1, 1]), ("3m", [3, 3])])
def test_every_start_runs_for_at_least_the_minimum(minimum: str, expected: list[int], decide: Decide) -> None:
    """Every minute a pod group of higher priority arrives. With a minimum, each runs that long first."""
    cluster = ClusterText().node().queue("q", preempt_min_runtime=minimum)
    cluster.runs("job-0", "q", ran="0s", priority=10)
    ran = []
    for number in range(1, 9):
        cluster.waits(f"job-{number}", "q", priority=10 + number)
        answer = decide(cluster)
        for pod in evicted(answer):
            start = cluster.group(pod.rpartition("-")[0]).last_start_time
            ran.append((cluster.snapshot.now.seconds - start.seconds) // 60)
        go_on(cluster, answer, 60)
    assert ran == expected


def test_time_is_a_timestamp_with_the_precision_of_the_wire(decide: Decide) -> None:
    """It is a field with nanoseconds: what a caller stores as an annotation is its own affair."""
    for nanos, expected in ((1, []), (0, ["old-0"])):
        cluster = ClusterText().node().queue("q", preempt_min_runtime="1h")
        cluster.runs("old", "q", ran="1h").waits("new", "q", priority=75)
        cluster.group("old").last_start_time.nanos = nanos
        assert evicted(decide(cluster)) == expected


def test_values_are_resolved_anew_in_every_cycle(servers: Servers) -> None:
    """A pushed state is decided again after its queue changed: nothing of the earlier cycle remains."""
    client = servers.client()
    cluster = ClusterText().node().queue("a", quota=0).queue("b", quota=1)
    cluster.runs("old", "a", ran="10m").waits("new", "b")
    cluster.snapshot.cluster_id = "proof-of-caches"
    found: list[list[str]] = []
    with StateSession(client) as session:
        session.push(cluster.snapshot)
        for minimum in ("1h", "5m", "10m1s", "0s"):
            later = ClusterSnapshot()
            later.CopyFrom(cluster.snapshot)
            later.queues[0].reclaim_min_runtime.FromSeconds(seconds(minimum))
            later.version = len(found) + 2
            session.update(later)
            found.append(evicted(session.decide()))
    assert found == [[], ["old-0"], [], ["old-0"]]
