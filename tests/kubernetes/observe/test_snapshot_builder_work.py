"""Work of the snapshot builder, counted in executed lines: a first snapshot grows with the cluster and no
faster, a delta with what changed alone."""

import sys
from collections.abc import Callable
from functools import cache
from types import FrameType
from typing import Any

from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, member, node, pod_group, running

SMALL, LARGE, CHANGED = 500, 1_000, 10
"""Numbers of pods. A pod group has four of them, a node ten."""
ADAPTER = "/tenure/kubernetes/"


def put(world: CachedCluster, number: int, pods: int, generation: str) -> None:
    meta = {**member(f"g{number % (pods // 4)}"), "labels": {"generation": generation}}
    requests = {"cpu": str(1 + number % 4), "memory": "4Gi", "nvidia.com/gpu": "1"}
    spec = {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"kind": str(number % 5)}}
    on = f"n{number % (pods // 10)}"
    world.put("pods", running(f"p{number}", on=on, meta=meta, requests=requests, spec=spec))


def lines_of(function: Callable[[], Any]) -> int:
    """Lines of the adapter that a call executes."""
    count = 0

    def lines(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return lines

    def calls(frame: FrameType, event: str, argument: Any) -> Any:
        return lines if ADAPTER in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(calls)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


@cache
def work(pods: int) -> tuple[int, int]:
    """Lines for the first snapshot of a cluster, and for a delta with changed and new pods."""
    world = CachedCluster()
    for number in range(pods // 10):
        world.put("nodes", node(f"n{number}", labels={"zone": str(number % 10)}))
    for number in range(pods // 4):
        world.put("kai_pod_groups", pod_group(f"g{number}", minMember=4))
    for number in range(pods):
        put(world, number, pods, "1")
    builder = world.builder()
    first = lines_of(lambda: builder.snapshot(NOW))
    for number in range(CHANGED):
        put(world, number * 7, pods, "2")
        world.put("pods", running(f"new{number}", on="n1", meta=member("g1")))
    deltas: list[Any] = []
    change = lines_of(lambda: deltas.append(builder.delta(NOW)))
    assert len(deltas[0].upserts.pods) == CHANGED
    return first, change


def test_first_snapshot_grows_with_the_cluster_and_no_faster() -> None:
    (small, _), (large, _) = work(SMALL), work(LARGE)
    assert large / LARGE < 1.1 * small / SMALL


def test_delta_grows_with_the_changes_and_not_with_the_cluster() -> None:
    (_, small), (first, large) = work(SMALL), work(LARGE)
    assert large < 1.1 * small
    assert large < first / 10
