"""Topology spread: the difference of the numbers of selected pods in domains is bounded, as in Kubernetes."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.constraints import OtherPods, Taint, TaintEffect, TopologySpread
from tenure.solver.model.placement import TaskStatus
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, statuses

WEB = {"app": "web"}


def spread(**more: Any) -> TopologySpread:
    return TopologySpread("zone", **{"match_labels": (("app", "web"),), **more})


def cluster(zones: str = "ab", **options: Any) -> ClusterBuilder:
    builder = ClusterBuilder().queue("q")
    for i, zone in enumerate(zones):
        builder.node(f"n{i}", labels={"zone": zone}, **options)
    return builder


def zones_of(builder: ClusterBuilder, name: str) -> list[str]:
    """Zones of the bound pods of a pod group, sorted."""
    built = builder.build()
    found = statuses(built, answer(built, default_profile()))
    labels = {node.facts.name: node.facts.labels for node in built.nodes}
    return sorted(
        labels[state.node].get("zone", "-")
        for uid, state in found.items()
        if uid.startswith(name) and state.status is TaskStatus.BINDING
    )


@pytest.mark.parametrize(("skew", "largest"), [(1, 2), (2, 3), (3, 3), (4, 4)])
def test_pods_of_one_gang_count_each_other(skew: int, largest: int) -> None:
    """Binpacking alone would put all four in one zone."""
    web = {"queue": "q", "labels": WEB, "topology_spread": [spread(max_skew=skew)]}
    zones = Counter(zones_of(cluster().pending("web", count=4, min_member=4, **web), "web"))
    assert (sum(zones.values()), max(zones.values())) == (4, largest)


@pytest.mark.parametrize(
    ("status", "expected"),
    [(TaskStatus.RUNNING, ["b"]), (TaskStatus.BINDING, ["b"]), (TaskStatus.RELEASING, ["a"])],
)
def test_terminating_pods_do_not_count(status: TaskStatus, expected: list[str]) -> None:
    builder = cluster()
    builder.pods("old", status, queue="q", node="n0", labels=WEB, cpus=20)
    assert (
        zones_of(builder.pending("web", queue="q", labels=WEB, topology_spread=[spread()]), "web") == expected
    )


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(OtherPods("", (("app", "web"),)), ["b"], id="selected"),
        pytest.param(OtherPods("", (("app", "web"),), is_terminating=True), ["a"], id="terminating"),
        pytest.param(OtherPods("", (("app", "db"),)), ["a"], id="other labels"),
        pytest.param(OtherPods("theirs", (("app", "web"),)), ["a"], id="another namespace"),
    ],
)
def test_pods_that_are_no_tasks_count(other: OtherPods, expected: list[str]) -> None:
    builder = ClusterBuilder().queue("q").node("n0", labels={"zone": "a"}, other_pods=[other])
    builder.node("n1", labels={"zone": "b"})
    assert (
        zones_of(builder.pending("web", queue="q", labels=WEB, topology_spread=[spread()]), "web") == expected
    )


@pytest.mark.parametrize(("least", "placed"), [(1, 3), (2, 3), (3, 2)])
def test_with_fewer_domains_than_the_minimum_each_takes_only_the_skew(least: int, placed: int) -> None:
    web = {"queue": "q", "labels": WEB, "topology_spread": [spread(min_domains=least)]}
    assert len(zones_of(cluster().pending("web", count=3, min_member=1, **web), "web")) == placed


@pytest.mark.parametrize(
    ("more", "pod", "expected"),
    [
        pytest.param({}, {"node_selector": {"pool": "x"}}, ["a", "a"], id="excluded by the selector"),
        pytest.param(
            {"counts_unselected_nodes": True}, {"node_selector": {"pool": "x"}}, ["a"], id="counted"
        ),
        pytest.param({}, {}, ["a"], id="tainted nodes count"),
        pytest.param({"omits_tainted_nodes": True}, {}, ["a", "a"], id="tainted nodes omitted"),
    ],
)
def test_which_nodes_are_domains(more: dict[str, Any], pod: dict[str, Any], expected: list[str]) -> None:
    """Zone b takes no pods. Where it is no domain, it does not hold the number in zone a down."""
    builder = ClusterBuilder().queue("q").node("n0", labels={"zone": "a", "pool": "x"})
    taint = Taint("closed", "", TaintEffect.NO_SCHEDULE)
    builder.node("n1", labels={"zone": "b"}, taints=[taint])
    web = {"queue": "q", "labels": WEB, "topology_spread": [spread(**more)], **pod}
    assert zones_of(builder.pending("web", count=2, min_member=1, **web), "web") == expected


def test_node_without_the_label_takes_no_pod() -> None:
    builder = ClusterBuilder().queue("q").node("n")
    assert zones_of(builder.pending("web", queue="q", labels=WEB, topology_spread=[spread()]), "web") == []


@pytest.mark.parametrize(("numbers", "skew"), [((1, 0), 1), ((3, 1), 2), ((2, 2), 0)])
def test_gang_fills_the_emptiest_domain_first(numbers: Sequence[int], skew: int) -> None:
    builder = cluster()
    for i, number in enumerate(numbers):
        if number:
            builder.running(f"old{i}", queue="q", node=f"n{i}", count=number, labels=WEB, cpus=1)
    web = {"queue": "q", "labels": WEB, "topology_spread": [spread()]}
    assert zones_of(builder.pending("web", count=skew or 1, min_member=1, **web), "web") == (
        ["b"] * skew if skew else ["a"]
    )


@pytest.mark.parametrize(
    ("skew", "returning"), [pytest.param(1, 0, id="violated"), pytest.param(3, 2, id="permitted")]
)
def test_victims_do_not_return_where_they_violate_the_spread_of_the_beneficiary(
    skew: int, returning: int
) -> None:
    """One victim could return to its node, and the other one go to a node of the same zone (R3.74)."""
    builder = ClusterBuilder().queue("q").node("full", gpus=2, labels={"zone": "a"})
    builder.node("small", gpus=1, labels={"zone": "a"}, cpus=4).node("none", labels={"zone": "b"})
    victims = {"queue": "q", "priority": 50, "labels": WEB, "min_member": 0}
    builder.running("old", node="full", count=2, gpus=1, **victims)
    web = {"queue": "q", "priority": 90, "labels": WEB, "topology_spread": [spread(max_skew=skew)]}
    built = builder.pending("web", gpus=1, cpus=8, **web).build()
    after = statuses(built, answer(built, default_profile()))
    assert after["web-0"].status is TaskStatus.PIPELINED
    left = [uid for uid, state in after.items() if state.status is TaskStatus.RELEASING]
    assert len(left) == 2 - returning
