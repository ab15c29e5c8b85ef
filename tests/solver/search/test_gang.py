"""Tasks of a pod group that are placed next, and whether the pod group is ready or satisfied."""

from collections.abc import Callable

import pytest
from tenure.solver.model.placement import TaskStatus
from tenure.solver.search.gang import GangPlanner
from tenure.solver.testing import ClusterBuilder

from tests.solver.sessions import open_session

Parts = dict[str, tuple[int, int, int]]
"""Minimum, running and pending pods by sub group."""


def gangs(builder: ClusterBuilder) -> GangPlanner:
    return GangPlanner(open_session(builder.build()))


def flat(running: int, pending: int, min_member: int | None = None, gated: int = 0) -> ClusterBuilder:
    """A pod group without sub groups."""
    builder = ClusterBuilder().node("n").queue("q")
    builder.pod_group("job", queue="q", min_member=running + pending if min_member is None else min_member)
    builder.running("job", node="n", count=running).pending("job", count=pending)
    return builder.pods("job", TaskStatus.GATED, count=gated)


def with_sub_groups(parts: Parts, min_sub_groups: int | None = None) -> ClusterBuilder:
    """A pod group with sub groups directly below it. Pods are numbered across sub groups."""
    builder = ClusterBuilder().node("n").queue("q")
    if min_sub_groups is None:
        builder.pod_group("job", queue="q")
    else:
        builder.pod_group("job", queue="q", min_sub_groups=min_sub_groups)
    for name, (minimum, running, pending) in parts.items():
        builder.sub_group("job", name, min_member=minimum)
        builder.running("job", node="n", count=running, sub_group=name)
        builder.pending("job", count=pending, sub_group=name)
    return builder


NEXT = {
    "R3.20 the core at once": (flat(0, 3), "0 1 2"),
    "R3.20 the core without surplus": (flat(0, 3, 2), "0 1"),
    "R3.20 what is missing of the core": (flat(1, 2, 2), "1"),
    "R3.20 surplus one at a time": (flat(2, 2, 2), "2"),
    "R3.24 minimum 1 of 3": (flat(0, 3, 1), "0"),
    "R3.20 nothing pending": (flat(2, 0, 1), ""),
    "R3.21 fewer than are missing": (flat(0, 1, 3), "0"),
    "R3.20 a minimum of 0 is satisfied: one at a time": (flat(0, 2, 0), "0"),
    "R3.20 every sub group's core": (with_sub_groups({"a": (1, 0, 2), "b": (2, 0, 2)}), "0 2 3"),
    "R3.20 a satisfied sub group adds nothing": (with_sub_groups({"a": (1, 1, 1), "b": (2, 0, 2)}), "2 3"),
    "R3.20 all satisfied: one pod of the first": (with_sub_groups({"a": (1, 1, 1), "b": (1, 1, 1)}), "1"),
    "R3.12 all satisfied: the smallest part of its minimum first": (
        with_sub_groups({"a": (1, 2, 1), "b": (1, 1, 1)}),
        "4",
    ),
    "R3.20 as many sub groups as are required": (with_sub_groups({"a": (1, 0, 1), "b": (1, 0, 1)}, 1), "0"),
    "R3.22 one of two required is satisfied: both others are tried": (
        with_sub_groups({"a": (1, 1, 0), "b": (1, 0, 1), "c": (1, 0, 1)}, 2),
        "1 2",
    ),
    "R3.20 required ones satisfied: the others in turn": (
        with_sub_groups({"a": (1, 1, 0), "b": (2, 0, 2)}, 1),
        "1 2",
    ),
}


@pytest.mark.parametrize(("builder", "expected"), NEXT.values(), ids=NEXT)
def test_next_tasks_to_allocate_match(builder: ClusterBuilder, expected: str) -> None:
    found = gangs(builder)
    tasks = found.tasks_to_allocate(0)
    assert tasks == [int(number) for number in expected.split()]
    assert found.request(0)[0] == 1000 * len(tasks)


def test_inner_sub_groups_are_traversed_r3_20() -> None:
    builder = ClusterBuilder().node("n").queue("q").pod_group("job", queue="q")
    builder.sub_group("job", "inner", min_sub_groups=1)
    for name in ("x", "y"):
        builder.sub_group("job", name, parent="inner", min_member=1).pending("job", sub_group=name)
    builder.sub_group("job", "z", min_member=1).pending("job", sub_group="z")
    assert gangs(builder).tasks_to_allocate(0) == [0, 2]


def test_evicted_tasks_can_be_placed_again_in_a_simulation_r1_43() -> None:
    session = open_session(flat(2, 1, 2).build())
    found = GangPlanner(session)
    with session.statement() as statement:
        statement.evict(0)
        statement.evict(1)
        assert found.next_tasks(0, statement.evicted) == [0, 1]
        assert found.tasks_to_allocate(0) == [2]


READY = {
    "R1.54 enough pods": (flat(0, 2, 2), True),
    "R1.54 too few pods": (flat(0, 1, 2), False),
    "R1.54 gated pods do not count": (flat(0, 1, 2, gated=1), False),
    "R1.54 running pods count": (flat(1, 1, 2), True),
    "R1.54 a minimum of 0 is always ready": (flat(0, 1, 0), True),
    "R1.54 every sub group": (with_sub_groups({"a": (1, 0, 1), "b": (2, 0, 1)}), False),
    "R1.54 as many sub groups as are required": (with_sub_groups({"a": (1, 0, 1), "b": (2, 0, 1)}, 1), True),
}
SATISFIED = {
    "R1.55 the minimum runs": (flat(2, 1, 2), True),
    "R1.55 less than the minimum runs": (flat(1, 1, 2), False),
    "R1.55 a minimum of 0 with no pod": (flat(0, 1, 0), True),
    "R1.55 every sub group": (with_sub_groups({"a": (1, 1, 0), "b": (1, 0, 1)}), False),
    "R1.55 as many sub groups as are required": (with_sub_groups({"a": (1, 1, 0), "b": (1, 0, 1)}, 1), True),
}


def _query(question: Callable[[GangPlanner, int], bool], builder: ClusterBuilder) -> bool:
    return question(gangs(builder), 0)


@pytest.mark.parametrize(("builder", "expected"), READY.values(), ids=READY)
def test_ready(builder: ClusterBuilder, expected: bool) -> None:
    assert _query(GangPlanner.is_ready, builder) is expected


@pytest.mark.parametrize(("builder", "expected"), SATISFIED.values(), ids=SATISFIED)
def test_satisfied(builder: ClusterBuilder, expected: bool) -> None:
    assert _query(GangPlanner.is_satisfied, builder) is expected
