"""R17.22: what a late cycle of a play starts is dated back to when its capacity was freed."""

from collections.abc import Mapping
from typing import Final

import pytest
from tenure.solver.model.cluster import Cluster
from tenure.solver.play import start_times
from tenure.solver.play.played_cluster import PlayedCluster
from tenure.solver.play.start_times import FirstCycle, Start, StartPlayer, likely_end
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.cancellation import never
from tenure.terms.durations import SECOND

MINUTE: Final = 60 * SECOND
FIRM: Final = {"priority": 100}
"""Non-preemptible by priority, so that nobody is evicted for those that wait."""


def cluster_of(ends: Mapping[str, int], waits: Mapping[str, int]) -> Cluster:
    """One node on which pod groups of one GPU end after minutes, and pod groups of so many GPUs wait."""
    made = ClusterBuilder().queue("q", quota=64).node("n", gpus=len(ends))
    for uid, minutes in ends.items():
        options = {"expected_runtime": f"{minutes + 60}m", "started_ago": "1h", **FIRM}
        made.running(uid, queue="q", node="n", gpus=1, **options)  # type: ignore[arg-type]
    for uid, gpus in waits.items():
        made.pending(uid, queue="q", gpus=gpus, expected_runtime="3m", **FIRM)  # type: ignore[arg-type]
    return made.build()


def starts(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> dict[str, Start]:
    """Of a play whose cycles are twice as far from now as the one before."""
    monkeypatch.setattr(start_times, "MOST_CYCLES", 64)
    monkeypatch.setattr(start_times, "RESOLUTION", 1)
    monkeypatch.setattr(start_times, "FEW", 0)
    first = FirstCycle(PlayedCluster(cluster, default_profile(), BUILT_IN, never))
    found = StartPlayer(first, likely_end).play().starts
    return {cluster.pod_groups[index].facts.uid: start for index, start in found.items()}


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("ends", "waits", "expected"),
    [
        pytest.param(
            {"r1": 60},
            {"a": 1, "b": 1, "c": 1},
            {"a": (60, 60, 60), "b": (63, 0, 126), "c": (66, 0, 240)},
            id="on what the one before left; the range reaches to the cycle",
        ),
        pytest.param(
            {"r1": 60, "r2": 70, "r3": 90},
            {"a": 1, "b": 1, "c": 1},
            {"a": (60, 60, 60), "b": (63, 0, 126), "c": (70, 0, 140)},
            id="the earliest end first",
        ),
        pytest.param(
            {"r1": 60, "r2": 70, "r3": 90},
            {"big": 3},
            {"big": (90, 0, 180)},
            id="the last end that it needs",
        ),
        pytest.param(
            {"r1": 60, "r2": 70, "r3": 90, "r4": 100},
            {"big": 2, "small": 1},
            {"big": (70, 0, 140), "small": (60, 60, 60)},
            id="in time",
        ),
    ],
)
def test_start_is_when_its_capacity_is_freed_r17_22(
    ends: dict[str, int],
    waits: dict[str, int],
    expected: dict[str, tuple[int, int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = cluster_of(ends, waits)
    found = starts(cluster, monkeypatch)
    told = {
        uid: tuple((time - cluster.now) // MINUTE for time in (start.at, start.after, start.by))
        for uid, start in found.items()
    }
    assert told == expected
