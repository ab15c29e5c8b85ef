"""Pods that the cycle binds take other nodes, so that one more pod group starts (semantics R3.36)."""

from dataclasses import replace
from typing import Any

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import Operator, PodAffinityTerm, PreferredNodes, Requirement
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.workload_parts import TopologyConstraint
from tenure.solver.plugin_api.profile import SPEEDUPS
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder


def _decide(cluster: Cluster, looks: int = 20_000, speedups: tuple[str, ...] = SPEEDUPS) -> CycleResult:
    default = default_profile()
    options = replace(default.options, max_repacking_looks=looks, speedups=speedups)
    return answer(cluster, replace(default, actions=("allocate",), options=options))


def _nodes(cluster: Cluster, found: CycleResult) -> dict[str, str]:
    """Nodes of bound pods."""
    steps = [step for group in found.groups for step in group.bindings]
    return {cluster.tasks[step.task].facts.uid: cluster.nodes[step.node].facts.name for step in steps}


def _two_nodes() -> ClusterBuilder:
    """One node has more GPUs, the other one the CPU for a pod with much of it."""
    builder = ClusterBuilder().queue("q", quota=16).topology("t", "rack")
    builder.node("many", gpus=8, cpus=16, labels={"rack": "a", "kind": "x"})
    return builder.node("few", gpus=4, cpus=64, labels={"rack": "b", "kind": "y"})


def _small_then_wide(**small: Any) -> Cluster:
    """A small pod, which takes the node with few GPUs, then one that fits on no other."""
    builder = _two_nodes()
    builder.pending("small", queue="q", priority=100, **{"gpus": 2, "cpus": 8, **small})
    return builder.pending("wide", queue="q", priority=40, gpus=4, cpus=48).build()


@pytest.mark.parametrize("speedups", [(), SPEEDUPS])
def test_a_pod_takes_another_node_for_one_that_fits_on_its_own_r3_36(speedups: tuple[str, ...]) -> None:
    cluster = _small_then_wide()
    (first,) = _nodes(cluster, _decide(cluster, 0, speedups)).items()
    found = _decide(cluster, speedups=speedups)
    (small, few), (wide, node) = _nodes(cluster, found).items()
    assert first == (small, "few")
    assert (few, node) == ("many", "few")
    assert wide != small
    names = [cluster.pod_groups[group.beneficiary].facts.name for group in found.groups]
    assert names == ["small", "wide"]
    assert [len(group.bindings) for group in found.groups] == [1, 1]


@pytest.mark.parametrize(
    "small",
    [
        {"nominated_node": "few"},
        {"preferred_nodes": [PreferredNodes(1, (Requirement("kind", Operator.IN, ("y",)),))]},
        {"labels": {"app": "x"}, "pod_anti_affinity": [PodAffinityTerm((("app", "x"),), "rack")]},
        {"topology": TopologyConstraint("t", required_level="rack")},
        {"gpus": 0.5},
        {"node_selector": {"kind": "y"}},
    ],
    ids=["nominated", "preference", "relation", "topology", "share", "selector"],
)
def test_a_pod_stays_for_which_nodes_differ_by_more_than_amounts_r3_36(small: dict[str, Any]) -> None:
    cluster = _small_then_wide(**small)
    found = _nodes(cluster, _decide(cluster))
    assert found == _nodes(cluster, _decide(cluster, 0))


def test_running_pods_stay_r3_36() -> None:
    builder = _two_nodes().running("small", queue="q", node="few", gpus=2, cpus=32)
    cluster = builder.pending("wide", queue="q", gpus=4, cpus=48).build()
    assert _decide(cluster).groups == ()


def test_limits_of_queues_hold_r3_36() -> None:
    builder = _two_nodes().queue("full", quota=2, limit=2)
    builder.pending("small", queue="q", priority=100, gpus=2, cpus=8)
    cluster = builder.pending("wide", queue="full", priority=40, gpus=4, cpus=48).build()
    assert len(_nodes(cluster, _decide(cluster))) == 1


def test_looks_are_bounded_r3_36() -> None:
    cluster = _small_then_wide()
    assert len(_nodes(cluster, _decide(cluster, 8))) == 1
    assert len(_nodes(cluster, _decide(cluster, 80))) == 2


def test_a_gang_starts_as_a_whole_or_moves_nothing_r3_36() -> None:
    for pods, started in ((2, 4), (3, 2)):
        builder = ClusterBuilder().queue("q", quota=32)
        for number in range(2):
            builder.node(f"n{number}", gpus=8, cpus=64)
        for number in range(2):
            builder.pending(f"small-{number}", queue="q", priority=100, gpus=4, cpus=8)
        builder.pod_group("gang", queue="q", priority=40, min_member=pods)
        for _ in range(pods):
            builder.pending("gang", gpus=4, cpus=50)
        cluster = builder.build()
        assert len(_nodes(cluster, _decide(cluster, 0))) == 2
        assert len(_nodes(cluster, _decide(cluster))) == started
