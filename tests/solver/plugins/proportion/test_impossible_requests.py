"""R3.64, R4.2: what no node could ever hold requests nothing of the fair shares."""

from collections.abc import Callable
from typing import Unpack

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.resources import GPU
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.options import JobOptions

Workload = Callable[[ClusterBuilder], object]
"""Adds the pending pod group `odd` to queue a of a cluster with two nodes of 4 GPUs."""
ZONE_A, NOWHERE = {"zone": "a"}, {"zone": "c"}


def pending(count: int = 1, **options: Unpack[JobOptions]) -> Workload:
    return lambda builder: builder.pending("odd", queue="a", count=count, **options)


def gang(minimum: int, *gpus: float) -> Workload:
    def add(builder: ClusterBuilder) -> None:
        builder.pod_group("odd", queue="a", min_member=minimum)
        for each in gpus:
            builder.pending("odd", gpus=each)

    return add


def sharing(nics: int) -> Workload:
    """Two pods that share a claim; nodes n1 and n2 have two such devices."""

    def add(builder: ClusterBuilder) -> None:
        builder.claim("nics", {"nic": nics}, from_template=False)
        builder.pending("odd", queue="a", count=2, gpus=1, claims=["nics"])

    return add


def optional_subgroup(*gpus: float) -> Workload:
    """The other subgroup has a pod of one GPU and is required; this one needs two pods."""

    def add(builder: ClusterBuilder) -> None:
        builder.pod_group("odd", queue="a", min_sub_groups=1)
        builder.sub_group("odd", "x", min_member=1).sub_group("odd", "y", min_member=2)
        builder.pending("odd", gpus=1, sub_group="x")
        for each in gpus:
            builder.pending("odd", gpus=each, sub_group="y")

    return add


CASES = {
    "a pod that fits": (pending(gpus=4), 4),
    "a pod that is larger than every node": (pending(gpus=5), 0),
    "each of its pods": (pending(gpus=5, count=3), 0),
    "a pod whose selector permits a smaller node only": (pending(gpus=4, node_selector=ZONE_A), 0),
    "a pod that fits the node that it selects": (pending(gpus=2, node_selector=ZONE_A), 2),
    "a pod whose selector permits no node": (pending(gpus=1, node_selector=NOWHERE), 0),
    "the rest of a gang that needs it": (gang(3, 1, 1, 5), 0),
    "the rest of a gang that does not need it": (gang(2, 1, 1, 5), 2),
    "the rest of an optional subgroup that needs it": (optional_subgroup(1, 5), 1),
    "the rest of an optional subgroup that does not need it": (optional_subgroup(1, 1, 5), 3),
    "pods whose shared claim a node could satisfy": (sharing(nics=2), 2),
    "pods whose shared claim no node could satisfy": (sharing(nics=3), 0),
    "more than the cluster has, on nodes that could hold each": (pending(gpus=4, count=3), 12),
}


@pytest.mark.parametrize(("odd", "requested"), CASES.values(), ids=CASES)
def test_request_of_a_queue(odd: Workload, requested: int) -> None:
    builder = ClusterBuilder().node("n0", gpus=2, labels={"zone": "a"})
    builder.node("n1", gpus=4, devices={"nic": 2}).node("n2", gpus=4, devices={"nic": 2})
    builder.queue("all").queue("a", parent="all").queue("b", parent="all")
    odd(builder)
    cluster = builder.build()
    found = {
        cluster.queues[each.queue].facts.name: each for each in answer(cluster, default_profile()).queues
    }
    assert [found[name].requested[GPU] for name in ("a", "all")] == [requested * 1000] * 2


def test_queue_gets_the_share_that_an_impossible_pod_does_not_need() -> None:
    """Four GPUs, two queues of equal weight: the pod of five GPUs leaves all of them to the other queue."""
    builder = ClusterBuilder().node("n", gpus=4).queue("a").queue("b")
    builder.running("old", queue="b", gpus=1, count=4, node="n").pending("huge", queue="a", gpus=5)
    assert [each.fair_share[GPU] for each in answer(builder.build(), default_profile()).queues] == [0, 4000]
