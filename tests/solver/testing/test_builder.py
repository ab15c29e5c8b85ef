"""The test kit: defaults of omitted values, and errors for invalid ones."""

import re
from collections.abc import Callable

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import PatchKind
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.resources import GpuRequest
from tenure.solver.registry import default_profile
from tenure.solver.testing import NOW, ClusterBuilder, TaskState, apply_decisions, evictions, statuses
from tenure.solver.testing.options import PodOptions
from tenure.terms.durations import SECOND

GIB = 1 << 30


def test_options_have_defaults() -> None:
    cluster = ClusterBuilder().node("n").queue("q").running("job", queue="q", node="n", count=2).build()
    (node,), (queue,), (group,) = cluster.nodes, cluster.queues, cluster.pod_groups
    assert node.allocatable == (64_000, 512 * GIB, 0, 110)
    assert (queue.facts.quota, queue.facts.limit, queue.facts.weight) == (
        (-1, -1, -1),
        (-1, -1, -1),
        (1, 1, 1),
    )
    assert (group.facts.priority, group.is_preemptible, group.pod_sets[0].min_available) == (50, True, 2)
    assert group.facts.last_start == NOW - 3600 * SECOND
    assert cluster.tasks[0].shape.request == (1000, GIB, 0, 1)
    assert cluster.tasks[0].placement == Placement(TaskStatus.RUNNING, 0)


def test_facts_without_an_option_are_given_by_name() -> None:
    builder = (
        ClusterBuilder().queue("q", facts={"notice": 7}).pending("job", queue="q", facts={"stale_since": 9})
    )
    cluster = builder.build()
    assert (cluster.queues[0].facts.notice, cluster.pod_groups[0].facts.stale_since) == (7, 9)


def test_unknown_fact_is_refused() -> None:
    with pytest.raises(TypeError, match="QueueFacts has no fact nottice; did you mean notice"):
        ClusterBuilder().queue("q", facts={"nottice": 7}).build()


GPUS: dict[str, tuple[PodOptions, GpuRequest, int]] = {
    "none": ({}, GpuRequest(), 0),
    "whole": ({"gpus": 2}, GpuRequest(2), 2000),
    "a share": ({"gpus": 0.5}, GpuRequest(1, 500), 0),
    "shares of several": ({"gpus": 0.25, "devices": 3}, GpuRequest(3, 250), 0),
    "memory": ({"gpu_memory_mib": 4096}, GpuRequest(1, 0, 4096), 0),
}


@pytest.mark.parametrize(("pod", "gpu", "charged"), GPUS.values(), ids=GPUS)
def test_gpus_are_numbers_of_devices(pod: PodOptions, gpu: GpuRequest, charged: int) -> None:
    shape = ClusterBuilder().queue("q").pending("job", queue="q", **pod).build().tasks[0].shape
    assert (shape.gpu, shape.request[2]) == (gpu, charged)


def test_shares_run_on_the_first_devices_by_default() -> None:
    builder = ClusterBuilder().node("n", gpus=4).queue("q")
    builder.running("one", queue="q", node="n", gpus=0.5, devices=2)
    builder.running("two", queue="q", node="n", gpus=0.5, gpu_groups=["n/gpu-7"])
    groups = [task.placement.gpu_groups for task in builder.build().tasks]
    assert groups == [("n/gpu-0", "n/gpu-1"), ("n/gpu-7",)]


def test_equal_requests_are_one_shape() -> None:
    builder = ClusterBuilder().queue("q").pending("a", queue="q", gpus=1).pending("b", queue="q", gpus=1)
    cluster = builder.pending("c", queue="q", gpus=2).build()
    assert [task.shape.index for task in cluster.tasks] == [0, 0, 1]
    assert [shape.index for shape in cluster.shapes] == [0, 1]


MISTAKES: dict[str, Callable[[ClusterBuilder], object]] = {
    "a node twice": lambda b: b.node("n").node("n"),
    "a queue twice": lambda b: b.queue("q").queue("q"),
    "a pod group twice": lambda b: b.pod_group("j").pod_group("j"),
    "a pod group's options twice": lambda b: b.pending("j", queue="q").pending("j", priority=1),
    "a GPU and a half": lambda b: b.queue("q").pending("j", queue="q", gpus=1.5).build(),
    "a bare number as duration": lambda b: b.pending("j", queue="q", created_ago="5").build(),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_invalid_calls_are_errors(mistake: Callable[[ClusterBuilder], object]) -> None:
    with pytest.raises(ValueError, match=r"added before|whole devices|not a duration"):
        mistake(ClusterBuilder())


MISSPELLED: dict[str, tuple[str, dict[str, object], str]] = {
    "a node": ("node", {"gpuz": 2}, "node n has no option gpuz; did you mean gpus?"),
    "a zone of a node": (
        "node",
        {"numa_zones": {"0": {"cpu": 2}}},
        "NUMA zone 0 of node n has no option cpu; did",
    ),
    "a claim": ("claim", {"devices": {}, "qeue": "q"}, "claim n has no option qeue; did you mean queue?"),
    "a queue": ("queue", {"qouta": 2}, "queue n has no option qouta; did you mean quota?"),
    "a pod group": ("pod_group", {"gpus": 2}, "pod group n has no option gpus; known: queue, namespace, "),
    "running pods": (
        "running",
        {"node": "n", "started_agoo": "5m"},
        "pod group n has no option started_agoo; did you mean started_ago?",
    ),
    "pending pods": (
        "pending",
        {"prioritty": 3},
        "pod group n has no option prioritty; did you mean priority?",
    ),
    "zones of pods": ("pending", {"numa_placement": {"0": {"gpu": 1}}}, "NUMA zone 0 of pod group n has no"),
    "an in-flight group": (
        "in_flight",
        {"evict": {}},
        "in-flight group n has no option evict; did you mean evicts?",
    ),
}


@pytest.mark.parametrize(("method", "options", "problem"), MISSPELLED.values(), ids=MISSPELLED)
def test_misspelled_options_are_errors_with_the_nearest_name(
    method: str, options: dict[str, object], problem: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(problem)):
        getattr(ClusterBuilder(), method)("n", **options)


def preempted_pods() -> ClusterBuilder:
    return (
        ClusterBuilder()
        .node("n", gpus=1)
        .queue("q")
        .running("low", queue="q", gpus=1, node="n", started_ago="5m")
        .pending("high", queue="q", gpus=1, priority=75)
    )


def test_statuses_contain_every_pod_after_the_decision() -> None:
    cluster = preempted_pods().build()
    decision = answer(cluster, default_profile())
    assert list(evictions(decision)) == [1]
    assert statuses(cluster, decision) == {
        "high-0": TaskState(TaskStatus.PIPELINED, "n"),
        "low-0": TaskState(TaskStatus.RELEASING, "n"),
    }


def test_next_cluster_is_the_cluster_after_the_decision() -> None:
    cluster = preempted_pods().build()
    later = apply_decisions(cluster, answer(cluster, default_profile()), SECOND)
    assert later.now == NOW + SECOND
    assert [task.placement.status for task in later.tasks] == [TaskStatus.PENDING] * 2
    assert later.pod_groups[1].facts.last_eviction == NOW
    decision = answer(later, default_profile())
    assert PatchKind.LAST_START_TIME in [patch.kind for group in decision.groups for patch in group.patches]
    last = apply_decisions(later, decision, SECOND)
    assert [task.placement.status for task in last.tasks] == [TaskStatus.RUNNING, TaskStatus.PENDING]
    assert last.pod_groups[0].facts.last_start == NOW + SECOND
