"""Priority determines the order, preemptibility determines evictability: they are independent."""

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, evictions

UNSPECIFIED, PREEMPTIBLE, NON_PREEMPTIBLE = (
    Preemptibility.UNSPECIFIED,
    Preemptibility.PREEMPTIBLE,
    Preemptibility.NON_PREEMPTIBLE,
)
PREEMPTOR_PRIORITY = 1_000
"""A priority above all others, so that only preemptibility can prevent the eviction."""


def contested_cluster(action: str, priority: int, kind: Preemptibility) -> ClusterBuilder:
    """Only `old` blocks a preemptor of priority PREEMPTOR_PRIORITY, and `action` could evict it."""
    builder = ClusterBuilder().node("n1", gpus=2).queue("a", quota=0 if action == "reclaim" else 8)
    builder.queue("b", quota=8)
    asking = "b" if action == "reclaim" else "a"
    if action == "consolidation":
        builder.node("n2", gpus=2).running(
            "fixed", queue="a", gpus=1, node="n2", preemptibility=NON_PREEMPTIBLE
        )
    builder.running(
        "old",
        queue="a",
        gpus=1 if action == "consolidation" else 2,
        node="n1",
        priority=priority,
        preemptibility=kind,
    )
    return builder.pending(
        "new", queue=asking, gpus=2, priority=PREEMPTOR_PRIORITY, preemptibility=PREEMPTIBLE
    )


def is_evicted(builder: ClusterBuilder) -> bool:
    """Whether `old`, and no other pod group, is evicted."""
    cluster = builder.build()
    victims = {cluster.tasks[task].facts.uid for task in evictions(answer(cluster, default_profile()))}
    assert victims <= {"old-0"}
    return bool(victims)


VICTIMS = {
    "R1.80 unset, train (50): yields": (50, UNSPECIFIED, True),
    "R1.80 unset, build-preemptible (75): yields": (75, UNSPECIFIED, True),
    "R1.80 unset, just below 100: yields": (99, UNSPECIFIED, True),
    "R1.80 unset, build (100): stays": (100, UNSPECIFIED, False),
    "R1.80 unset, inference (125): stays": (125, UNSPECIFIED, False),
    "R8.7 preemptible in spite of its priority of 125: yields": (125, PREEMPTIBLE, True),
    "R8.7 non-preemptible in spite of its priority of 50: stays": (50, NON_PREEMPTIBLE, False),
    "R1.80 preemptible and low: yields": (50, PREEMPTIBLE, True),
    "R1.80 non-preemptible and high: stays": (125, NON_PREEMPTIBLE, False),
}


@pytest.mark.parametrize("action", ["reclaim", "preempt", "consolidation"])
@pytest.mark.parametrize(("priority", "kind", "expected"), VICTIMS.values(), ids=VICTIMS)
def test_explicit_preemptibility_overrides_the_priority_in_every_action_r8_4(
    action: str, priority: int, kind: Preemptibility, expected: bool
) -> None:
    assert is_evicted(contested_cluster(action, priority, kind)) is expected


@pytest.mark.parametrize(
    ("priority", "expected"),
    [(125, False), (126, True)],
    ids=["R8.6 not to an equal priority", "R8.6 to a higher priority"],
)
def test_preemptible_pod_group_is_preempted_in_its_queue_by_higher_priority_only(
    priority: int, expected: bool
) -> None:
    builder = ClusterBuilder().node("n", gpus=1).queue("q")
    builder.running("old", queue="q", gpus=1, node="n", priority=125, preemptibility=PREEMPTIBLE)
    builder.pending("new", queue="q", gpus=1, priority=priority, preemptibility=PREEMPTIBLE)
    assert is_evicted(builder) is expected


@pytest.mark.parametrize("first", [PREEMPTIBLE, NON_PREEMPTIBLE], ids=lambda kind: kind.name.lower())
@pytest.mark.parametrize("second", [PREEMPTIBLE, NON_PREEMPTIBLE], ids=lambda kind: kind.name.lower())
def test_priority_alone_determines_the_order_r8_4(first: Preemptibility, second: Preemptibility) -> None:
    """Two pod groups need one GPU. The one of higher priority gets it, whatever their preemptibility."""
    builder = ClusterBuilder().node("n", gpus=1).queue("q", quota=8)
    builder.pending("low", queue="q", gpus=1, priority=50, preemptibility=first)
    builder.pending("high", queue="q", gpus=1, priority=60, preemptibility=second)
    cluster = builder.build()
    (group,) = answer(cluster, default_profile()).groups
    assert [cluster.tasks[bind.task].facts.uid for bind in group.bindings] == ["high-0"]


QUOTAS = {
    "R4.61 low, but non-preemptible: within the quota only": (
        50,
        NON_PREEMPTIBLE,
        OutcomeKind.WAITING_FOR_QUOTA,
    ),
    "R4.61 high, but preemptible: beyond it too": (125, PREEMPTIBLE, OutcomeKind.BOUND),
    "R4.61 unset, 100: within the quota only": (100, UNSPECIFIED, OutcomeKind.WAITING_FOR_QUOTA),
    "R4.61 unset, 99: beyond it too": (99, UNSPECIFIED, OutcomeKind.BOUND),
}


@pytest.mark.parametrize(("priority", "kind", "expected"), QUOTAS.values(), ids=QUOTAS)
def test_quota_limits_non_preemptible_pod_groups(
    priority: int, kind: Preemptibility, expected: OutcomeKind
) -> None:
    builder = ClusterBuilder().node("n", gpus=2).queue("q", quota=1)
    builder.pending("job", queue="q", gpus=2, priority=priority, preemptibility=kind)
    (outcome,) = answer(builder.build(), default_profile()).outcomes
    assert outcome.kind is expected


@pytest.mark.parametrize(
    ("wanted", "expected"), [(3, ["high-0", "legacy-0", "low-0"]), (4, [])], ids=["three GPUs", "all four"]
)
def test_only_preemptible_pod_groups_of_a_mixed_queue_are_evicted(wanted: int, expected: list[str]) -> None:
    """Four pod groups of one GPU each, one of them non-preemptible, and a preemptor that needs more GPUs."""
    builder = ClusterBuilder().node("n", gpus=4).queue("q")
    builder.running("low", queue="q", gpus=1, node="n", priority=50, preemptibility=PREEMPTIBLE)
    builder.running("firm", queue="q", gpus=1, node="n", priority=50, preemptibility=NON_PREEMPTIBLE)
    builder.running("high", queue="q", gpus=1, node="n", priority=125, preemptibility=PREEMPTIBLE)
    builder.running("legacy", queue="q", gpus=1, node="n", priority=75)
    builder.pending("new", queue="q", gpus=wanted, priority=PREEMPTOR_PRIORITY, preemptibility=PREEMPTIBLE)
    cluster = builder.build()
    victims = {cluster.tasks[task].facts.uid for task in evictions(answer(cluster, default_profile()))}
    assert sorted(victims) == expected
