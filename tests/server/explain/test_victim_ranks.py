"""Ranks of running pod groups as victims: place, who would take them next, and cost."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tenure.server.explain.protected_until import protected_until
from tenure.server.explain.victim_ranks import ranks_of_queue
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.v1 import explain_pb2 as pb

from tests.server.explain.pending_cases import index

DEFAULT = default_profile()
PRICED = replace(DEFAULT, plugins=(*DEFAULT.plugins, PluginConfig("evictioncost")))


def full_cluster() -> Cluster:
    """In queue `lab`, one of four pod groups has started just now; `poor` is below its fair share."""
    builder = ClusterBuilder().node("n", gpus=4).queue("top", reclaim_min_runtime="5m").queue("poor", quota=2)
    builder.queue("lab", parent="top", quota=0, preempt_min_runtime="5m")
    builder.running("old", queue="lab", node="n", gpus=1, priority=50, checkpoint_ago="20m")
    builder.running("mid", queue="lab", node="n", gpus=1, priority=50)
    builder.running("new", queue="lab", node="n", gpus=1, priority=50, started_ago="1m")
    builder.running("firm", queue="lab", node="n", gpus=1, preemptibility=Preemptibility.NON_PREEMPTIBLE)
    builder.pending("wants", queue="poor", gpus=1).pending("later", queue="poor", gpus=1)
    return builder.pending("urgent", queue="lab", gpus=1, priority=70).build()


RECLAIM, PREEMPT = ("reclaim", "poor", "wants"), ("preempt", "lab", "urgent")
PLACES: dict[str, tuple[Profile, dict[str, tuple[int, int | None, list[tuple[str, str, str]]]]]] = {
    "by age": (
        DEFAULT,
        {
            "firm": (0, None, []),
            "mid": (2, None, [RECLAIM, PREEMPT]),
            "new": (1, None, []),
            "old": (3, None, []),
        },
    ),
    "by cost": (
        PRICED,
        {
            "firm": (0, 3_600, []),
            "mid": (3, 3_600, []),
            "new": (1, 60, []),
            "old": (2, 1_200, [RECLAIM, PREEMPT]),
        },
    ),
}


@pytest.mark.parametrize(("profile", "expected"), PLACES.values(), ids=PLACES)
def test_ranks_have_place_cost_and_next_takers(
    profile: Profile, expected: dict[str, tuple[int, int | None, list[tuple[str, str, str]]]]
) -> None:
    found = ranks_of_queue(CycleReplay(full_cluster(), profile), "")
    assert list(expected) == [rank.pod_group for rank in found.victim_ranks]
    for rank in found.victim_ranks:
        cost = rank.cost if rank.HasField("cost") else None
        takers = [(taker.action, taker.queue, taker.pod_group) for taker in rank.next_for]
        assert (rank.place, cost, sorted(takers, reverse=True)) == expected[rank.pod_group]
    assert found.text.public == "4 pod groups running, of which 3 may be evicted."


QUEUES = {"lab": 4, "top": 4, "poor": 0, "": 4}


@pytest.mark.parametrize("queue", QUEUES)
def test_ranks_of_a_queue_include_those_below(queue: str) -> None:
    found = ranks_of_queue(CycleReplay(full_cluster(), DEFAULT), queue)
    assert len(found.victim_ranks) == QUEUES[queue]


def test_protection_is_explained_with_rank_and_cost() -> None:
    cluster = full_cluster()
    found = protected_until(CycleReplay(cluster, PRICED), index(cluster, "old"))
    for audience in found.text:
        assert "It would be evicted second in its queue." in audience
        assert (
            "To evict all of it now costs 20 GPU minutes, of which 20 GPU minutes are lost work." in audience
        )
    assert "It is the next victim of reclaim by another queue." in found.text.tenant
    assert (
        "It is the next victim of reclaim by queue poor. There, pod group wants (queue poor) is first."
        in found.text.operator
    )
    assert [rank.pod_group for rank in found.victim_ranks] == ["old"]


ABSENT: dict[str, Callable[[], Cluster]] = {
    "nobody waits": lambda: (
        ClusterBuilder().node("n", gpus=1).queue("q").running("old", queue="q", node="n", gpus=1).build()
    ),
    "who waits may not evict": lambda: (
        ClusterBuilder()
        .node("n", gpus=1)
        .queue("q")
        .running("old", queue="q", node="n", gpus=1)
        .pending("never", queue="q", gpus=1, priority=90, never_evicts=True)
        .build()
    ),
}


@pytest.mark.parametrize("cluster", ABSENT.values(), ids=ABSENT)
def test_nobody_is_next_where_nobody_could_take_it(cluster: Callable[[], Cluster]) -> None:
    found = ranks_of_queue(CycleReplay(cluster(), DEFAULT), "")
    assert list(found.victim_ranks) == [pb.VictimRank(pod_group="old", place=1)]
