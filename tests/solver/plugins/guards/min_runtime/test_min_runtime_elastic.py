"""Elastic pod groups pass the victim filter; the scenario validator decides which pods they may lose."""

import pytest
from tenure.solver.model.placement import TaskStatus
from tenure.solver.testing import ClusterBuilder

from tests.solver.plugins.guards.min_runtime.contested_gpu import evicted_pods, tree

SIDES = {"a": "", "b": ""}


def evicted_count(action: str, count: int, min_member: int, ran: str, wanted: int = 1) -> ClusterBuilder:
    """A pod group on a full node, protected for 5 minutes, and a gang that needs `wanted` GPUs."""
    if action == "preempt":
        builder = tree({"a": ""}, rich="a", preempt={"a": "5m"})
    else:
        builder = tree(SIDES, rich="b", reclaim={"a": "5m"})
    builder.node("n", gpus=count)
    builder.running("old", queue="a", gpus=1, count=count, min_member=min_member, node="n", started_ago=ran)
    asking = "a" if action == "preempt" else "b"
    return builder.pending("new", queue=asking, gpus=1, count=wanted, priority=75)


CASES = {
    "R7.30 a gang that needs all of its pods is no victim": (3, 3, "1m", 1, []),
    "R7.30 an elastic one loses a pod beyond its minimum": (3, 2, "1m", 1, ["old-2"]),
    "R7.40 all pods beyond its minimum": (4, 2, "1m", 2, ["old-2", "old-3"]),
    "R7.40 not one more, though the first alone would do": (3, 2, "1m", 2, []),
    "R7.40 pods taken for the first of a gang count for the last": (3, 1, "1m", 3, []),
    "R7.40 exactly at its minimum it loses nothing": (2, 1, "1m", 2, []),
    "R7.40 once the minimum runtime is over, all of it": (2, 1, "5m", 2, ["old-0", "old-1"]),
}


@pytest.mark.parametrize("action", ["reclaim", "preempt"])
@pytest.mark.parametrize(("count", "minimum", "ran", "wanted", "expected"), CASES.values(), ids=CASES)
def test_protected_elastic_pod_group_retains_its_minimum(
    action: str, count: int, minimum: int, ran: str, wanted: int, expected: list[str]
) -> None:
    cluster = evicted_count(action, count, minimum, ran, wanted).build()
    assert sorted(evicted_pods(cluster)) == expected


@pytest.mark.parametrize(("wanted", "expected"), [(2, ["old-1", "old-2"]), (3, [])])
def test_every_sub_group_retains_its_own_minimum_r7_40(wanted: int, expected: list[str]) -> None:
    """Three pods in one sub group and one in the other, with a minimum of one each: two can be evicted."""
    builder = tree(SIDES, rich="b", reclaim={"a": "5m"}).node("n", gpus=4)
    builder.pod_group("old", queue="a", started_ago="1m")
    builder.sub_group("old", "many", min_member=1).sub_group("old", "few", min_member=1)
    builder.running("old", gpus=1, node="n", count=3, sub_group="many")
    builder.running("old", gpus=1, node="n", sub_group="few")
    assert sorted(evicted_pods(builder.pending("new", queue="b", gpus=1, count=wanted).build())) == expected


def test_protection_depends_on_the_preemptor_r7_12() -> None:
    """The two hours of the leaf apply to a sibling, the minute of the department applies to a cousin."""
    parents = {"org": "", "a": "org", "a1": "a", "a2": "a", "b": "org", "b1": "b"}
    found = {}
    for asking in ("a2", "b1"):
        builder = tree(parents, rich=asking, reclaim={"a": "1m", "a1": "2h"}).node("n", gpus=2)
        builder.running("old", queue="a1", gpus=1, count=2, min_member=1, node="n", started_ago="1h")
        found[asking] = sorted(evicted_pods(builder.pending("new", queue=asking, gpus=1, count=2).build()))
    assert found == {"a2": [], "b1": ["old-0", "old-1"]}


def test_terminating_pod_does_not_count_as_remaining_r7_41() -> None:
    """One of two pods is already terminating. The other is the complete minimum and stays."""
    builder = tree(SIDES, rich="b", reclaim={"a": "5m"}).node("n1", gpus=1).node("n2", gpus=1)
    builder.running("old", queue="a", gpus=1, min_member=1, node="n1", started_ago="1m")
    builder.pods("old", TaskStatus.STUCK_IN_RELEASING, gpus=1, node="n2")
    assert evicted_pods(builder.pending("new", queue="b", gpus=1).build()) == []
