"""Protected gangs are not evicted; protected elastic pod groups keep their minimum."""

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.placement import TaskStatus
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, statuses


def preemption_cluster(count: int, min_member: int, started_ago: str | None, gpus: int = 1) -> ClusterBuilder:
    """A pod group on a full node, protected for 5 minutes, and a preemptor that needs `gpus`."""
    return (
        ClusterBuilder()
        .node("n", gpus=count)
        .queue("q", preempt_min_runtime="5m")
        .running(
            "low", queue="q", gpus=1, count=count, min_member=min_member, node="n", started_ago=started_ago
        )
        .pending("high", queue="q", gpus=gpus, priority=75)
    )


def evicted_pods(builder: ClusterBuilder) -> list[str]:
    """Uids of evicted pods."""
    cluster = builder.build()
    after = statuses(cluster, answer(cluster, default_profile()))
    return [uid for uid, state in after.items() if state.status is TaskStatus.RELEASING]


PREEMPT = {
    "R7.30 a protected gang is no victim": (preemption_cluster(2, 2, "4m59s"), []),
    "R7.20 at the very end it is": (preemption_cluster(2, 2, "5m"), ["low-0", "low-1"]),
    "R7.20 without a start time it is": (preemption_cluster(2, 2, None), ["low-0", "low-1"]),
    "R7.40 a protected elastic one loses surplus": (preemption_cluster(2, 1, "1m"), ["low-1"]),
    "R7.40 a protected elastic one keeps its minimum": (preemption_cluster(2, 1, "1m", gpus=2), []),
    "R7.40 an unprotected elastic one is taken whole": (
        preemption_cluster(2, 1, "6m", gpus=2),
        ["low-0", "low-1"],
    ),
}


@pytest.mark.parametrize(("builder", "expected"), PREEMPT.values(), ids=PREEMPT)
def test_preempt_respects_the_preempt_minimum(builder: ClusterBuilder, expected: list[str]) -> None:
    assert evicted_pods(builder) == expected


@pytest.mark.parametrize(
    ("minimum", "expected"), [("5m", []), ("1m", ["old-0"]), ("0", ["old-0"])], ids=["within", "over", "none"]
)
def test_reclaim_respects_the_reclaim_minimum_r7_30(minimum: str, expected: list[str]) -> None:
    """The preempt value of the queue is longer and has no effect (R7.46)."""
    builder = (
        ClusterBuilder()
        .node("n", gpus=1)
        .queue("a", quota=0, reclaim_min_runtime=minimum, preempt_min_runtime="2h")
        .queue("b", quota=1)
        .running("old", queue="a", gpus=1, node="n", started_ago="1m")
        .pending("new", queue="b", gpus=1)
    )
    assert evicted_pods(builder) == expected


def test_two_preemptors_together_do_not_evict_the_minimum_r7_40() -> None:
    builder = (
        ClusterBuilder()
        .node("n", gpus=2)
        .queue("q", preempt_min_runtime="5m")
        .running("low", queue="q", gpus=1, count=2, min_member=1, node="n", started_ago="1m")
        .pending("one", queue="q", gpus=1, priority=75)
        .pending("two", queue="q", gpus=1, priority=75)
    )
    assert evicted_pods(builder) == ["low-1"]
