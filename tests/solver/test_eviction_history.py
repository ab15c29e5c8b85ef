"""Settlement of evictions: effective or ineffective, stored with a decision or as a standalone patch."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, Patch
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import TaskStatus
from tenure.solver.testing import NOW, ClusterBuilder, apply_decisions, evictions
from tenure.terms.durations import SECOND

from tests.solver.plugins.guards.eviction_pair import GUARD, profile, with_eviction_record

MINUTE = 60 * SECOND
NEW, OLD = 0, 1
"""Indices of pod groups, and of their tasks if each has one, in the order of their names."""


def standalone_patches(decision: CycleResult) -> list[Patch]:
    """Patches of the eviction history without other decisions."""
    return [patch for group in decision.groups if group.action == GUARD for patch in group.patches]


def updated_records(decision: CycleResult) -> list[EvictionRecord]:
    """Eviction records that the response sets, in order."""
    patches = [patch for group in decision.groups for patch in group.patches]
    return [patch.record for patch in patches if patch.record is not None]


def free_node(gpus: int = 2) -> ClusterBuilder:
    return ClusterBuilder().node("n", gpus=gpus).queue("a").queue("b", quota=0)


def preemptor_pending(builder: ClusterBuilder) -> None:
    """`new` has no capacity: `old` is gone, and another pod group of equal priority uses the node."""
    builder.running("other", queue="a", gpus=1, count=2, node="n", priority=90)
    builder.pending("old", queue="a", gpus=1).pending("new", queue="a", gpus=2, priority=90)


def victim_terminating(builder: ClusterBuilder) -> None:
    builder.running("other", queue="a", gpus=1, node="n", priority=90)
    builder.pods("old", TaskStatus.RELEASING, node="n", queue="a", gpus=1)
    builder.pending("new", queue="a", gpus=2, priority=90)


def preemptor_reserved(builder: ClusterBuilder) -> None:
    """Other pods are terminating, and `new` gets a reservation."""
    builder.pods("other", TaskStatus.RELEASING, node="n", queue="a", gpus=1, count=2)
    builder.pending("old", queue="a", gpus=2).pending("new", queue="a", gpus=2, priority=90)


def preemptor_bound(builder: ClusterBuilder) -> None:
    builder.pending("old", queue="a", gpus=2).pending("new", queue="a", gpus=2, priority=90)


def preemptor_binding(builder: ClusterBuilder) -> None:
    """It is bound and its start time is stored, but it is not seen running yet."""
    builder.pending("old", queue="a", gpus=2)
    builder.pending("new", queue="a", gpus=2, priority=90, started_ago="1s")
    builder.in_flight("f", beneficiary="new", binds={"new-0": "n"})


def preemptor_started(builder: ClusterBuilder) -> None:
    builder.pending("old", queue="a", gpus=2)
    builder.running("new", queue="a", gpus=1, count=2, node="n", priority=90, started_ago="1s")


def preemptor_partly_started(builder: ClusterBuilder) -> None:
    """Elastic: it runs with its minimum and has more pending pods."""
    builder.pending("old", queue="a", gpus=2)
    builder.pod_group("new", queue="a", priority=90, min_member=1, started_ago="1s")
    builder.running("new", gpus=1, node="n").pending("new", gpus=4)


def preemptor_started_in_same_cycle(builder: ClusterBuilder) -> None:
    """Elastic: it requested more in the cycle in which it started, and did not get that capacity."""
    builder.pending("old", queue="a", gpus=2)
    builder.pod_group("new", queue="a", priority=90, min_member=1, started_ago="2s")
    builder.running("new", gpus=1, node="n").pending("new", gpus=4)


def preemptor_running_before(builder: ClusterBuilder) -> None:
    """Elastic: it was already running when it requested more, and did not get that capacity."""
    builder.pending("old", queue="a", gpus=2)
    builder.pod_group("new", queue="a", priority=90, min_member=1, started_ago="1h")
    builder.running("new", gpus=1, node="n").pending("new", gpus=4)


def preemptor_complete(builder: ClusterBuilder) -> None:
    """It was already running when it requested more, and has no pending pods."""
    builder.pending("old", queue="a", gpus=2)
    builder.running("new", queue="a", gpus=1, count=2, node="n", priority=90, started_ago="1h")


def preemptor_without_pods(builder: ClusterBuilder) -> None:
    builder.running("old", queue="a", gpus=1, node="n")
    builder.pods("new", TaskStatus.SUCCEEDED, queue="a", gpus=1)


RESULTS: dict[str, tuple[Callable[[ClusterBuilder], None], str]] = {
    "the victim is gone and the preemptor waits": (preemptor_pending, "failed"),
    "pods of the victim terminate": (victim_terminating, "open"),
    "the preemptor is promised room": (preemptor_reserved, "open"),
    "the preemptor is bound, and binding may fail": (preemptor_bound, "open"),
    "a binding of the preemptor is in flight, and may fail": (preemptor_binding, "open"),
    "the preemptor runs": (preemptor_started, "of use"),
    "the preemptor runs and wants more": (preemptor_partly_started, "of use"),
    "the preemptor started before and still wants more": (preemptor_started_in_same_cycle, "failed"),
    "the preemptor ran before and still wants more": (preemptor_running_before, "failed"),
    "the preemptor ran before and has all it wants": (preemptor_complete, "of use"),
    "the preemptor asks no more": (preemptor_without_pods, "open"),
}


@pytest.mark.parametrize(("story", "fate"), RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("failures", [0, 3])
def test_cycle_determines_the_result_of_an_eviction(
    story: Callable[[ClusterBuilder], None], fate: str, failures: int
) -> None:
    builder = free_node()
    story(builder)
    failed = "10m" if failures else ""
    cluster = with_eviction_record(
        builder.build(),
        "old",
        "new",
        evicted="2s",
        failed=failed,
        consecutive_failures=failures,
        result_pending=True,
    )
    (before,) = cluster.eviction_history
    settled = {
        "failed": [
            before._replace(consecutive_failures=failures + 1, last_failure=NOW, result_pending=False)
        ],
        "of use": [before._replace(consecutive_failures=0, last_failure=None, result_pending=False)],
        "open": [],
    }[fate]
    assert [patch.record for patch in standalone_patches(answer(cluster, profile()))] == settled


@pytest.mark.parametrize("evicted", ["0s", "-1s", "-9h"])
def test_result_of_a_future_eviction_is_not_determined(evicted: str) -> None:
    builder = free_node()
    preemptor_pending(builder)
    cluster = with_eviction_record(builder.build(), "old", "new", evicted=evicted, result_pending=True)
    assert standalone_patches(answer(cluster, profile())) == []


def test_known_result_is_not_patched_again() -> None:
    builder = free_node()
    preemptor_pending(builder)
    cluster = with_eviction_record(
        builder.build(), "old", "new", evicted="9m", failed="8m", consecutive_failures=2
    )
    assert standalone_patches(answer(cluster, profile())) == []


def growing_preemptor() -> Cluster:
    """`new` runs, and there is capacity for two more of its pods."""
    builder = free_node(3).pending("old", queue="a", gpus=2)
    builder.pod_group("new", queue="a", priority=90, min_member=1)
    return builder.running("new", gpus=1, node="n").pending("new", gpus=1, count=2).build()


def test_growth_of_the_preemptor_makes_the_eviction_effective() -> None:
    """A snapshot does not show which pods of a running pod group are new. The record is updated once."""
    fields = {"evicted": "2s", "failed": "9m", "consecutive_failures": 4, "result_pending": True}
    decision = answer(with_eviction_record(growing_preemptor(), "old", "new", **fields), profile())
    assert [(group.action, len(group.bindings)) for group in decision.groups] == [("allocate", 1)] * 2
    assert updated_records(decision) == [EvictionRecord(OLD, NEW, NOW - 2 * SECOND)]


@pytest.mark.parametrize("evicted", ["0s", "-1m"])
def test_growth_does_not_settle_a_future_eviction(evicted: str) -> None:
    cluster = with_eviction_record(growing_preemptor(), "old", "new", evicted=evicted, result_pending=True)
    assert updated_records(answer(cluster, profile())) == []


def contested_cluster() -> Cluster:
    """`old` uses the capacity that `new`, of higher priority, needs."""
    builder = free_node().running("old", queue="a", gpus=2, node="n")
    return builder.pending("new", queue="a", gpus=2, priority=90).build()


def test_failed_binding_does_not_make_the_eviction_effective() -> None:
    """The victim is evicted, the preemptor is bound but does not start, and the victim starts first."""
    first = answer(contested_cluster(), profile("preempt"))
    assert list(evictions(first)) == [OLD]
    cluster = apply_decisions(contested_cluster(), first, SECOND)
    second = answer(cluster, profile("preempt"))
    assert [step.task for group in second.groups for step in group.bindings] == [NEW]
    assert updated_records(second) == []
    cluster = apply_decisions(cluster, second, SECOND)
    new, old = cluster.tasks
    swapped = PersistentVector([replace(new, placement=old.placement), replace(old, placement=new.placement)])
    third = answer(replace(cluster, tasks=swapped), profile("preempt"))
    assert list(evictions(third)) == []
    assert updated_records(third) == [EvictionRecord(OLD, NEW, NOW, 1, NOW + 2 * SECOND)]


def test_new_eviction_retains_the_failures_of_the_pair() -> None:
    cluster = with_eviction_record(
        contested_cluster(), "old", "new", evicted="9m", failed="8m", consecutive_failures=2
    )
    assert updated_records(answer(cluster, profile("preempt"))) == [
        EvictionRecord(OLD, NEW, NOW, 2, NOW - 8 * MINUTE, result_pending=True)
    ]


def test_failure_is_counted_without_the_guard() -> None:
    cluster = with_eviction_record(contested_cluster(), "old", "new", evicted="1s", result_pending=True)
    decision = answer(cluster, profile("preempt", backoff="0s"))
    assert updated_records(decision) == [EvictionRecord(OLD, NEW, NOW, 1, NOW, result_pending=True)]
    assert standalone_patches(decision) == []


def test_relocation_is_recorded_like_an_eviction() -> None:
    builder = ClusterBuilder().node("n1", gpus=2).node("n2", gpus=1).queue("a")
    builder.running("old", queue="a", gpus=1, node="n1").pending("new", queue="a", gpus=2)
    decision = answer(builder.build(), profile("consolidation"))
    assert [step.relocating for group in decision.groups for step in group.evictions] == [True]
    assert updated_records(decision) == [EvictionRecord(OLD, NEW, NOW, result_pending=True)]
