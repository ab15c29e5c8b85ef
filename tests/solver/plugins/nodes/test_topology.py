"""Topology constraints: racks r1 (n1, n2) and r2 (n3, n4) of one zone; four GPUs per node."""

from collections.abc import Mapping

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.workload_parts import TopologyConstraint
from tenure.solver.plugins.nodes.topology_tree import build
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, statuses

LEVELS = ("zone", "rack")
RACKS = {"n1": "r1", "n2": "r1", "n3": "r2", "n4": "r2"}


def cluster(used: Mapping[str, int]) -> ClusterBuilder:
    """The racks, with this many GPUs in use by node."""
    builder = ClusterBuilder().topology("dc", *LEVELS).queue("q")
    for node, rack in RACKS.items():
        builder.node(node, gpus=4, labels={"zone": "z", "rack": rack})
        if used.get(node):
            builder.running(f"on-{node}", queue="q", gpus=1, count=used[node], node=node, priority=100)
    return builder


def nodes_of(builder: ClusterBuilder, name: str = "gang") -> list[str]:
    """Nodes of the pods of a pod group after a cycle; empty for a pod that is not bound."""
    built = builder.build()
    after = statuses(built, answer(built, default_profile()))
    return [
        state.node if state.status is TaskStatus.BINDING else ""
        for uid, state in after.items()
        if uid.startswith(name)
    ]


REQUIRED = TopologyConstraint("dc", required_level="rack")
PREFERRED = TopologyConstraint("dc", preferred_level="rack")
BOTH = TopologyConstraint("dc", required_level="zone", preferred_level="rack")
ROWS = {
    "R9.27 the fullest rack that takes all": ({"n1": 3, "n3": 1}, 2, 2, REQUIRED, ["n2"] * 2),
    "R9.24 a rack that is too full is passed over": ({"n1": 4, "n2": 3}, 2, 1, REQUIRED, ["n3"] * 2),
    "R9.25 no rack takes all": ({}, 3, 4, REQUIRED, [""] * 3),
    "R9.22 preferred: one rack if it can be": ({"n1": 4, "n2": 2}, 2, 2, PREFERRED, ["n3"] * 2),
    "R9.31 preferred: else any, the last rack first": ({}, 3, 4, PREFERRED, ["n1", "n3", "n4"]),
    "R9.22 preferred within required": ({"n1": 4, "n2": 2}, 2, 2, BOTH, ["n3"] * 2),
    "R9.21 an unknown topology: nowhere": ({}, 1, 1, TopologyConstraint("no", required_level="rack"), [""]),
    "R9.21 an unknown level: nowhere": ({}, 1, 1, TopologyConstraint("dc", required_level="row"), [""]),
}


@pytest.mark.parametrize(("used", "count", "gpus", "constraint", "expected"), ROWS.values(), ids=ROWS)
def test_a_gang_stays_together(
    used: dict[str, int], count: int, gpus: int, constraint: TopologyConstraint, expected: list[str]
) -> None:
    builder = cluster(used).pending("gang", queue="q", gpus=gpus, count=count, topology=constraint)
    found = nodes_of(builder)
    assert sorted(found) == sorted(expected)


def by_gpus_in_use(name: str, **request: float) -> ClusterBuilder:
    """Rack r1 uses a GPU as a whole and a part of another, rack r2 uses two."""
    builder = ClusterBuilder().topology("dc", *LEVELS).queue("q")
    for node, rack in RACKS.items():
        builder.node(node, gpus=4, gpu_memory_mib=1000, labels={"zone": "z", "rack": rack})
    builder.running("whole", queue="q", gpus=1, node="n1")
    builder.running("part", queue="q", gpus=0.5, node="n1", gpu_groups=("n1/gpu-0",))
    builder.running("two", queue="q", gpus=1, count=2, node="n3")
    return builder.pending(name, queue="q", count=2, topology=REQUIRED, **request)


PARTS = {
    "whole GPUs decide": ({"gpus": 1}, ["n1", "n1"]),
    "free parts of shared devices do not": ({"gpus": 0.5}, ["n1", "n1"]),
    "a request by memory is no request for GPUs": ({"gpu_memory_mib": 100}, ["n1", "n1"]),
}


@pytest.mark.parametrize(("request_of_pods", "expected"), PARTS.values(), ids=PARTS)
def test_racks_are_ordered_by_whole_gpus_r9_24(
    request_of_pods: dict[str, float], expected: list[str]
) -> None:
    """Both racks have six whole GPUs free and two pods running, so the first by name is the first."""
    assert nodes_of(by_gpus_in_use("gang", **request_of_pods)) == expected


def test_a_request_by_memory_ignores_how_many_gpus_are_free_r9_24() -> None:
    builder = cluster({"n1": 1}).node("n5", gpus=4, gpu_memory_mib=1000, labels={"zone": "z", "rack": "r0"})
    assert nodes_of(builder.pending("gang", queue="q", gpu_memory_mib=100, topology=REQUIRED)) == ["n5"]


def test_surplus_is_placed_in_the_domain_of_running_pods_r9_26() -> None:
    builder = cluster({"n1": 3}).pod_group("gang", queue="q", min_member=1, topology=REQUIRED)
    assert nodes_of(builder.running("gang", node="n3", gpus=1).pending("gang", gpus=1)) == ["", "n3"]


def test_a_node_that_lacks_a_label_is_outside_r9_20() -> None:
    builder = ClusterBuilder().topology("dc", *LEVELS).queue("q").node("bare", gpus=8)
    assert nodes_of(builder.pending("gang", queue="q", gpus=1, topology=REQUIRED)) == [""]


def test_sub_groups_can_be_in_different_racks_r9_30() -> None:
    builder = cluster({}).pod_group("gang", queue="q")
    for part in ("a", "b"):
        builder.sub_group("gang", part, min_member=2, topology=REQUIRED)
        builder.pending("gang", gpus=4, count=2, sub_group=part)
    racks = [RACKS[node] for node in nodes_of(builder)]
    assert racks == ["r1", "r1", "r2", "r2"]


def test_domain_names_contain_all_higher_levels_r9_20() -> None:
    root = build(LEVELS, cluster({}).build().nodes)
    assert [(d.name, d.depth, d.nodes) for d in root.descendants()] == [
        ("", 0, 0b1111),
        ("z", 1, 0b1111),
        ("z.r1", 2, 0b0011),
        ("z.r2", 2, 0b1100),
    ]
