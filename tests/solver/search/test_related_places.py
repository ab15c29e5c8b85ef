"""Pods with relations are tried on other nodes, and with victims that only keep them away."""

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import PodAffinityTerm
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.options import PodOptions

HOST, ZONE = "kubernetes.io/hostname", "zone"


def near(app: str, key: str = HOST) -> PodAffinityTerm:
    return PodAffinityTerm((("app", app),), key)


def two_nodes(first: int, second: int) -> ClusterBuilder:
    """Nodes n1 and n2 of one zone with these numbers of GPUs."""
    builder = ClusterBuilder().queue("q", quota=first + second)
    for name, gpus in (("n1", first), ("n2", second)):
        builder.node(name, gpus=gpus, labels={HOST: name, ZONE: "a"})
    return builder


def decided(builder: ClusterBuilder) -> tuple[dict[str, str], set[str]]:
    """Nodes of the pods that are bound or reserved, and the evicted pods."""
    cluster: Cluster = builder.build()
    groups = answer(cluster, default_profile()).groups
    steps = [step for group in groups for step in (*group.bindings, *group.reservations)]
    placed = {cluster.tasks[step.task].facts.uid: cluster.nodes[step.node].facts.name for step in steps}
    return placed, {cluster.tasks[step.task].facts.uid for group in groups for step in group.evictions}


def test_first_pod_of_a_gang_moves_where_the_second_one_fits_beside_it_r3_77() -> None:
    builder = two_nodes(1, 3).pod_group("gang", queue="q", min_member=2)
    builder.pending("gang", gpus=1, labels={"app": "lead"})
    builder.pending("gang", gpus=2, labels={"app": "worker"}, pod_affinity=[near("lead")])
    assert decided(builder) == ({"gang-0": "n2", "gang-1": "n2"}, set())


@pytest.mark.parametrize("lead", ["a", "b"])
@pytest.mark.parametrize("gpus", [1, 2])
def test_subgroups_start_together_in_either_order_r3_76_r3_77(lead: str, gpus: int) -> None:
    """The subgroups have their order by name."""
    builder = two_nodes(1, 3).pod_group("gang", queue="q")
    for name in "ab":
        builder.sub_group("gang", name, min_member=1)
    builder.pending("gang", gpus=1, labels={"app": "lead"}, sub_group=lead)
    worker = "b" if lead == "a" else "a"
    builder.pending("gang", gpus=gpus, labels={"app": "w"}, pod_affinity=[near("lead")], sub_group=worker)
    assert decided(builder) == ({"gang-0": "n2", "gang-1": "n2"}, set())


def test_many_equal_pods_follow_the_first_to_another_node_r3_77() -> None:
    builder = two_nodes(1, 71).pod_group("gang", queue="q", min_member=71)
    builder.pending("gang", gpus=1, cpus=0.5, labels={"app": "lead"})
    builder.pending("gang", gpus=1, cpus=0.5, count=70, labels={"app": "w"}, pod_affinity=[near("lead")])
    placed, _ = decided(builder)
    assert (len(placed), {*placed.values()}) == (71, {"n2"})


@pytest.mark.parametrize("small", [2, 70])
def test_equal_pods_that_must_be_near_each_other_start_in_a_larger_zone_r3_77(small: int) -> None:
    """Zone a has `small` nodes of one GPU, which are tried first, zone b one node of one GPU more."""
    builder = ClusterBuilder().queue("q").node("large", gpus=small + 1, labels={ZONE: "b"})
    for number in range(small):
        builder.node(f"n{number}", gpus=1, labels={ZONE: "a"})
    gang: PodOptions = {"labels": {"app": "x"}, "pod_affinity": [near("x", ZONE)]}
    builder.pending("gang", queue="q", gpus=1, cpus=0.5, count=small + 1, min_member=small + 1, **gang)
    placed, _ = decided(builder)
    assert (len(placed), {*placed.values()}) == (small + 1, {"large"})


def test_victim_that_frees_nothing_but_keeps_the_preemptor_away_goes_too_r5_65() -> None:
    builder = two_nodes(2, 1)
    builder.running("big", queue="q", gpus=2, node="n1", priority=10)
    builder.running("guard", queue="q", gpus=1, node="n2", priority=50, pod_anti_affinity=[near("new", ZONE)])
    builder.pending("new", queue="q", gpus=2, priority=90, labels={"app": "new"})
    assert decided(builder) == ({"new-0": "n1"}, {"big-0", "guard-0"})


def test_victim_that_would_keep_the_preemptor_away_does_not_return_r5_64() -> None:
    """Beside `old` on n2, `new` would no longer be the first of its kind, and could not start on n1."""
    builder = two_nodes(2, 1)
    builder.running("old", queue="q", gpus=1, node="n1", priority=10, labels={"app": "new"})
    builder.pending("new", queue="q", gpus=2, priority=90, labels={"app": "new"}, pod_affinity=[near("new")])
    assert decided(builder) == ({"new-0": "n1"}, {"old-0"})


@pytest.mark.parametrize(("is_needed", "returns"), [(True, {"db-0", "mid-0"}), (False, {"low-0", "mid-0"})])
def test_victims_return_in_queue_order_after_those_that_are_needed_r5_64(
    is_needed: bool, returns: set[str]
) -> None:
    """There is room for two of three."""
    builder = two_nodes(3, 2)
    for name, priority in (("db", 5), ("low", 10), ("mid", 80)):
        builder.running(name, queue="q", gpus=1, node="n1", labels={"app": name}, priority=priority)
    affinity = [near("db", ZONE)] if is_needed else []
    builder.pending("new", queue="q", gpus=3, priority=90, pod_affinity=affinity, node_selector={HOST: "n1"})
    placed, _ = decided(builder)
    assert placed == {"new-0": "n1", **dict.fromkeys(returns, "n2")}
