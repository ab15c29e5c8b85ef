"""A pod that cannot be placed whatever is evicted is not placed, and nobody is evicted for it (R5.90)."""

from dataclasses import replace

import pytest
from tenure.solver.cycle import decide
from tenure.solver.model.decision import Outcome, OutcomeKind
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.reason import ReasonCode
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, evictions, statuses

MISSING = "persistentvolumeclaim data not found"


def cluster() -> ClusterBuilder:
    return ClusterBuilder().node("n", gpus=2).queue("q", quota=0).queue("rich", quota=2)


def outcome(builder: ClusterBuilder, group: str) -> Outcome:
    built = builder.build()
    outcomes = {built.pod_groups[o.pod_group].uid: o for o in decide(built, default_profile()).outcomes}
    return outcomes[group]


def test_it_stays_pending_and_its_pod_group_is_told_why() -> None:
    found = outcome(cluster().pending("job", queue="q", gpus=1, blocked_by=MISSING), "job")
    assert (found.kind, found.reason.code) == (OutcomeKind.INFEASIBLE, ReasonCode.BLOCKED)
    assert found.reason.detail == f"pod job-0 cannot be placed: {MISSING}"
    assert (found.bound, found.held, found.pending) == (0, 0, 1)


@pytest.mark.parametrize(("queue", "priority"), [("rich", 50), ("q", 75)], ids=["reclaim", "preempt"])
def test_nobody_is_evicted_or_even_considered_for_it(queue: str, priority: int) -> None:
    builder = cluster().running("old", queue="q", gpus=2, node="n")
    asks = {"queue": queue, "gpus": 2, "priority": priority}
    assert list(evictions(decide(builder.pending("job", **asks).build(), default_profile())))
    blocked = cluster().running("old", queue="q", gpus=2, node="n").pending("job", **asks, blocked_by=MISSING)
    decision = decide(blocked.build(), default_profile())
    assert not list(evictions(decision))
    assert (decision.counters.emitted, decision.counters.simulated) == (0, 0)


def test_a_gang_that_needs_it_waits_whole() -> None:
    builder = cluster().pod_group("gang", queue="q", min_member=2).pending("gang")
    found = outcome(builder.pending("gang", blocked_by=MISSING), "gang")
    assert (found.reason.code, found.pending) == (ReasonCode.BLOCKED, 2)


def test_an_elastic_pod_group_goes_on_without_it() -> None:
    builder = cluster().pod_group("elastic", queue="q", min_member=1)
    built = builder.pending("elastic", blocked_by=MISSING).pending("elastic", count=2).build()
    after = statuses(built, decide(built, default_profile()))
    assert [after[f"elastic-{i}"].status for i in range(3)] == [
        TaskStatus.PENDING,
        TaskStatus.BINDING,
        TaskStatus.BINDING,
    ]


def test_a_pod_group_that_runs_is_told_why_it_does_not_grow() -> None:
    builder = cluster().pod_group("elastic", queue="q", min_member=1)
    found = outcome(builder.running("elastic", node="n").pending("elastic", blocked_by=MISSING), "elastic")
    assert (found.kind, found.reason.code) == (OutcomeKind.INFEASIBLE, ReasonCode.BLOCKED)


def test_it_is_of_no_account_once_the_pod_runs() -> None:
    """The pod is evicted and moved like any other."""
    builder = ClusterBuilder().node("n1", gpus=2).node("n2", gpus=2).queue("q")
    builder.running("a", queue="q", gpus=1, node="n1", blocked_by=MISSING)
    builder.running("b", queue="q", gpus=1, node="n2", blocked_by=MISSING)
    built = builder.pending("large", queue="q", gpus=2).build()
    profile = replace(default_profile(), actions=("consolidation",))
    after = statuses(built, decide(built, profile))
    assert after["large-0"].status is TaskStatus.PIPELINED
