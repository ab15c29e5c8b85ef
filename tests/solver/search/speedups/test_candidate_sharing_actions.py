"""Preemptors share candidates only if the rules of the action are the same for them."""

from dataclasses import replace

from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.placement import TaskStatus
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder


def evicted_pods(builder: ClusterBuilder, action: str) -> set[str]:
    cluster = builder.build()
    decision = answer(cluster, replace(default_profile(), actions=(action,)))
    return {cluster.tasks[step.task].facts.uid for group in decision.groups for step in group.evictions}


def test_preemptor_of_lower_priority_has_fewer_candidates() -> None:
    builder = ClusterBuilder().node("n", gpus=2).queue("q")
    builder.running("low", queue="q", gpus=1, node="n", priority=40)
    builder.running("high", queue="q", gpus=1, node="n", priority=60)
    builder.pending("asks first", queue="q", gpus=1, priority=70)
    builder.pending("asks next", queue="q", gpus=1, priority=50)
    assert evicted_pods(builder, "preempt") == {"low-0"}


def test_pod_group_is_not_relocated_for_itself() -> None:
    """Relocating its pod would leave no capacity for its other pod. For another pod group it is relocated."""
    builder = ClusterBuilder().node("a", gpus=2).node("b", gpus=1).queue("q")
    builder.pod_group("grows", queue="q", min_member=1)
    builder.running("grows", gpus=1, node="a")
    builder.pods("grows", TaskStatus.PENDING, gpus=2)
    assert evicted_pods(builder, "consolidation") == set()
    builder.pending("waits", queue="q", gpus=2)
    assert evicted_pods(builder, "consolidation") == {"grows-0"}
