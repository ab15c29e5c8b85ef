"""Several sets of victims are compared, and the least disruptive one is taken (semantics R14.8)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.verdict import OtherSet, VictimMeasure
from tenure.solver.plugin_api.profile import SPEEDUPS, PluginConfig
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder

from tests.solver.search.test_fill_back import far_and_near, two_and_one


def _decide(
    builder: ClusterBuilder, action: str, most: int, speedups: tuple[str, ...], mode: str = "full"
) -> CycleResult:
    default = default_profile()
    options = replace(
        default.options,
        victim_choice="inOrder",
        victim_alternatives=most,
        speedups=speedups,
        fill_back=mode,
    )
    plugins = (*default.plugins, PluginConfig("evictioncost"))
    return answer(builder.build(), replace(default, actions=(action,), plugins=plugins, options=options))


def _victims(builder: ClusterBuilder, decision: CycleResult) -> list[str]:
    tasks = builder.build().tasks
    return sorted(tasks[step.task].facts.uid for step in decision.groups[0].evictions)


def by_cost() -> ClusterBuilder:
    """Costs are in one class; the newest one started last."""
    builder = ClusterBuilder().queue("q", quota=2).node("n1", gpus=1).node("n2", gpus=1)
    builder.running("old", queue="q", priority=50, node="n1", gpus=1, created_ago="3h", checkpoint_ago="46m")
    builder.running("new", queue="q", priority=50, node="n2", gpus=1, created_ago="1h")
    return builder.pending("urgent", queue="q", priority=90, gpus=1)


def by_priority() -> ClusterBuilder:
    """One pod group of a higher priority would do, and two of a lower one."""
    builder = ClusterBuilder().queue("q", quota=8).node("n1", gpus=4).node("n2", gpus=4)
    builder.running("high", queue="q", priority=60, node="n1", gpus=4)
    for name in ("low-a", "low-b"):
        builder.running(name, queue="q", priority=50, node="n2", gpus=2)
    return builder.pending("urgent", queue="q", priority=90, gpus=4)


def two_queues() -> ClusterBuilder:
    """Two victims of the queue that is furthest above its share, or one of another queue."""
    builder = ClusterBuilder().node("n1", gpus=4).node("n2", gpus=4).queue("mine", quota=4)
    builder.queue("far", quota=0, priority=50).queue("near", quota=4, priority=200)
    for name in ("far-a", "far-b"):
        builder.running(name, queue="far", node="n1", gpus=2)
    builder.running("near-a", queue="near", node="n2", gpus=4)
    return builder.pending("new", queue="mine", gpus=4)


def gang() -> ClusterBuilder:
    """The pods of a gang need two nodes; victims of the first pod are recorded."""
    builder = ClusterBuilder().queue("q", quota=16)
    for node in ("n1", "n2", "n3"):
        builder.node(node, gpus=4)
    builder.running("old", queue="q", priority=50, node="n1", gpus=4, created_ago="5h")
    for number in (2, 3):
        for name in ("a", "b"):
            builder.running(f"{name}{number}", queue="q", priority=50, node=f"n{number}", gpus=2)
    return builder.pending("urgent", queue="q", priority=90, count=2, gpus=4)


PAIR: Final = OtherSet(2, 4 * 3_600_000, (0, 1), VictimMeasure.PODS)
"""Pods `mid-0` and `new-0`."""
CASES: Final[dict[str, tuple[Callable[[], ClusterBuilder], str, int, list[str], OtherSet | None]]] = {
    "E14.2, one": (two_and_one, "preempt", 1, ["mid-0", "new-0"], None),
    "E14.2, two: the larger one alone": (two_and_one, "preempt", 2, ["old-0"], PAIR),
    "E14.2, more than there are": (two_and_one, "preempt", 9, ["old-0"], PAIR),
    "E14.1: the only one": (far_and_near, "preempt", 3, ["elastic-3"], None),
    "equal numbers of pods: the newer one": (
        by_cost,
        "preempt",
        2,
        ["new-0"],
        OtherSet(1, 2_760_000, (1,), VictimMeasure.NAMES),
    ),
    "preempt: the lower priority first": (
        by_priority,
        "preempt",
        2,
        ["low-a-0", "low-b-0"],
        OtherSet(1, 4 * 3_600_000, (0,), VictimMeasure.PRIORITY),
    ),
    "reclaim: of no other queue than the first one": (two_queues, "reclaim", 3, ["far-a-0", "far-b-0"], None),
}


@pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "speedups"])
@pytest.mark.parametrize(("cluster", "action", "most", "victims", "next_best"), CASES.values(), ids=CASES)
def test_least_disruptive_of_the_first_sets_is_taken_r14_8(
    cluster: Callable[[], ClusterBuilder],
    action: str,
    most: int,
    victims: list[str],
    next_best: OtherSet | None,
    speedups: tuple[str, ...],
) -> None:
    decision = _decide(cluster(), action, most, speedups)
    assert _victims(cluster(), decision) == victims
    known = decision.groups[0].victim_set
    assert known is not None
    assert known.next_best == next_best


@pytest.mark.parametrize("mode", ["never", "full"])
@pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "speedups"])
def test_gang_gets_a_set_that_disrupts_no_more_pods(mode: str, speedups: tuple[str, ...]) -> None:
    first, best = (_decide(gang(), "preempt", most, speedups, mode) for most in (1, 5))
    assert len(_victims(gang(), best)) <= len(_victims(gang(), first))


def test_simulations_of_other_sets_count_for_the_budget() -> None:
    default = default_profile()
    options = replace(
        default.options, victim_choice="inOrder", victim_alternatives=9, max_simulations_per_action=1
    )
    decision = answer(two_and_one().build(), replace(default, actions=("preempt",), options=options))
    assert decision.counters.simulated == 1
    assert _victims(two_and_one(), decision) == ["mid-0", "new-0"]
