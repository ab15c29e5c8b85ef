"""The core of a pod group. A victim that keeps its core loses all its surplus."""

from collections.abc import Mapping

import pytest
from tenure.solver.framework.session import Session
from tenure.solver.model.placement import TaskStatus
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.pod_group_lists import SortedPodGroups
from tenure.solver.search.victim_batches import victim_batches
from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.options import PodOptions

from tests.solver.sessions import open_session

Parts = Mapping[str, tuple[int, int]]
"""Minimum and running pods by sub group."""


def cluster() -> ClusterBuilder:
    return ClusterBuilder().node("n", gpus=64).queue("q")


def flat(min_member: int, *pods: PodOptions) -> ClusterBuilder:
    """A pod group of running pods without sub groups."""
    builder = cluster().pod_group("j", queue="q", min_member=min_member)
    for pod in pods:
        builder.running("j", node="n", **pod)
    return builder


def with_sub_groups(parts: Parts, min_sub_groups: int | None = None) -> ClusterBuilder:
    """A pod group with sub groups directly below it. Pods are numbered across sub groups."""
    builder = cluster()
    if min_sub_groups is None:
        builder.pod_group("j", queue="q")
    else:
        builder.pod_group("j", queue="q", min_sub_groups=min_sub_groups)
    for name, (minimum, running) in parts.items():
        builder.sub_group("j", name, min_member=minimum).running("j", node="n", count=running, sub_group=name)
    return builder


def nested(required: int | None, lead: int, first: int, second: int) -> ClusterBuilder:
    """`lead` pods, and a subgroup of two teams with two pods each. `required`: how many teams must run."""
    builder = cluster().pod_group("j", queue="q").sub_group("j", "lead", min_member=1)
    builder.sub_group("j", "teams", min_sub_groups=required)
    builder.running("j", node="n", count=lead, sub_group="lead")
    for name, running in (("team1", first), ("team2", second)):
        builder.sub_group("j", name, parent="teams", min_member=2)
        builder.running("j", node="n", count=running, sub_group=name)
    return builder


CORES = {
    "R8.30 the first pods up to the minimum": (flat(2, {}, {}, {}), "0 1"),
    "R8.30 all, at the minimum": (flat(2, {}, {}), "0 1"),
    "R8.30 none, with a minimum of 0": (flat(0, {}, {}), ""),
    "R8.35 in task order: leaders": (flat(1, {}, {"leader": True}), "1"),
    "R8.35 in task order: higher task priorities": (
        flat(2, {"task_priority": 1}, {"task_priority": 2}, {"task_priority": 3}),
        "1 2",
    ),
    "R8.35 who waits is not in it, whatever its place": (
        flat(1, {}, {}).pending("j", leader=True).pods("j", TaskStatus.RELEASING, node="n", leader=True),
        "0",
    ),
    "R8.30 below the minimum: all": (flat(4, {}, {}), "0 1"),
    "R8.30 of every pod set its own": (with_sub_groups({"a": (1, 2), "b": (2, 3)}), "0 2 3"),
    "R8.30 one of two sub groups: the first": (with_sub_groups({"a": (1, 1), "b": (1, 1)}, 1), "0"),
    "R8.30 one of two sub groups: not its surplus": (with_sub_groups({"a": (1, 2), "b": (1, 1)}, 1), "0"),
    "R8.30 two of three sub groups": (with_sub_groups({"a": (1, 1), "b": (2, 2), "c": (1, 1)}, 2), "0 1 2"),
    "R8.30 a sub group below its own minimum is of no use": (
        with_sub_groups({"a": (2, 1), "b": (2, 2)}, 1),
        "1 2",
    ),
    "R8.30 a sub group that is met by nothing is enough": (
        with_sub_groups({"a": (1, 1), "b": (0, 1)}, 1),
        "",
    ),
    "R8.30 none of the sub groups required": (with_sub_groups({"a": (1, 1), "b": (1, 1)}, 0), ""),
    "R8.30 below the minimum: of every pod set its own, for it may be needed": (
        with_sub_groups({"a": (2, 1), "b": (1, 2), "c": (1, 0)}),
        "0 1",
    ),
    "R8.30 nested: all teams": (nested(None, 1, 2, 2), "0 1 2 3 4"),
    "R8.30 nested: one team of two": (nested(1, 1, 2, 2), "0 1 2"),
    "R8.30 nested: the team that is whole": (nested(1, 1, 1, 2), "0 2 3"),
    "R8.30 nested: surplus at every level": (nested(1, 2, 3, 3), "0 2 3"),
    "R8.30 nested, without its leader: every team may be needed": (nested(1, 0, 2, 2), "0 1 2 3"),
}


@pytest.mark.parametrize(("builder", "expected"), CORES.values(), ids=CORES)
def test_core_is_the_pods_of_the_minimum(builder: ClusterBuilder, expected: str) -> None:
    session = open_session(builder.build())
    assert session.cores.current(0) == _tasks(expected)


@pytest.mark.parametrize("builder", [builder for builder, _ in CORES.values()], ids=CORES)
def test_victim_with_protected_core_loses_all_its_surplus_r8_31(builder: ClusterBuilder) -> None:
    """Quotas count the same pods that evictions leave running."""
    session = open_session(builder.build())
    active = {t.index for t in session.cluster.tasks if t.placement.status.is_active_allocated}
    assert _surplus_batches(session) == active - session.cores.current(0)


SHIFTS = {
    "R8.30 what is missing of the minimum": (flat(2, {}).pending("j", count=2), "1", "1", ""),
    "R8.30 surplus changes nothing": (flat(1, {}).pending("j", count=2), "1 2", "", ""),
    "R8.30 the minimum at once": (flat(2).pending("j", count=3), "0 1", "0 1", ""),
    "R8.35 a leader that starts late takes the place of another": (
        flat(1, {}, {}).pending("j", leader=True),
        "2",
        "2",
        "0",
    ),
    "R3.22 of two sub groups that start at once one is needed": (
        with_sub_groups({"a": (1, 1), "b": (1, 0), "c": (1, 0)}, 2)
        .pending("j", sub_group="b")
        .pending("j", sub_group="c"),
        "1 2",
        "1",
        "",
    ),
    "R8.30 a sub group that is whole again frees the one that stood in": (
        with_sub_groups({"a": (1, 0), "b": (2, 2)}, 1).pending("j", sub_group="a"),
        "2",
        "2",
        "0 1",
    ),
}


@pytest.mark.parametrize(("builder", "asked", "entering", "leaving"), SHIFTS.values(), ids=SHIFTS)
def test_core_change_is_the_same_before_and_after_placement(
    builder: ClusterBuilder, asked: str, entering: str, leaving: str
) -> None:
    session = open_session(builder.build())
    expected = (_tasks(entering), _tasks(leaving))
    assert session.cores.shift(0, _tasks(asked)) == expected
    with session.statement() as statement:
        for task in sorted(_tasks(asked)):
            statement.allocate(task, 0)
        assert session.cores.shift(0, _tasks(asked)) == expected


def _tasks(numbers: str) -> frozenset[int]:
    return frozenset(int(number) for number in numbers.split())


def _surplus_batches(session: Session) -> set[int]:
    """Batches that the victim order takes from the pod group when a guard protects its core."""
    gangs = GangPlanner(session)
    order = victim_batches(
        session,
        gangs,
        SortedPodGroups(session, gangs).victims,
        [0],
        lambda victim: True,
        lambda victim: True,
    )
    found: set[int] = set()
    while (batch := order.pop()) is not None:
        found.update(batch.tasks)
    return found
