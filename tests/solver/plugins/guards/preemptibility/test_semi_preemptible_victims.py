"""Semi-preemptible pod groups lose their surplus and never their minimum."""

from collections.abc import Callable

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.verdict import ProtectionScope
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.solver.testing import ClusterBuilder

SEMI = Preemptibility.SEMI_PREEMPTIBLE
Workload = Callable[[ClusterBuilder], object]
"""Adds the running pod group `old` of queue `a` to node n1. Each of its pods has one GPU."""


def flat(count: int, min_member: int) -> Workload:
    return lambda builder: builder.running(
        "old", queue="a", gpus=1, count=count, min_member=min_member, node="n1", preemptibility=SEMI
    )


def parts(required: int | None, **sub_groups: tuple[int, int]) -> Workload:
    """Sub groups by name with their minimum and number of running pods. This many of them are required."""

    def add(builder: ClusterBuilder) -> None:
        builder.pod_group("old", queue="a", preemptibility=SEMI, min_sub_groups=required)
        for name, (minimum, running) in sub_groups.items():
            builder.sub_group("old", name, min_member=minimum)
            builder.running("old", gpus=1, node="n1", count=running, sub_group=name)

    return add


def teams(lead: int, first: int, second: int) -> Workload:
    """A leader, and a subgroup with two teams of two pods. One team is required."""

    def add(builder: ClusterBuilder) -> None:
        builder.pod_group("old", queue="a", preemptibility=SEMI)
        builder.sub_group("old", "lead", min_member=1).sub_group("old", "teams", min_sub_groups=1)
        builder.running("old", gpus=1, node="n1", count=lead, sub_group="lead")
        for name, running in (("team1", first), ("team2", second)):
            builder.sub_group("old", name, parent="teams", min_member=2)
            builder.running("old", gpus=1, node="n1", count=running, sub_group=name)

    return add


def contested_cluster(action: str, old: Workload, room: int) -> ClusterBuilder:
    """Node n1 has one GPU more than `old` uses. One pod of `new` needs that GPU and additional ones.

    For a consolidation, other nodes have the same number of free GPUs.
    """
    trial = ClusterBuilder().node("n1").queue("a")
    old(trial)
    size = len(trial.build().tasks)
    builder = ClusterBuilder().node("n1", gpus=size + 1).queue("b", quota=9)
    builder.queue("a", quota=0 if action == "reclaim" else 9)
    old(builder)
    if action == "consolidation":
        builder.node("n2", gpus=room)
    priority = 90 if action == "preempt" else 50
    return builder.pending("new", queue="b" if action == "reclaim" else "a", gpus=1 + room, priority=priority)


def evictions_of(builder: ClusterBuilder) -> list[tuple[str, str]]:
    """Action and pod number of every eviction."""
    cluster = builder.build()
    return [
        (group.action, cluster.tasks[evict.task].facts.uid.removeprefix("old-"))
        for group in answer(cluster, default_profile()).groups
        for evict in group.evictions
    ]


CASES = {
    "R8.31 the last pod goes": (flat(3, 2), 1, "2"),
    "R8.30 not two of three, with a minimum of two": (flat(3, 2), 2, ""),
    "R8.30 nothing, at the minimum": (flat(2, 2), 1, ""),
    "R8.30 nothing, below the minimum": (flat(3, 4), 1, ""),
    "R8.31 of two pod sets the fuller gives": (parts(None, a=(1, 2), b=(1, 1)), 1, "1"),
    "R8.30 no pod set gives its minimum": (parts(None, a=(1, 2), b=(1, 1)), 2, ""),
    "R8.31 a sub group that is not required goes as a whole": (parts(1, a=(2, 2), b=(2, 2)), 2, "2 3"),
    "R8.30 those that are required stay": (parts(1, a=(2, 2), b=(2, 2)), 3, ""),
    "R8.31 surplus before sub groups": (parts(1, a=(2, 3), b=(2, 2)), 1, "2"),
    "R8.31 one that is below its minimum goes": (parts(1, a=(2, 2), b=(2, 1)), 1, "2"),
    "R8.31 even if it comes first": (parts(1, a=(2, 1), b=(2, 2)), 1, "0"),
    "R8.30 but no more than that": (parts(1, a=(2, 2), b=(2, 1)), 2, ""),
    "R8.30 below the minimum as a whole: no minimum of any part": (
        parts(None, a=(2, 1), b=(1, 2)),
        2,
        "",
    ),
    "R8.30 below the minimum as a whole: no sub group": (parts(2, a=(1, 1), b=(2, 1), c=(2, 1)), 1, ""),
    "R8.31 nested: the team that is not required": (teams(1, 2, 2), 2, "3 4"),
    "R8.30 nested: neither leader nor team": (teams(1, 2, 2), 3, ""),
    "R8.30 nested: without a leader any team may be needed": (teams(0, 2, 2), 1, ""),
}


@pytest.mark.parametrize("action", ["reclaim", "preempt", "consolidation"])
@pytest.mark.parametrize(("old", "room", "expected"), CASES.values(), ids=CASES)
def test_only_surplus_of_a_semi_preemptible_pod_group_is_evicted(
    action: str, old: Workload, room: int, expected: str
) -> None:
    found = evictions_of(contested_cluster(action, old, room))
    assert found == [(action, number) for number in expected.split()]


@pytest.mark.parametrize("action", ["reclaim", "preempt"])
def test_surplus_of_all_levels_is_evictable_r8_31(action: str) -> None:
    """Evicted: a second leader, the third pod of a team, and the other team. A team and a leader stay."""
    found = evictions_of(contested_cluster(action, teams(2, 3, 2), 4))
    assert sorted(found) == [(action, number) for number in ("1", "4", "5", "6")]
    assert evictions_of(contested_cluster(action, teams(2, 3, 2), 5)) == []


@pytest.mark.parametrize("action", ["reclaim", "preempt"])
def test_pod_group_below_its_minimum_loses_the_surplus_of_its_sub_groups_r8_31(action: str) -> None:
    assert evictions_of(contested_cluster(action, parts(None, a=(2, 1), b=(1, 2)), 1)) == [(action, "2")]


def test_preemptible_pod_group_in_its_place_loses_all_pods() -> None:
    """In the same situation a preemptible pod group loses all its pods."""
    builder = contested_cluster(
        "reclaim", lambda b: b.running("old", queue="a", gpus=1, count=2, node="n1"), 1
    )
    assert evictions_of(builder) == [("reclaim", "0"), ("reclaim", "1")]


def test_other_victims_are_found_when_the_minimum_is_in_the_way_r7_45() -> None:
    """The first victim loses its surplus, and the next victim provides the remaining capacity."""
    builder = ClusterBuilder().node("n1", gpus=4).queue("a", quota=0).queue("b", quota=4)
    builder.running("next", queue="a", gpus=1, count=2, min_member=1, node="n1", priority=60)
    flat(2, 1)(builder)
    builder.pending("new", queue="b", gpus=1, count=3)
    assert sorted(evictions_of(builder)) == [("reclaim", "1"), ("reclaim", "next-0"), ("reclaim", "next-1")]


def test_eviction_reports_that_the_minimum_is_protected() -> None:
    decision = answer(contested_cluster("reclaim", flat(3, 2), 1).build(), default_profile())
    (evict,) = (evict for group in decision.groups for evict in group.evictions)
    first = evict.guards[0]
    assert (first.guard, first.scope, first.source) == (
        "preemptibility",
        ProtectionScope.CORE,
        "its own preemptibility",
    )


def test_response_reports_the_minimum_as_protected_from_all_while_running() -> None:
    builder = ClusterBuilder().node("n1", gpus=4).queue("a")
    flat(3, 2)(builder)
    found = answer(builder.build(), default_profile()).protections
    (protection,) = (each for each in found if each.guard == "preemptibility")
    assert protection.actions == BUILT_IN.guarded.names
    assert (protection.scope, protection.until, protection.against) == (ProtectionScope.CORE, None, "")
