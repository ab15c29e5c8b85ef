"""The minimum runtime counts from the start time, which is set on placement and stored by the caller."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import NOW, ClusterBuilder, apply_decisions, evictions, statuses
from tenure.solver.testing.options import JobOptions
from tenure.terms.durations import SECOND, parse_duration

from tests.solver.plugins.guards.min_runtime.contested_gpu import evicted_pods, tree

MINUTE = 60 * SECOND
LONG_AGO = NOW - parse_duration("1h")


def start_time_after(builder: ClusterBuilder, name: str) -> int | None:
    """Start time of a pod group after the decisions of a cycle are applied."""
    cluster = builder.build()
    return _start_time(apply_decisions(cluster, answer(cluster, default_profile()), MINUTE), name)


def _start_time(cluster: Cluster, name: str) -> int | None:
    return next(group.facts.last_start for group in cluster.pod_groups if group.facts.name == name)


def free_node(gpus: int) -> ClusterBuilder:
    return ClusterBuilder().node("n", gpus=gpus).queue("q")


STARTS = {
    "R3.31 placed for the first time: now": (
        free_node(1).pending("job", queue="q", gpus=1, started_ago=None),
        NOW,
    ),
    "R7.22 placed again after an eviction: now": (free_node(1).pending("job", queue="q", gpus=1), NOW),
    "R3.33 promised room only: not yet": (
        free_node(1)
        .pods("gone", TaskStatus.RELEASING, queue="q", gpus=1, node="n")
        .pending("job", queue="q", gpus=1, started_ago=None),
        None,
    ),
    "R3.31 no room: not at all": (
        free_node(1).pending("job", queue="q", gpus=1, count=2, started_ago=None),
        None,
    ),
    "R7.22 it runs and grows: as before": (
        free_node(2).running("job", queue="q", gpus=1, node="n", min_member=1).pending("job", gpus=1),
        LONG_AGO,
    ),
    "R7.22 it loses a surplus pod: as before": (
        free_node(2)
        .running("job", queue="q", gpus=1, count=2, min_member=1, node="n")
        .pending("high", queue="q", gpus=1, priority=75),
        LONG_AGO,
    ),
}


@pytest.mark.parametrize(("builder", "expected"), STARTS.values(), ids=STARTS)
def test_start_time_is_patched_when_the_pod_group_is_bound(
    builder: ClusterBuilder, expected: int | None
) -> None:
    assert start_time_after(builder, "job") == expected


@pytest.mark.parametrize(
    ("ran", "expected"),
    [(None, ["old-0"]), ("4m59s", []), ("5m", ["old-0"])],
    ids=["R7.20 nobody says when it started", "R7.20 within", "R7.20 at the end"],
)
def test_pod_group_without_start_time_is_not_protected(ran: str | None, expected: list[str]) -> None:
    queues = tree({"a": "", "b": ""}, rich="b", reclaim={"a": "5m"}).node("n", gpus=1)
    queues.running("old", queue="a", gpus=1, node="n", started_ago=ran)
    assert evicted_pods(queues.pending("new", queue="b", gpus=1).build()) == expected


@pytest.mark.parametrize(
    ("minimum", "expected"), [("0s", [1, 1, 1, 1]), ("3m", [3, 3])], ids=["no minimum", "three minutes"]
)
def test_every_start_runs_for_at_least_the_minimum(minimum: str, expected: list[int]) -> None:
    """Every minute a pod group of higher priority arrives. Each runs for at least the minimum."""
    builder = ClusterBuilder().node("n", gpus=1).queue("q", preempt_min_runtime=minimum)
    builder.running("first", queue="q", gpus=1, node="n", started_ago="0s", priority=10)
    for number in range(1, 9):
        options: JobOptions = {"queue": "q", "gpus": 1, "priority": 10 + number}
        builder.pods(f"later{number}", TaskStatus.GATED, **options)
    assert list(_minutes_run(builder.build())) == expected


def _minutes_run(cluster: Cluster) -> Iterator[int]:
    """Minutes that each evicted pod group had run since its start, over nine cycles, one per minute."""
    for number in range(9):
        cluster = _with_gate_removed(cluster, f"later{number}")
        decision = answer(cluster, default_profile())
        for task in evictions(decision):
            start = cluster.pod_groups[cluster.tasks[task].pod_group].facts.last_start
            assert start is not None
            yield (cluster.now - start) // MINUTE
        cluster = apply_decisions(cluster, decision, MINUTE)


def _with_gate_removed(cluster: Cluster, name: str) -> Cluster:
    """The cluster after the scheduling gate of the pod group's pod is removed."""
    waiting = Placement(TaskStatus.PENDING)
    tasks = (replace(t, placement=waiting) if t.facts.uid == f"{name}-0" else t for t in cluster.tasks)
    return replace(cluster, tasks=PersistentVector(tasks))


@pytest.mark.parametrize(
    ("minimum", "evicted"), [("5m", []), ("0", ["new-0", "old-0"])], ids=["protected", "without a minimum"]
)
def test_a_pod_group_that_starts_in_the_cycle_is_protected_from_then_on_r7_22(
    minimum: str, evicted: list[str]
) -> None:
    """The last free GPU goes to `new`; `high` needs both. A bound pod that is evicted does not start."""
    builder = ClusterBuilder().node("n", gpus=2).queue("q", preempt_min_runtime=minimum)
    builder.running("old", queue="q", gpus=1, node="n", started_ago="1h")
    cluster = (
        builder.pending("new", queue="q", gpus=1).pending("high", queue="q", gpus=2, priority=75).build()
    )
    profile = replace(default_profile(), options=CycleOptions(allow_same_cycle_eviction=True))
    after = statuses(cluster, answer(cluster, profile))
    assert after["high-0"].status is (TaskStatus.PENDING if minimum == "5m" else TaskStatus.PIPELINED)
    gone = sorted(uid for uid in ("new-0", "old-0") if after[uid].status is not TaskStatus.RUNNING)
    assert [uid for uid in gone if after[uid].status is not TaskStatus.BINDING] == evicted
