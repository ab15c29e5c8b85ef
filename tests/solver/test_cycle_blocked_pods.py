"""A blocked pod is not placed, and no pod is evicted for it (R5.90)."""

from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import OutcomeKind, PodGroupOutcome
from tenure.solver.model.placement import TaskStatus
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, evictions, statuses
from tenure.terms.reasons import ReasonCode

MISSING = "persistentvolumeclaim data not found"


def cluster() -> ClusterBuilder:
    return ClusterBuilder().node("n", gpus=2).queue("q", quota=0).queue("rich", quota=2)


def outcome(builder: ClusterBuilder, group: str) -> PodGroupOutcome:
    built = builder.build()
    outcomes = {built.pod_groups[o.pod_group].facts.uid: o for o in answer(built, default_profile()).outcomes}
    return outcomes[group]


def test_blocked_pod_is_pending_with_its_reason() -> None:
    found = outcome(cluster().pending("job", queue="q", gpus=1, blocked_reason=MISSING), "job")
    assert (found.kind, found.reason.code) == (OutcomeKind.INFEASIBLE, ReasonCode.BLOCKED)
    assert found.reason.detail == f"pod job-0 cannot be placed: {MISSING}"
    assert (found.bound, found.reserved, found.pending) == (0, 0, 1)


@pytest.mark.parametrize(("queue", "priority"), [("rich", 50), ("q", 75)], ids=["reclaim", "preempt"])
def test_no_victim_is_considered_for_a_blocked_pod(queue: str, priority: int) -> None:
    builder = cluster().running("old", queue="q", gpus=2, node="n")
    asks = {"queue": queue, "gpus": 2, "priority": priority}
    assert list(evictions(answer(builder.pending("job", **asks).build(), default_profile())))
    blocked = (
        cluster().running("old", queue="q", gpus=2, node="n").pending("job", **asks, blocked_reason=MISSING)
    )
    decision = answer(blocked.build(), default_profile())
    assert not list(evictions(decision))
    assert (decision.counters.generated, decision.counters.simulated) == (0, 0)


def test_gang_with_a_blocked_pod_is_pending_completely() -> None:
    builder = cluster().pod_group("gang", queue="q", min_member=2).pending("gang")
    found = outcome(builder.pending("gang", blocked_reason=MISSING), "gang")
    assert (found.reason.code, found.pending) == (ReasonCode.BLOCKED, 2)


def test_elastic_pod_group_starts_without_its_blocked_pod() -> None:
    builder = cluster().pod_group("elastic", queue="q", min_member=1)
    built = builder.pending("elastic", blocked_reason=MISSING).pending("elastic", count=2).build()
    after = statuses(built, answer(built, default_profile()))
    assert [after[f"elastic-{i}"].status for i in range(3)] == [
        TaskStatus.PENDING,
        TaskStatus.BINDING,
        TaskStatus.BINDING,
    ]


def test_running_pod_group_with_a_blocked_pod_has_its_reason() -> None:
    builder = cluster().pod_group("elastic", queue="q", min_member=1)
    found = outcome(
        builder.running("elastic", node="n").pending("elastic", blocked_reason=MISSING), "elastic"
    )
    assert (found.kind, found.reason.code) == (OutcomeKind.INFEASIBLE, ReasonCode.BLOCKED)


def test_blocked_reason_of_a_running_pod_is_ignored() -> None:
    """The pod is evicted and relocated like any other pod."""
    builder = ClusterBuilder().node("n1", gpus=2).node("n2", gpus=2).queue("q")
    builder.running("a", queue="q", gpus=1, node="n1", blocked_reason=MISSING)
    builder.running("b", queue="q", gpus=1, node="n2", blocked_reason=MISSING)
    built = builder.pending("large", queue="q", gpus=2).build()
    profile = replace(default_profile(), actions=("consolidation",))
    after = statuses(built, answer(built, profile))
    assert after["large-0"].status is TaskStatus.PIPELINED
