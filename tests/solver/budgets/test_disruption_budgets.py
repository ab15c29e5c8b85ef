"""No search disrupts more than budgets allow (R15.1, R15.2, R15.3, R15.4, R15.5, R15.6, R15.11)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, OutcomeKind
from tenure.solver.model.disruption_limits import DisruptionBudgetStatus
from tenure.solver.model.placement import TaskStatus
from tenure.solver.play.next_cluster import apply_decisions
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.facts import NOW
from tenure.terms.durations import SECOND
from tenure.terms.reasons import ReasonCode

SPEED: Final = pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "speedups"])


def run(
    cluster: ClusterBuilder | Cluster,
    *actions: str,
    speedups: tuple[str, ...] = SPEEDUPS,
    fill_back: str = "never",
) -> CycleResult:
    """A cycle with these actions."""
    built = cluster if isinstance(cluster, Cluster) else cluster.build()
    options = replace(CycleOptions(), speedups=speedups, fill_back=fill_back)
    return answer(built, replace(default_profile(), actions=actions, options=options))


def evicted(builder: ClusterBuilder | Cluster, result: CycleResult) -> list[str]:
    """Uids of all disrupted pods."""
    cluster = builder if isinstance(builder, Cluster) else builder.build()
    tasks = cluster.tasks
    return sorted(tasks[step.task].facts.uid for group in result.groups for step in group.evictions)


def waits(
    builder: ClusterBuilder, result: CycleResult
) -> dict[str, tuple[OutcomeKind, ReasonCode, int | None]]:
    """Outcome, reason and end of every pod group that got nothing."""
    groups = builder.build().pod_groups
    return {
        groups[each.pod_group].facts.name: (each.kind, each.reason.code, each.reason.until)
        for each in result.outcomes
        if not (each.bound or each.reserved)
    }


def three_nodes(**budget: object) -> ClusterBuilder:
    """Example E15.1: three nodes with one pod each, all of one budget."""
    builder = ClusterBuilder().queue("q", quota=3)
    builder.disruption_budget("one", 1, **budget)  # type: ignore[arg-type]
    for number, node in enumerate("abc"):
        builder.node(node, gpus=1)
        builder.running(f"d{number}", queue="q", priority=50, node=node, gpus=1, disruption_budgets=["one"])
    builder.pending("u1", queue="q", priority=90, gpus=1)
    return builder.pending("u2", queue="q", priority=90, gpus=1)


@SPEED
def test_e15_1_one_budget_gives_one_victim_and_the_other_preemptor_is_told(speedups: tuple[str, ...]) -> None:
    builder = three_nodes()
    result = run(builder, "preempt", speedups=speedups)
    assert len(evicted(builder, result)) == 1
    assert waits(builder, result) == {"u2": (OutcomeKind.DELAYED, ReasonCode.DISRUPTION_BUDGET, None)}
    assert result.disruption_budgets == (DisruptionBudgetStatus("one", 1, 0, 1, 0),)
    assert result.next_wake_time is None


@SPEED
def test_the_end_of_a_budget_is_told_and_wakes(speedups: tuple[str, ...]) -> None:
    builder, end = three_nodes(next_allowed=NOW + 60 * SECOND), NOW + 60 * SECOND
    result = run(builder, "preempt", speedups=speedups)
    assert waits(builder, result) == {"u2": (OutcomeKind.DELAYED, ReasonCode.DISRUPTION_BUDGET, end)}
    assert result.next_wake_time == end


@SPEED
def test_e15_2_a_scenario_that_takes_too_much_is_trimmed_to_the_node(speedups: tuple[str, ...]) -> None:
    builder = ClusterBuilder().queue("q", quota=8).disruption_budget("one", 1)
    builder.node("n1", gpus=4).node("n2", gpus=4, labels={"zone": "x"})
    builder.pod_group("elastic", queue="q", priority=50, min_member=1)
    builder.running("elastic", node="n2", count=4, gpus=1, disruption_budgets=["one"])
    builder.running("elastic", node="n1", count=4, gpus=1, disruption_budgets=["one"])
    builder.pending("urgent", queue="q", priority=90, gpus=1, node_selector={"zone": "x"})
    result = run(builder, "preempt", speedups=speedups)
    assert evicted(builder, result) == ["elastic-3"]
    assert result.counters.trimmed > 0


@SPEED
def test_e15_4_a_victim_without_budget_is_no_candidate_and_the_next_yields(speedups: tuple[str, ...]) -> None:
    builder = ClusterBuilder().queue("q", quota=8).disruption_budget("none", 0)
    builder.node("n1", gpus=4).node("n2", gpus=4)
    builder.running("v2", queue="q", priority=50, node="n2", gpus=4)
    builder.running("v1", queue="q", priority=40, node="n1", gpus=4, disruption_budgets=["none"])
    builder.pending("p", queue="q", priority=90, gpus=4)
    result = run(builder, "preempt", speedups=speedups)
    assert evicted(builder, result) == ["v2-0"]
    assert not waits(builder, result)


@SPEED
@pytest.mark.parametrize(("allowed", "taken"), [(3, []), (4, ["gang-0", "gang-1", "gang-2", "gang-3"])])
def test_a_gang_needs_all_its_budget_at_once(
    allowed: int, taken: list[str], speedups: tuple[str, ...]
) -> None:
    builder = ClusterBuilder().queue("q", quota=4).node("n", gpus=4).disruption_budget("b", allowed)
    builder.pod_group("gang", queue="q", priority=50, min_member=4)
    builder.running("gang", node="n", count=4, gpus=1, disruption_budgets=["b"])
    builder.pending("p", queue="q", priority=90, gpus=1)
    result = run(builder, "preempt", speedups=speedups)
    assert evicted(builder, result) == taken


@SPEED
@pytest.mark.parametrize("stuck", [0, 3])
def test_a_pod_that_may_not_go_stays_and_others_of_its_pod_group_yield(
    stuck: int, speedups: tuple[str, ...]
) -> None:
    """The last pod goes first, unless its budget holds it; the one that stays is the minimum."""
    builder = ClusterBuilder().queue("q", quota=4).node("n", gpus=4).disruption_budget("none", 0)
    builder.pod_group("elastic", queue="q", priority=50, min_member=1)
    for number in range(4):
        names = ["none"] if number == stuck else []
        builder.running("elastic", node="n", gpus=1, disruption_budgets=names)
    builder.pending("p", queue="q", priority=90, count=3, min_member=3, gpus=1)
    result = run(builder, "preempt", speedups=speedups)
    assert evicted(builder, result) == [f"elastic-{number}" for number in range(4) if number != stuck]


@SPEED
def test_a_gang_is_never_left_below_its_minimum_by_a_trimmed_scenario(speedups: tuple[str, ...]) -> None:
    builder = ClusterBuilder().queue("q", quota=5).disruption_budget("b", 3)
    builder.node("n1", gpus=3, labels={"zone": "x"}).node("n2", gpus=2)
    builder.pod_group("elastic", queue="q", priority=50, min_member=3)
    builder.running("elastic", node="n1", count=3, gpus=1, disruption_budgets=["b"])
    builder.running("elastic", node="n2", count=2, gpus=1, disruption_budgets=["b"])
    builder.pending("p", queue="q", priority=90, gpus=3, node_selector={"zone": "x"})
    result = run(builder, "preempt", speedups=speedups)
    assert evicted(builder, result) == []
    assert waits(builder, result)["p"][1] is ReasonCode.DISRUPTION_BUDGET


@pytest.mark.parametrize("status", ["RUNNING", "BOUND"])
def test_only_running_pods_spend(status: str) -> None:
    builder = ClusterBuilder().queue("q", quota=1).node("n", gpus=1).disruption_budget("none", 0)
    builder.pods(
        "v", TaskStatus[status], queue="q", priority=50, node="n", gpus=1, disruption_budgets=["none"]
    )
    builder.pending("p", queue="q", priority=90, gpus=1)
    result = run(builder, "preempt")
    assert evicted(builder, result) == ([] if status == "RUNNING" else ["v-0"])


def test_a_pod_spends_one_of_each_of_its_budgets() -> None:
    builder = ClusterBuilder().queue("q", quota=1).node("n", gpus=1)
    builder.disruption_budget("full", 5).disruption_budget("empty", 0)
    builder.running("v", queue="q", priority=50, node="n", gpus=1, disruption_budgets=["full", "empty"])
    builder.pending("p", queue="q", priority=90, gpus=1)
    result = run(builder, "preempt")
    assert evicted(builder, result) == []
    assert "disruption budget empty would be exceeded" in result.outcomes[0].reason.detail


def test_a_budget_of_another_queue_is_not_named() -> None:
    builder = reclaim().disruption_budget("b", 0)
    result = run(builder, "reclaim")
    detail = result.outcomes[0].reason.detail
    assert detail == "1 disruption budget of other pod groups would be exceeded"


def test_a_budget_that_is_not_in_the_snapshot_allows_nothing_with_a_warning() -> None:
    builder = ClusterBuilder().queue("q", quota=1).node("n", gpus=1)
    builder.running("v", queue="q", priority=50, node="n", gpus=1, disruption_budgets=["gone"])
    builder.pending("p", queue="q", priority=90, gpus=1)
    result = run(builder, "preempt")
    assert evicted(builder, result) == []
    (warning,) = [each for each in result.warnings if each.code.name == "UNKNOWN_DISRUPTION_BUDGET"]
    assert "1 disruption budget of pods not in the snapshot, such as gone" in warning.detail
    assert [builder.build().pod_groups[index].facts.name for index in warning.pod_groups] == ["v"]


def relocation() -> ClusterBuilder:
    """Two pods share two nodes; moving one frees a node."""
    builder = ClusterBuilder().queue("q", quota=4)
    for number in range(2):
        builder.node(f"n{number}", gpus=2)
        builder.running(
            f"v{number}", queue="q", priority=50, node=f"n{number}", gpus=1, disruption_budgets=["b"]
        )
    return builder.pending("p", queue="q", priority=50, gpus=2)


def reclaim() -> ClusterBuilder:
    """Another queue uses more than its share."""
    builder = ClusterBuilder().node("n", gpus=2).queue("rich", quota=0).queue("poor", quota=2)
    builder.running("v", queue="rich", node="n", gpus=2, priority=50, disruption_budgets=["b"])
    return builder.pending("p", queue="poor", gpus=2, priority=50)


def overrun() -> ClusterBuilder:
    """A pod group is past its expected runtime."""
    builder = ClusterBuilder().node("n", gpus=1).queue("q", quota=1)
    builder.running(
        "v",
        queue="q",
        node="n",
        gpus=1,
        priority=50,
        started_ago="2h",
        expected_runtime="1h",
        disruption_budgets=["b"],
    )
    return builder.pending("p", queue="q", gpus=1, priority=60)


@SPEED
@pytest.mark.parametrize("allowed", [0, 1])
@pytest.mark.parametrize(
    ("action", "cluster"), [("consolidation", relocation), ("reclaim", reclaim), ("requeue", overrun)]
)
def test_every_evicting_action_respects_budgets(
    action: str, cluster: object, allowed: int, speedups: tuple[str, ...]
) -> None:
    builder = cluster().disruption_budget("b", allowed)  # type: ignore[operator]
    result = run(builder, action, speedups=speedups, fill_back="full")
    assert len(evicted(builder, result)) == allowed
    assert bool(waits(builder, result)) is (not allowed)


def test_stale_gangs_are_evicted_as_far_as_allowed_and_later_cycles_go_on() -> None:
    builder = ClusterBuilder().node("n", gpus=3).queue("q", quota=3).disruption_budget("b", 2)
    builder.pod_group("gang", queue="q", min_member=4, stale_ago="1h", staleness_grace_period=60 * SECOND)
    builder.running("gang", node="n", count=3, gpus=1, disruption_budgets=["b"])
    result = run(builder, "stalegangeviction")
    assert len(evicted(builder, result)) == 2
    assert result.disruption_budgets == (DisruptionBudgetStatus("b", 2, 0, 2, 0),)


@pytest.mark.parametrize(("counted", "left"), [((), 0), (("v-0",), 1)], ids=["open", "counted"])
def test_open_evictions_spend_unless_the_budget_counts_them(counted: Sequence[str], left: int) -> None:
    builder = ClusterBuilder().queue("q", quota=2).node("n", gpus=2)
    builder.disruption_budget("b", 1, counted_pods=counted)
    for name in "vw":
        builder.running(name, queue="q", priority=50, node="n", gpus=1, disruption_budgets=["b"])
    builder.pending("first", queue="q", priority=90, gpus=1).pending("second", queue="q", priority=90, gpus=1)
    builder.in_flight("g", beneficiary="first", evicts={"v-0": "n"}, reserves={"first-0": "n"})
    result = run(builder, "preempt")
    assert evicted(builder, result) == ["w-0"][:left]
    (status,) = result.disruption_budgets
    assert (status.in_flight, status.spent, status.left) == (1 - left, left, 0)


@SPEED
@pytest.mark.parametrize("builder", [three_nodes(), relocation().disruption_budget("b", 1)])
def test_budgets_that_allow_everything_change_nothing(
    builder: ClusterBuilder, speedups: tuple[str, ...]
) -> None:
    """Neither decisions, nor reasons, nor work."""
    cluster = builder.build()
    ample = tuple([budget._replace(allowed=9) for budget in cluster.disruption_budgets])
    free = replace(cluster, disruption_budgets=ample)
    none = [replace(task, facts=replace(task.facts, disruption_budgets=())) for task in cluster.tasks]
    tasks = cluster.tasks.next_version()
    for index, task in enumerate(none):
        tasks.put(index, task)
    without = replace(cluster, tasks=tasks, disruption_budgets=())
    actions = ("allocate", "consolidation", "reclaim", "preempt")
    found = run(free, *actions, speedups=speedups, fill_back="full")
    expected = run(without, *actions, speedups=speedups, fill_back="full")
    assert replace(found, disruption_budgets=()) == expected


def test_what_an_override_took_is_owed_in_later_cycles_r15_12() -> None:
    """Of three victims of a budget of one, one is placed again: then one disruption is still owed."""
    builder = ClusterBuilder().queue("lends", quota=4).queue("borrows", quota=0).disruption_budget("b", 1)
    builder.node("n", gpus=3, labels={"zone": "a"}).node("m", gpus=1)
    for number in range(3):
        builder.running(f"v{number}", queue="borrows", node="n", gpus=1, disruption_budgets=["b"])
    builder.pod_group("own", queue="lends", min_member=3)
    builder.pending("own", count=3, gpus=1, node_selector={"zone": "a"})
    options = replace(CycleOptions(), budget_patience=0)
    profile = replace(default_profile(), actions=("allocate", "reclaim"), options=options)
    cluster, found = builder.build(), []
    for _ in range(4):
        result = answer(cluster, profile)
        cluster = apply_decisions(cluster, result, 60 * SECOND)
        (budget,) = cluster.disruption_budgets
        found.append((budget.allowed, budget.owed))
    assert found[0] == (0, 2)
    assert found[-1] == (0, 1)
