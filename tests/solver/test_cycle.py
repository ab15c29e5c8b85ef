"""Complete cycles on small clusters: interaction of actions and of pod groups."""

from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugin_api.profile import SPEEDUPS
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, TaskState, apply_decisions, statuses
from tenure.terms.durations import SECOND

from tests.properties.checks.decision_checks import find_violations
from tests.properties.cycle_sequence import CycleRun
from tests.properties.differential import decide_with, is_same

PIPELINED, RELEASING = TaskStatus.PIPELINED, TaskStatus.RELEASING
BINDING, PENDING = TaskStatus.BINDING, TaskStatus.PENDING


def cluster() -> ClusterBuilder:
    return ClusterBuilder().node("n1", gpus=1, labels={"on": "n1"}).queue("q")


def decision_of(builder: ClusterBuilder) -> tuple[Cluster, CycleResult]:
    built = builder.build()
    return built, answer(built, default_profile())


def test_gang_is_bound_completely_or_not_at_all_r3_30() -> None:
    built, decision = decision_of(cluster().pending("gang", queue="q", gpus=1, count=2))
    assert decision.groups == ()
    assert [(outcome.bound, outcome.pending) for outcome in decision.outcomes] == [(0, 2)]
    assert {state.status for state in statuses(built, decision).values()} == {PENDING}


def test_gang_that_cannot_start_completely_is_pipelined_completely_r3_32() -> None:
    builder = cluster().node("n2", gpus=1).pods("old", RELEASING, node="n1", queue="q", gpus=1)
    built, decision = decision_of(builder.pending("gang", queue="q", gpus=1, count=2))
    after = statuses(built, decision)
    assert {after["gang-0"].status, after["gang-1"].status} == {PIPELINED}


def test_surplus_is_pipelined_while_the_core_starts_r3_32() -> None:
    builder = cluster().node("n2", gpus=1).pods("old", RELEASING, node="n1", queue="q", gpus=1)
    built, decision = decision_of(builder.pending("elastic", queue="q", gpus=1, count=2, min_member=1))
    after = statuses(built, decision)
    assert after["elastic-0"] == TaskState(BINDING, "n2")
    assert after["elastic-1"] == TaskState(PIPELINED, "n1")


def test_grown_gang_is_evicted_completely_or_not_at_all() -> None:
    builder = ClusterBuilder().node("n", gpus=1, cpus=3).queue("q")
    builder.running("low", queue="q", node="n", count=2, min_member=2).pending("low")
    builder.pending("high", queue="q", gpus=1, cpus=2, priority=75)
    assert find_violations(CycleRun(*decision_of(builder))) == []


def test_a_gang_that_was_just_evicted_causes_no_evictions_for_less_than_its_minimum() -> None:
    builder = ClusterBuilder().node("n1", gpus=2).node("n2", gpus=1).queue("q")
    builder.running("low", queue="q", gpus=1, node="n2")
    builder.running("mid", queue="q", gpus=1, node="n1", count=2, min_member=2, priority=75)
    builder.pending("mid", gpus=1).pending("high", queue="q", gpus=2, priority=90)
    assert find_violations(CycleRun(*decision_of(builder))) == []


def relocated_twice() -> ClusterBuilder:
    """`one` relocates `low` from n1 to n2; `two` then needs all of n2."""
    builder = cluster().node("n2", gpus=1, labels={"on": "n2"})
    builder.running("low", queue="q", gpus=0.5, node="n1").running("low2", queue="q", gpus=0.5, node="n2")
    builder.pending("one", queue="q", gpus=1, priority=75, node_selector={"on": "n1"})
    return builder.pending("two", queue="q", gpus=1, priority=70, node_selector={"on": "n2"})


def test_speedups_count_capacity_of_relocated_pods() -> None:
    built = relocated_twice().build()
    assert is_same(decide_with(built, SPEEDUPS), decide_with(built, ()))


def test_reservations_depend_on_evictions_of_the_same_and_earlier_groups() -> None:
    built = relocated_twice().build()
    assert find_violations(CycleRun(built, decide_with(built, ()))) == []


def test_gpu_memory_request_is_rejected_on_nodes_with_unknown_gpu_memory_r1_16() -> None:
    builder = ClusterBuilder().node("n", gpus=2).queue("q").pending("whole", queue="q", gpus=1, priority=75)
    built, decision = decision_of(builder.pending("memory", queue="q", gpu_memory_mib=50))
    assert statuses(built, decision)["memory-0"].status is PENDING


def test_consolidation_reaches_a_fixed_point() -> None:
    """`other` is relocated for `mine` and must not be placed on its old node again."""
    builder = ClusterBuilder().node("n1", gpus=2).node("n2", gpus=2, labels={"on": "n2"}).queue("q")
    builder.pod_group("mine", queue="q", min_member=1).running(
        "mine", node="n2", gpus=1, node_selector={"on": "n2"}
    )
    builder.pending("mine", gpus=1, node_selector={"on": "n2"})
    builder.running("other", queue="q", gpus=1, node="n2")
    built, evicting = builder.build(), []
    for _ in range(5):
        decision = answer(built, default_profile())
        built = apply_decisions(built, decision, SECOND)
        evicting.append(any(group.evictions for group in decision.groups))
    assert evicting == [True, False, False, False, False]


def test_next_cluster_shares_unchanged_tasks_and_pod_groups_with_the_previous_one() -> None:
    builder = ClusterBuilder().node("n1", gpus=8).queue("q")
    for name in ("a", "b"):
        builder.pod_group(name, queue="q").running(name, gpus=1, node="n1")
    builder.pod_group("waits", queue="q").pending("waits", gpus=1)
    before = builder.build()
    after = apply_decisions(before, answer(before, default_profile()), SECOND)
    changed = [a.facts.name for a, b in zip(before.tasks, after.tasks, strict=True) if a is not b]
    assert changed == ["waits-0"]
    groups = zip(before.pod_groups, after.pod_groups, strict=True)
    assert [a.facts.name for a, b in groups if a is not b] == ["waits"]
