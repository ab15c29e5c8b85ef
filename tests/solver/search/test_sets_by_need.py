"""Sets of victims by need compete with the first one in victim order (semantics R14.8, R14.18 to R14.21)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.verdict import Minimality
from tenure.solver.plugin_api.profile import SPEEDUPS, PluginConfig
from tenure.solver.registry import default_profile
from tenure.solver.search.search import CHECKS_PART, MAX_CHECKS, Budget
from tenure.solver.testing import ClusterBuilder


def _decide(
    builder: ClusterBuilder,
    action: str,
    *plugins: str,
    speedups: tuple[str, ...] = SPEEDUPS,
    **options: object,
) -> CycleResult:
    default = default_profile()
    changed = replace(default.options, speedups=speedups, **options)  # type: ignore[arg-type]
    configs = (*default.plugins, *map(PluginConfig, plugins))
    return answer(builder.build(), replace(default, actions=(action,), plugins=configs, options=changed))


def _victims(builder: ClusterBuilder, decision: CycleResult) -> list[str]:
    tasks = builder.build().tasks
    return sorted(tasks[step.task].facts.uid for step in decision.groups[0].evictions)


def gang_or_pod() -> ClusterBuilder:
    """A gang of 32 GPUs started a minute later than a pod of one."""
    builder = ClusterBuilder().queue("q", quota=40)
    for number in range(5):
        builder.node(f"n{number}", gpus=8)
    builder.running("small", queue="q", priority=50, node="n4", gpus=1, created_ago="61m")
    builder.running("other", queue="q", priority=90, node="n4", gpus=7)
    builder.pod_group("big", queue="q", priority=50, min_member=4, created_ago="60m")
    for number in range(4):
        builder.running("big", node=f"n{number}", gpus=8)
    return builder.pending("urgent", queue="q", priority=80, gpus=1)


def priority_first() -> ClusterBuilder:
    """One pod of a higher priority would do, and two of a lower one."""
    builder = ClusterBuilder().queue("q", quota=8).node("n1", gpus=4).node("n2", gpus=4)
    builder.running("high", queue="q", priority=60, node="n1", gpus=4)
    for name in ("low-a", "low-b"):
        builder.running(name, queue="q", priority=50, node="n2", gpus=2)
    return builder.pending("urgent", queue="q", priority=90, gpus=4)


def guarantee() -> ClusterBuilder:
    """The newest one of the queue above its share would leave it one GPU of its quota of seven."""
    builder = ClusterBuilder().queue("lent", quota=7).queue("mine", quota=1)
    builder.node("n1", gpus=4).node("n2", gpus=4)
    builder.running("small", queue="lent", node="n1", gpus=1, created_ago="9h")
    builder.running("gang", queue="lent", node="n1", gpus=3, created_ago="1h", min_member=2)
    builder.running("gang", node="n2", gpus=4)
    return builder.pending("new", queue="mine", gpus=1)


def other_queue() -> ClusterBuilder:
    """A gang of three of the queue furthest above its share, or a pod of another one beyond its minimum."""
    builder = ClusterBuilder().node("n1", gpus=8).queue("near", quota=1).queue("far", quota=2)
    builder.queue("mine", quota=5)
    builder.running("elastic", queue="near", node="n1", gpus=1, count=3, min_member=1, created_ago="7h")
    builder.running("old", queue="far", node="n1", gpus=1, count=2, min_member=2, created_ago="2h")
    builder.running("gang", queue="far", node="n1", gpus=1, count=3, min_member=3, created_ago="1h")
    return builder.pending("new", queue="mine", gpus=1)


def two_nodes_of_gangs() -> ClusterBuilder:
    """Two slots: two pods of one GPU on different nodes, or gangs whose pods fill these nodes."""
    builder = ClusterBuilder().queue("q", quota=16)
    for node in ("n1", "n2"):
        builder.node(node, gpus=4)
    builder.pod_group("gang", queue="q", priority=50, min_member=2, created_ago="1h")
    for node in ("n1", "n2"):
        builder.running("gang", node=node, gpus=3)
        builder.running(f"single-{node}", queue="q", priority=50, node=node, gpus=1, created_ago="5h")
    return builder.pending("urgent", queue="q", priority=90, count=2, gpus=1)


def gang_or_surplus(surplus_ago: str, gang_name: str = "gang") -> ClusterBuilder:
    """A gang of two that started last, or two pods beyond a minimum that run since then."""
    builder = ClusterBuilder().node("n1", gpus=5).queue("q", quota=5)
    builder.running("elastic", queue="q", node="n1", gpus=1, count=3, min_member=1, started_ago=surplus_ago)
    builder.running(gang_name, queue="q", node="n1", gpus=1, count=2, min_member=2, started_ago="10m")
    return builder.pending("urgent", queue="q", priority=90, gpus=2)


def equal_surplus() -> ClusterBuilder:
    """The gang ran for as much GPU time, and comes first by name."""
    return gang_or_surplus("10m", "a-gang")


def surplus_of_minutes() -> ClusterBuilder:
    """Less than a GPU hour in either set, in the gang half as much."""
    return gang_or_surplus("20m")


def shares_or_gang() -> ClusterBuilder:
    """Two pods that share the only device of a node, or a gang of four that started last."""
    builder = ClusterBuilder().queue("q", quota=5).node("n1", gpus=1).node("n2", gpus=4)
    for name in ("a", "b"):
        builder.running(name, queue="q", node="n1", gpus=0.3, gpu_groups=["n1/gpu-0"], created_ago="9h")
    builder.running("gang", queue="q", node="n2", gpus=1, count=4, min_member=4, created_ago="1h")
    return builder.pending("urgent", queue="q", priority=90, gpus=1)


def large_behind_small() -> ClusterBuilder:
    """Five GPUs: of eight pods of one GPU, or of the one with four that started first, and one of them."""
    builder = ClusterBuilder().queue("q", quota=12).node("n1", gpus=12)
    for number in range(8):
        builder.running(f"small{number}", queue="q", node="n1", gpus=1, created_ago=f"{number + 1}h")
    builder.running("large", queue="q", node="n1", gpus=4, created_ago="90h")
    return builder.pending("urgent", queue="q", priority=90, gpus=5)


CASES: Final[dict[str, tuple[Callable[[], ClusterBuilder], str, list[str], list[str]]]] = {
    "one pod of a GPU for a GPU": (gang_or_pod, "preempt", [f"big-{n}" for n in range(4)], ["small-0"]),
    "the lower priority first": (priority_first, "preempt", ["low-a-0", "low-b-0"], ["low-a-0", "low-b-0"]),
    "no queue below its quota": (guarantee, "reclaim", ["gang-0", "gang-1"], ["small-0"]),
    "one pod of another queue": (other_queue, "reclaim", [f"gang-{n}" for n in range(3)], ["elastic-2"]),
    "one pod on each of two nodes": (
        two_nodes_of_gangs,
        "preempt",
        ["gang-0", "gang-1"],
        ["single-n1-0", "single-n2-0"],
    ),
    "all pods that share a device": (
        shares_or_gang,
        "preempt",
        [f"gang-{n}" for n in range(4)],
        ["a-0", "b-0"],
    ),
    "a large pod that comes after small ones": (
        large_behind_small,
        "preempt",
        [f"small{n}-0" for n in range(5)],
        ["large-0", "small0-0"],
    ),
    "GPU time before a minimum": (
        surplus_of_minutes,
        "preempt",
        ["elastic-1", "elastic-2"],
        ["gang-0", "gang-1"],
    ),
    "surplus of no more GPU time": (
        equal_surplus,
        "preempt",
        ["elastic-1", "elastic-2"],
        ["elastic-1", "elastic-2"],
    ),
}


@pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "speedups"])
@pytest.mark.parametrize(("cluster", "action", "in_order", "least"), CASES.values(), ids=CASES)
def test_the_set_of_least_harm_is_taken_or_the_first_in_order_r14_18(
    cluster: Callable[[], ClusterBuilder],
    action: str,
    in_order: list[str],
    least: list[str],
    speedups: tuple[str, ...],
) -> None:
    first = _decide(cluster(), action, speedups=speedups, victim_choice="inOrder")
    assert _victims(cluster(), first) == in_order
    best = _decide(cluster(), action, speedups=speedups)
    assert _victims(cluster(), best) == least


def two_borrowers(**written: int) -> ClusterBuilder:
    """Two queues without quota borrow four GPUs each of one that wants four; one of them writes something."""
    builder = ClusterBuilder().node("n", gpus=8).queue("lends", quota=8)
    builder.queue("left", quota=0).queue("right", quota=0)
    for number in range(4):
        builder.running(f"left-{number}", queue="left", node="n", gpus=1, **written)  # type: ignore[arg-type]
        builder.running(f"right-{number}", queue="right", node="n", gpus=1)
    return builder.pending("owner", queue="lends", gpus=1, count=4)


@pytest.mark.parametrize(
    "written",
    [{}, {"priority": 90}, {"eviction_cost": 2**30}, {"priority": 90, "eviction_cost": 2**30}],
    ids=["nothing", "priority", "declared cost", "both"],
)
def test_what_a_queue_writes_gives_no_more_of_its_loss_to_another_one_r14_8(written: dict[str, int]) -> None:
    builder = two_borrowers(**written)
    victims = _victims(builder, _decide(builder, "reclaim", "evictioncost"))
    assert [victim.split("-")[0] for victim in victims] == ["left", "left", "right", "right"]


@pytest.mark.parametrize(
    "shield", [{"priority": 90}, {"eviction_cost": 2**30}], ids=["priority", "declared cost"]
)
def test_what_one_queue_writes_does_not_make_another_one_yield_r14_8(shield: dict[str, int]) -> None:
    """The queue further above its share yields before and after its owner protects its pods."""
    for written in ({}, shield):
        builder = ClusterBuilder().node("n", gpus=6).queue("far", quota=0).queue("near", quota=0)
        builder.queue("mine", quota=2)
        for number in range(4):
            builder.running(f"far-{number}", queue="far", node="n", gpus=1, started_ago="1h", **written)
        for number in range(2):
            builder.running(f"near-{number}", queue="near", node="n", gpus=1, started_ago="1h")
        decision = _decide(builder.pending("new", queue="mine", gpus=1), "reclaim", "evictioncost")
        assert [victim[:3] for victim in _victims(builder, decision)] == ["far"]


def test_a_search_leaves_looks_to_the_next_ones_r14_18() -> None:
    """A job that takes gangs on thousands of nodes, then one that takes a gang or a single pod."""
    nodes, gangs = 4_096, 128
    builder, size = ClusterBuilder().queue("q", quota=10 * nodes), 8 * nodes // gangs
    for node in range(nodes):
        builder.node(f"n{node}", gpus=8)
    for gang in range(gangs):
        builder.pod_group(f"g{gang}", queue="q", priority=50, min_member=size, created_ago=f"{gang + 1}h")
        for pod in range(size):
            builder.running(f"g{gang}", node=f"n{(gang * size + pod) % nodes}", gpus=1)
    builder.pending("large", queue="q", priority=90, gpus=1, count=5 * size)
    builder.node("last", gpus=4, labels={"is": "last"})
    builder.running("single", queue="q", priority=70, node="last", gpus=1, created_ago="9h")
    builder.running(
        "gang", queue="q", priority=70, node="last", gpus=1, count=3, min_member=3, created_ago="1h"
    )
    builder.pending("small", queue="q", priority=80, gpus=1, node_selector={"is": "last"})
    decision = _decide(builder, "preempt")
    assert len(decision.groups[0].evictions) == 5 * size
    tasks = builder.build().tasks
    assert [tasks[step.task].facts.uid for step in decision.groups[1].evictions] == ["single-0"]


def test_no_other_set_is_looked_for_where_the_first_is_surely_the_least_r14_19() -> None:
    builder = ClusterBuilder().queue("q", quota=8).node("n", gpus=8)
    for number in range(8):
        builder.running(f"low-{number}", queue="q", priority=50, node="n", gpus=1)
    decision = _decide(builder.pending("urgent", queue="q", priority=90, gpus=1), "preempt")
    assert len(decision.groups[0].evictions) == 1
    assert (decision.counters.simulated, decision.counters.victims_considered) == (1, 1)


def test_of_a_gang_that_moves_only_the_pods_in_the_way_move_r14_21() -> None:
    """Only the first node will do, which holds a gang of five. One pod of it moves, and any other might."""
    builder = ClusterBuilder().queue("q", quota=11).node("n1", gpus=5, labels={"first": "yes"})
    builder.node("n2", gpus=5).pod_group("gang", queue="q", priority=40, min_member=5)
    builder.running("gang", node="n1", gpus=1, count=5)
    builder.pending("job", queue="q", priority=50, gpus=1, node_selector={"first": "yes"})
    (group,) = _decide(builder, "consolidation").groups
    assert [step.relocating for step in group.evictions] == [True]


def test_a_moved_pod_that_might_have_stayed_is_not_called_needed_r14_20() -> None:
    """Two pods of a gang of three move; another one might have moved instead."""
    builder = ClusterBuilder().queue("q", quota=11).node("n1", gpus=3, labels={"first": "yes"})
    builder.node("n2", gpus=3).pod_group("gang", queue="q", priority=40, min_member=3)
    builder.running("gang", node="n1", gpus=1, count=3)
    builder.pending("job", queue="q", priority=50, gpus=2, node_selector={"first": "yes"})
    (group,) = _decide(builder, "consolidation", victim_choice="inOrder").groups
    assert len(group.evictions) == 2
    assert group.victim_set is not None
    assert group.victim_set.minimality is Minimality.HEURISTIC


def test_each_pod_group_has_a_part_of_the_looks_that_are_left_r14_18() -> None:
    budget = Budget(10, 10)
    for left in (MAX_CHECKS, MAX_CHECKS - MAX_CHECKS // CHECKS_PART):
        budget.start()
        looks = 0
        while budget.has_checks:
            budget.check()
            looks += 1
        assert looks == left // CHECKS_PART


def scattered(others: int = 1) -> ClusterBuilder:
    """Two nodes of four GPUs are half free; the pods of a gang on them fit elsewhere."""
    builder = ClusterBuilder().queue("q", quota=16)
    for node in ("n1", "n2", "n3"):
        builder.node(node, gpus=4)
    builder.pod_group("gang", queue="q", priority=50, min_member=4)
    for node in ("n1", "n1", "n2", "n3"):
        builder.running("gang", node=node, gpus=1)
    builder.running("firm", queue="q", priority=50, node="n3", gpus=others)
    return builder.pending("job", queue="q", priority=50, count=2, gpus=3)


@pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "speedups"])
def test_consolidation_moves_few_pods_and_leaves_the_others_of_a_gang_r6_39(
    speedups: tuple[str, ...],
) -> None:
    builder = scattered()
    (group,) = _decide(builder, "consolidation", speedups=speedups).groups
    assert len(group.evictions) == 1
    assert group.evictions[0].relocating


def test_few_moves_need_a_place_for_each_pod_r6_39() -> None:
    assert _decide(scattered(others=3), "consolidation").groups == ()


def elastic_gang() -> ClusterBuilder:
    """Two pods of a gang of four are its minimum, on other nodes than one of the others."""
    builder = ClusterBuilder().queue("q", quota=32)
    for node in ("n1", "n2", "n3"):
        builder.node(node, gpus=4)
    builder.pod_group("g", queue="q", priority=50, min_member=2)
    for node, gpus in (("n1", 2), ("n2", 4), ("n3", 1), ("n1", 2)):
        builder.running("g", node=node, gpus=gpus)
    builder.running("firm", queue="q", priority=90, node="n3", gpus=3)
    return builder.pending("urgent", queue="q", priority=80, gpus=4, count=2)


def test_sets_by_need_leave_a_gang_its_minimum_or_nothing_r14_18() -> None:
    """One pod of the gang would be enough beside its core, but could not run alone."""
    builder = elastic_gang()
    assert _victims(builder, _decide(builder, "preempt")) == ["g-0", "g-1", "g-2", "g-3"]


def sibling_queues() -> ClusterBuilder:
    """Two queues of a department could lose a GPU or two, but not both what they would have to."""
    builder = ClusterBuilder().node("n1", gpus=3).node("n2", gpus=3).node("n3", gpus=2).node("n4", gpus=8)
    builder.queue("dep", quota=3).queue("a", parent="dep", quota=0).queue("b", parent="dep", quota=0)
    builder.queue("other", quota=0).queue("mine", quota=5)
    builder.running("a1", queue="a", node="n1", gpus=1).running("b1", queue="b", node="n1", gpus=2)
    builder.running("a2", queue="a", node="n3", gpus=1).running("b2", queue="b", node="n3", gpus=1)
    for number in range(11):
        node = "n4" if number < 8 else "n2"
        builder.running(f"other-{number:02}", queue="other", node=node, gpus=1, started_ago="9h")
    return builder.pending("new", queue="mine", gpus=3)


def test_losses_of_queues_below_one_guarantee_add_up_r14_8() -> None:
    builder = sibling_queues()
    assert {victim[:5] for victim in _victims(builder, _decide(builder, "reclaim"))} == {"other"}


@pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "speedups"])
def test_equal_pods_of_a_gang_do_not_change_places_r5_67(speedups: tuple[str, ...]) -> None:
    """Two pods of three make way; none of them moves to a node that another one leaves."""
    builder = ClusterBuilder().queue("q", quota=24)
    for number in range(4):
        builder.node(f"n{number}", gpus=4)
    builder.pod_group("gang", queue="q", priority=50, min_member=3)
    for number in range(3):
        builder.running("gang", node=f"n{number}", gpus=2)
    builder.pending("job", queue="q", priority=50, count=2, gpus=4)
    decision = _decide(builder, "consolidation", speedups=speedups, victim_choice="inOrder")
    (group,) = decision.groups
    moved, tasks = {step.task for step in group.evictions}, builder.build().tasks
    targets = {step.node for step in group.reservations if step.task in moved}
    assert targets
    assert targets.isdisjoint({tasks[task].placement.node for task in moved})
