"""Orders of pod groups, sub groups and tasks. Smaller keys come first."""

import pytest
from tenure.solver.framework.session import Session
from tenure.solver.plugins.orders import MinimumFirstSubGroups
from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.options import GroupOptions, PodOptions

from tests.solver.sessions import open_session, plugin_of

Job = tuple[GroupOptions, int, int]
"""Options, running pods and pending pods of a job."""

POD_GROUPS = {
    "R3.9 higher priority": (({"priority": 75}, 0, 1), ({"priority": 50}, 0, 1)),
    "R3.9 priority before elastic state": (
        ({"priority": 75, "min_member": 1}, 2, 1),
        ({"priority": 50, "min_member": 2}, 1, 1),
    ),
    "R3.10 below the minimum before at it": (({"min_member": 2}, 1, 1), ({"min_member": 1}, 1, 1)),
    "R3.10 at the minimum before above it": (({"min_member": 2}, 2, 1), ({"min_member": 1}, 2, 1)),
    "R3.9 two below tie: the elder": (
        ({"min_member": 9, "created_ago": "2h"}, 2, 1),
        ({"min_member": 2, "created_ago": "1h"}, 1, 1),
    ),
    "R3.9 the same age: by uid": (({"created_ago": "1h"}, 0, 1), ({"created_ago": "1h"}, 0, 1)),
}


@pytest.mark.parametrize(("first", "second"), POD_GROUPS.values(), ids=POD_GROUPS)
def test_pod_group_order(first: Job, second: Job) -> None:
    builder = ClusterBuilder().node("n").queue("q")
    for name, (options, running, pending) in {"a": first, "b": second}.items():
        builder.pod_group(name, **{"queue": "q", **options})
        builder.running(name, node="n", count=running).pending(name, count=pending)
    session = open_session(builder.build())
    assert session.pod_group_key(0) < session.pod_group_key(1)


def test_any_pod_set_below_its_minimum_makes_the_pod_group_below_r3_10() -> None:
    builder = ClusterBuilder().node("n").queue("q").pod_group("a", queue="q").pod_group("b", queue="q")
    for name, running in (("a", 1), ("b", 2)):
        builder.sub_group(name, "x", min_member=1).sub_group(name, "y", min_member=2)
        builder.running(name, node="n", count=3, sub_group="x")
        builder.running(name, node="n", count=running, sub_group="y")
    session = open_session(builder.build())
    elastic = plugin_of(session, "elastic")
    keys = [elastic.pod_group_key(group, session.ledger.active_allocated) for group in (0, 1)]
    assert keys == [0, 2]


SUB_GROUPS = {
    "R3.12.1 below its threshold": ((1, 2), (9, 1)),
    "R3.12.2 a threshold before none": ((9, 1), (0, 0)),
    "R3.12.3 without threshold, fewer": ((1, 0), (2, 0)),
    "R3.12.4 the smaller part of the threshold": ((3, 2), (2, 1)),
}


@pytest.mark.parametrize(("first", "second"), SUB_GROUPS.values(), ids=SUB_GROUPS)
def test_sub_group_order(first: tuple[int, int], second: tuple[int, int]) -> None:
    """Numbers of pods and thresholds."""
    session = open_session(ClusterBuilder().build())
    order = MinimumFirstSubGroups(session.plugin_context(), {})
    assert order.sub_group_key("a", *first) < order.sub_group_key("b", *second)


def test_two_sub_groups_below_their_thresholds_tie_r3_12() -> None:
    order = MinimumFirstSubGroups(open_session(ClusterBuilder().build()).plugin_context(), {})
    assert order.sub_group_key("a", 0, 5) == order.sub_group_key("b", 1, 2)


TASKS: dict[str, tuple[list[PodOptions], str]] = {
    "R3.11 leaders": ([{}, {"leader": True}], "1 0"),
    "R3.11 higher task priorities": ([{"task_priority": 1}, {"task_priority": 5}], "1 0"),
    "R3.11 labelled before unlabelled": ([{}, {"task_priority": -5}], "1 0"),
    "R3.11 leaders before priorities": ([{"task_priority": 9}, {"leader": True}], "1 0"),
    "R3.11 by uid at last": ([{}, {}], "0 1"),
    "R10.6 uids are compared as text": ([{}] * 11, "0 1 10 2 3 4 5 6 7 8 9"),
}


@pytest.mark.parametrize(("pods", "expected"), TASKS.values(), ids=TASKS)
def test_task_order(pods: list[PodOptions], expected: str) -> None:
    builder = ClusterBuilder().node("n").queue("q").pod_group("j", queue="q")
    for pod in pods:
        builder.pending("j", **pod)
    assert _numbers(open_session(builder.build())) == expected.split()


def _numbers(session: Session) -> list[str]:
    tasks = session.order.tasks(list(session.cluster.pod_groups[0].tasks))
    return [session.cluster.tasks[task].facts.uid.removeprefix("j-") for task in tasks]
