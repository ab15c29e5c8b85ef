"""Victims that need not yield are given back before a decision (R14.1, R14.2, R14.4, R14.5, R14.6, R14.9)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.constraints import PodAffinityTerm, TopologySpread
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.verdict import Minimality, VictimSet
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, TaskState, statuses

PROVEN, HEURISTIC = Minimality.PROVEN, Minimality.HEURISTIC
LEAST, NOT_TRIED = Minimality.LEAST, Minimality.NOT_TRIED


def _decide(builder: ClusterBuilder, action: str, mode: str, **options: object) -> CycleResult:
    settings = replace(CycleOptions(), fill_back=mode, victim_choice="inOrder", **options)  # type: ignore[arg-type]
    return answer(builder.build(), replace(default_profile(), actions=(action,), options=settings))


def _evicted(builder: ClusterBuilder, decision: CycleResult) -> list[str]:
    """Uids of the pods that the first decision group disrupts; moved ones end in `moves`."""
    tasks = builder.build().tasks
    return sorted(
        tasks[step.task].facts.uid + " moves" * step.relocating for step in decision.groups[0].evictions
    )


def far_and_near() -> ClusterBuilder:
    """Example E14.1: the surplus that goes first is on a node that the preemptor may not use."""
    builder = ClusterBuilder().queue("q", quota=8)
    builder.node("n1", gpus=4).node("n2", gpus=4, labels={"zone": "x"})
    builder.pod_group("elastic", queue="q", priority=50, min_member=1)
    builder.running("elastic", node="n2", count=4, gpus=1).running("elastic", node="n1", count=4, gpus=1)
    return builder.pending("urgent", queue="q", priority=90, gpus=1, node_selector={"zone": "x"})


def two_and_one() -> ClusterBuilder:
    """Example E14.2: two small pod groups go before a larger one."""
    builder = ClusterBuilder().queue("q", quota=8).node("n1", gpus=4).node("n2", gpus=4)
    builder.running("old", queue="q", priority=50, node="n1", gpus=4, created_ago="3h")
    builder.running("mid", queue="q", priority=50, node="n2", gpus=2, created_ago="2h")
    builder.running("new", queue="q", priority=50, node="n2", gpus=2, created_ago="1h")
    return builder.pending("urgent", queue="q", priority=90, gpus=4)


CASES: Final[dict[str, tuple[Callable[[], ClusterBuilder], str, list[str], VictimSet]]] = {
    "E14.1, never": (
        far_and_near,
        "never",
        ["elastic-3 moves", "elastic-4", "elastic-5", "elastic-6", "elastic-7"],
        VictimSet(NOT_TRIED, 0, 0, 0, excess_gpu_milli=3000),
    ),
    "E14.1, in place": (far_and_near, "inPlace", ["elastic-3"], VictimSet(LEAST, 0, 0, 4)),
    "E14.1, full": (far_and_near, "full", ["elastic-3"], VictimSet(LEAST, 0, 0, 4)),
    "E14.2: minimal is not smallest": (two_and_one, "full", ["mid-0", "new-0"], VictimSet(PROVEN, 0, 0, 0)),
}


@pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "speedups"])
@pytest.mark.parametrize(("cluster", "mode", "evicted", "known"), CASES.values(), ids=CASES)
def test_who_need_not_yield_is_given_back(
    cluster: Callable[[], ClusterBuilder],
    mode: str,
    evicted: list[str],
    known: VictimSet,
    speedups: tuple[str, ...],
) -> None:
    decision = _decide(cluster(), "preempt", mode, speedups=speedups)
    assert _evicted(cluster(), decision) == evicted
    assert decision.groups[0].victim_set == known


def test_limit_of_the_queue_keeps_victims_whose_nodes_are_not_needed() -> None:
    """Not proven: slots on nodes do not show that the limit demands them, and the trials found nothing."""
    builder = ClusterBuilder().queue("q", limit=4).node("n1", gpus=4).node("free", gpus=4)
    builder.running("a", queue="q", priority=40, node="n1", gpus=2)
    builder.running("b", queue="q", priority=50, node="n1", gpus=2)
    builder.pending("urgent", queue="q", priority=90, gpus=4)
    decision = _decide(builder, "preempt", "full")
    assert _evicted(builder, decision) == ["a-0", "b-0"]
    assert decision.groups[0].victim_set == VictimSet(HEURISTIC, 2, 0, 0)


@pytest.mark.parametrize(("mode", "limit", "known"), [("full", 1, (1, 1)), ("inPlace", 64, (0, 2))])
def test_victims_that_were_not_tried_are_counted(mode: str, limit: int, known: tuple[int, int]) -> None:
    builder = ClusterBuilder().queue("q", limit=4).node("n1", gpus=4).node("free", gpus=4)
    builder.running("a", queue="q", priority=40, node="n1", gpus=2)
    builder.running("b", queue="q", priority=50, node="n1", gpus=2)
    builder.pending("urgent", queue="q", priority=90, gpus=4)
    victim_set = _decide(builder, "preempt", mode, max_fill_back_simulations=limit).groups[0].victim_set
    assert victim_set is not None
    assert (victim_set.minimality, victim_set.tried, victim_set.untried) == (HEURISTIC, *known)


def test_what_an_earlier_decision_releases_is_used_before_anybody_is_evicted() -> None:
    builder = ClusterBuilder().queue("q", quota=5).node("n1", gpus=4).node("n2", gpus=1)
    builder.running("big", queue="q", priority=30, node="n1", gpus=4)
    builder.running("small", queue="q", priority=35, node="n2", gpus=1)
    builder.pending("first", queue="q", priority=90, gpus=1).pending("second", queue="q", priority=80, gpus=1)
    decision = _decide(builder, "preempt", "full")
    assert _evicted(builder, decision) == ["big-0"]
    (second,) = decision.groups[1:]
    assert (second.evictions, len(second.reservations), second.victim_set) == ((), 1, None)


@pytest.mark.parametrize(
    ("mode", "moved", "attempts"), [("never", [True], 2), ("inPlace", [], 1), ("full", [], 1)]
)
def test_a_pod_group_that_fits_beside_all_victims_is_placed_before_any_is_tried(
    mode: str, moved: list[bool], attempts: int
) -> None:
    """R14.7. A simulation gives it the node of the victim, the first by name, and moves the victim."""
    builder = ClusterBuilder().queue("q", quota=8).node("n1", gpus=4).node("n2", gpus=4)
    builder.running("old", queue="q", priority=50, node="n1", gpus=2)
    builder.pods("gone", TaskStatus.RELEASING, queue="q", node="n2", gpus=4)
    decision = _decide(builder.pending("urgent", queue="q", priority=90, gpus=4), "preempt", mode)
    (group,) = decision.groups
    assert [step.relocating for step in group.evictions] == moved
    assert (len(group.reservations), decision.counters.placement_attempts) == (1 + len(moved), attempts)


def test_a_pod_group_without_possible_victims_is_not_placed_by_a_search() -> None:
    """R14.7 holds where there are victims: without any, an evicting action has nothing to do (R5.50)."""
    builder = ClusterBuilder().queue("q", quota=8).node("n1", gpus=4)
    decision = _decide(builder.pending("urgent", queue="q", priority=90, gpus=4), "preempt", "full")
    assert decision.groups == ()


def test_only_pods_that_must_move_are_moved_by_a_consolidation() -> None:
    builder = ClusterBuilder().queue("q", quota=8)
    for number in range(3):
        builder.node(f"n{number}", gpus=2)
        builder.running(f"old{number}", queue="q", priority=50, node=f"n{number}", gpus=1)
    builder.pending("wide", queue="q", priority=50, gpus=2)
    decision = _decide(builder, "consolidation", "full")
    assert len(_evicted(builder, decision)) == 1
    assert decision.groups[0].victim_set == VictimSet(LEAST, 0, 0, 0)


def test_beneficiary_counts_once_if_victims_are_put_back_one_by_one_r14_2() -> None:
    """`cpu` takes the place of `y1`, and `r` that of `cpu` beside it. Zone b has three pods of the app then.

    Counted twice in zone a, `cpu` would let `wide` start in zone b beside four of them.
    """
    y, of_y = {"app": "y"}, (("app", "y"),)
    builder = ClusterBuilder().queue("q", quota=5).queue("small", quota=1)
    for node, zone, gpus in (("n0", "b", 2), ("n2", "b", 1), ("n3", "b", 4), ("n4", "a", 2)):
        builder.node(node, gpus=gpus, cpus=16, labels={"zone": zone})
    builder.running("y1", queue="q", priority=50, gpus=2, node="n4", labels=y)
    builder.running("y2", queue="q", priority=10, gpus=2, node="n0", labels=y)
    builder.running("y3", queue="small", priority=50, gpus=1, node="n2", labels=y)
    builder.running("r1", queue="q", priority=10, gpus=1, node="n3")
    builder.running("r2", queue="q", priority=10, gpus=2, node="n3")
    builder.running("y4", queue="small", priority=100, gpus=0, node="n3", labels=y)
    lonely, even = PodAffinityTerm(of_y, "zone"), TopologySpread("zone", max_skew=2, match_labels=of_y)
    builder.pending("cpu", queue="small", priority=90, gpus=0, labels=y, pod_anti_affinity=[lonely])
    builder.pending("wide", queue="q", priority=90, gpus=2, topology_spread=[even])
    cluster = builder.build()
    decision = answer(cluster, default_profile())
    found = statuses(cluster, decision)
    assert _evicted(builder, decision) == ["r2-0 moves", "y1-0 moves"]
    assert (found["cpu-0"], found["wide-0"]) == (
        TaskState(TaskStatus.PIPELINED, "n4"),
        TaskState(TaskStatus.PIPELINED, "n0"),
    )
    assert found["y2-0"].status is TaskStatus.RELEASING


def test_the_best_solution_so_far_is_kept_if_the_cycle_must_end() -> None:
    """Whenever the stop comes, the decision is none, or evicts enough."""
    cluster, sizes = far_and_near().build(), set[int]()
    profile = replace(default_profile(), actions=("preempt",))
    for steps in range(1, 200):
        calls = iter(range(steps))
        decision = answer(cluster, profile, lambda calls=calls: next(calls, None) is None)  # type: ignore[misc]
        for group in decision.groups:
            assert len(group.reservations) >= 1
            sizes.add(len(group.evictions))
    assert sizes <= {1, 5}
    assert 1 in sizes
