"""Pod groups that finished by themselves leave their runtimes, for predictions (semantics R17.32)."""

from typing import Any, Final

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.integration.ports import FinishedRun

from tests.kubernetes.observe.cached_cluster import (
    CachedCluster,
    member,
    node,
    pod,
    pod_group,
    queue,
    running,
)

START: Final = Timestamp(seconds=1_798_848_000)
"""When pods of `running` start."""
GPUS: Final = {"cpu": "1", "nvidia.com/gpu": "2"}
SHARE: Final = {"gpu-fraction": "0.5"}
MEMORY: Final = {"gpu-memory": "1000"}


def ended(name: str, phase: str = "Succeeded", **more: Any) -> dict[str, Any]:
    item = running(name, **more)
    item["status"]["phase"] = phase
    return item


def of_group(annotations: dict[str, str] | None = None) -> dict[str, Any]:
    return {"annotations": {**member("g")["annotations"], **(annotations or {})}}


def cluster(*pods: dict[str, Any]) -> CachedCluster:
    made = CachedCluster()
    made.put("nodes", node())
    made.put("kai_queues", queue("q"))
    made.put("kai_pod_groups", pod_group("g"))
    for item in pods:
        made.put("pods", item)
    return made


def at(seconds: int) -> Timestamp:
    return Timestamp(seconds=START.seconds + seconds)


def runs(before: list[dict[str, Any]], after: list[dict[str, Any]], gone: str = "") -> list[FinishedRun]:
    """What finishes between two passes, 100 and 500 seconds after the start."""
    made = cluster(*before)
    builder = made.builder()
    builder.snapshot(at(100))
    assert builder.finished_runs.take() == []
    for item in after:
        made.put("pods", item)
    if gone:
        made.remove("pods", f"uid-{gone}")
    builder.delta(at(500))
    found = builder.finished_runs.take()
    assert builder.finished_runs.take() == []
    return found


def run_of(gpu_milli: int) -> list[FinishedRun]:
    return [FinishedRun("q", gpu_milli, 500, START.seconds + 500)]


G: Final = of_group()
CASES: Final[dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], list[FinishedRun]]]] = {
    "all pods succeed": (
        [running("a", meta=G, requests=GPUS), running("b", meta=G, requests=GPUS)],
        [ended("a", meta=G, requests=GPUS), ended("b", meta=G, requests=GPUS)],
        run_of(4_000),
    ),
    "the last pod succeeds": (
        [ended("a", meta=G, requests=GPUS), running("b", meta=G, requests=GPUS)],
        [ended("b", meta=G, requests=GPUS)],
        run_of(4_000),
    ),
    "a pod without a GPU": ([running("a", meta=G)], [ended("a", meta=G)], run_of(0)),
    "a share of a GPU": (
        [running("a", meta=of_group(SHARE))],
        [ended("a", meta=of_group(SHARE))],
        run_of(500),
    ),
    "memory of a GPU, whose share depends on the node": (
        [running("a", meta=of_group(MEMORY))],
        [ended("a", meta=of_group(MEMORY))],
        [],
    ),
    "one still runs": (
        [running("a", meta=G), running("b", meta=G)],
        [ended("a", meta=G)],
        [],
    ),
    "one waits": ([running("a", meta=G), pod("b", meta=G)], [ended("a", meta=G)], []),
    "one failed": ([running("a", meta=G)], [ended("a", "Failed", meta=G)], []),
    "it never ran while it was observed": ([], [ended("a", meta=G)], []),
}


@pytest.mark.parametrize(("before", "after", "finished"), CASES.values(), ids=CASES)
def test_only_what_finished_leaves_a_runtime(
    before: list[dict[str, Any]], after: list[dict[str, Any]], finished: list[FinishedRun]
) -> None:
    assert runs(before, after) == finished


def test_deleted_pod_group_leaves_no_runtime() -> None:
    assert runs([running("a", meta=G)], [], gone="a") == []


def test_evicted_pods_that_succeed_in_their_grace_period_leave_no_runtime() -> None:
    evicted = {**G, "deletionTimestamp": "2027-01-02T00:08:00Z"}
    assert runs([running("a", meta=G)], [ended("a", meta=evicted)]) == []


@pytest.mark.parametrize("name", ["", "nope"])
def test_pods_in_a_queue_that_does_not_exist_leave_no_runtime(name: str) -> None:
    made = cluster(running("a", meta=G))
    made.put("kai_pod_groups", pod_group("g", queue=name))
    builder = made.builder()
    assert [row.queue for row in builder.snapshot(at(100)).pod_groups] == [name]
    made.put("pods", ended("a", meta=G))
    builder.delta(at(500))
    assert builder.finished_runs.take() == []


def test_pods_that_run_one_after_the_other_do_not_add_up() -> None:
    """A Job of many completions leaves one size, not as many as it has pods."""
    made = cluster(running("a", meta=G, requests=GPUS))
    builder = made.builder()
    builder.snapshot(at(100))
    sizes = []
    for number, (name, following) in enumerate((("a", "b"), ("b", "c"), ("c", "d"))):
        made.put("pods", ended(name, meta=G, requests=GPUS))
        builder.delta(at(200 + 200 * number))
        sizes += [run.gpu_milli for run in builder.finished_runs.take()]
        made.put("pods", running(following, meta=G, requests=GPUS))
        builder.delta(at(300 + 200 * number))
    assert sizes == [2_000, 2_000, 2_000]


def test_start_is_that_of_the_first_pod_also_if_that_ended_earlier() -> None:
    late = running("b", meta=G, status={"startTime": "2027-01-02T00:05:00Z"})
    made = cluster(running("a", meta=G), pod("b", meta=G))
    builder = made.builder()
    builder.snapshot(at(100))
    made.put("pods", late)
    builder.delta(at(301))
    made.put("pods", ended("a", meta=G))
    builder.delta(at(400))
    made.put("pods", ended("b", meta=G))
    builder.delta(at(900))
    assert builder.finished_runs.take() == [FinishedRun("q", 0, 900, START.seconds + 900)]
