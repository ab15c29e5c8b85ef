"""Order of victims, and the number of tasks in each batch."""

import pytest
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.pod_group_lists import SortedPodGroups
from tenure.solver.search.victim_batches import victim_batches
from tenure.solver.testing import ClusterBuilder

from tests.solver.sessions import open_session


def batches(builder: ClusterBuilder, recorded: str = "", queues: str = "q", keep_core: str = "") -> list[str]:
    """Uids of every batch, in the order in which batches are taken from the named queues.

    `keep_core` names pod groups that keep their minimum.
    """
    return batches_of(open_session(builder.build()), recorded, queues, keep_core)


def batches_of(session: Session, recorded: str = "", queues: str = "q", keep_core: str = "") -> list[str]:
    """Batches in the state of a session."""
    gangs = GangPlanner(session)
    names = uids(session.cluster)
    index = {queue.facts.name: queue.index for queue in session.cluster.queues}
    order = victim_batches(
        session,
        gangs,
        SortedPodGroups(session, gangs).victims,
        [index[name] for name in queues.split()],
        lambda victim: True,
        lambda victim: session.cluster.pod_groups[victim].facts.name in keep_core.split(),
        frozenset(names.index(uid) for uid in recorded.split()),
    )
    found = []
    while (batch := order.pop()) is not None:
        found.append(" ".join(names[task] for task in batch.tasks))
    return found


def uids(cluster: Cluster) -> list[str]:
    """Uids of all pods."""
    return [task.facts.uid for task in cluster.tasks]


def cluster() -> ClusterBuilder:
    return ClusterBuilder().node("n", gpus=64).queue("q")


def job(
    builder: ClusterBuilder, name: str, count: int, min_member: int, priority: int = 50
) -> ClusterBuilder:
    return builder.running(
        name, queue="q", gpus=1, node="n", count=count, min_member=min_member, priority=priority
    )


def with_sub_groups(min_sub_groups: int | None, *running: int) -> ClusterBuilder:
    """One pod group with sub groups of minimum 1 and this many running pods in each."""
    builder = cluster()
    if min_sub_groups is None:
        builder.pod_group("j", queue="q")
    else:
        builder.pod_group("j", queue="q", min_sub_groups=min_sub_groups)
    for number, count in enumerate(running):
        builder.sub_group("j", f"part{number}", min_member=1)
        builder.running("j", node="n", count=count, sub_group=f"part{number}")
    return builder


BATCHES = {
    "R5.25 a gang is taken whole": (job(cluster(), "a", 3, 3), ["a-0 a-1 a-2"]),
    "R5.25 surplus one at a time, the last first": (job(cluster(), "a", 3, 1), ["a-2", "a-1", "a-0"]),
    "R5.25 then the core as one": (job(cluster(), "a", 4, 2), ["a-3", "a-2", "a-0 a-1"]),
    "R5.20 the newest first": (job(job(cluster(), "a", 1, 1), "b", 1, 1), ["b-0", "a-0"]),
    "R5.20 the lowest priority first": (job(job(cluster(), "a", 1, 1), "b", 1, 1, 75), ["a-0", "b-0"]),
    "R5.20 above the minimum before at the minimum": (
        job(job(cluster(), "a", 2, 1), "b", 1, 1),
        ["a-1", "b-0", "a-0"],
    ),
    "R5.27 a lower priority is taken whole before a higher one's surplus": (
        job(job(cluster(), "a", 2, 2), "b", 2, 1, 75),
        ["a-0 a-1", "b-1", "b-0"],
    ),
    "R5.26 what remains competes again": (
        job(job(cluster(), "a", 2, 1), "b", 2, 1),
        ["b-1", "a-1", "b-0", "a-0"],
    ),
    "R5.25 surplus of a sub group": (with_sub_groups(None, 2, 1), ["j-1", "j-0 j-2"]),
    "R5.25 surplus of the fullest sub group": (with_sub_groups(None, 2, 3), ["j-4", "j-3", "j-1", "j-0 j-2"]),
    "R5.25 a sub group that is not required goes entirely": (with_sub_groups(1, 1, 1), ["j-1", "j-0"]),
    "R5.25 surplus before sub groups that are not required": (
        with_sub_groups(1, 2, 1),
        ["j-1", "j-2", "j-0"],
    ),
    "R5.25 no sub group satisfied: all at once": (
        cluster()
        .pod_group("j", queue="q")
        .sub_group("j", "p", min_member=3)
        .running("j", node="n", count=2, sub_group="p"),
        ["j-0 j-1"],
    ),
    "R5.23 pending pods are no victims": (job(cluster(), "a", 1, 1).pending("a"), ["a-0"]),
    "R5.23 non-preemptible ones are no victims": (job(cluster(), "a", 1, 1, 100), []),
}


@pytest.mark.parametrize(("builder", "expected"), BATCHES.values(), ids=BATCHES)
def test_victims_are_batched_in_order(builder: ClusterBuilder, expected: list[str]) -> None:
    assert batches(builder) == expected


RECORDED = {
    "R5.28 a batch with a recorded pod is left out": (job(cluster(), "a", 2, 2), "a-0", ["a-1"]),
    "R5.28 recorded surplus is left out, the rest competes": (
        job(cluster(), "a", 3, 1),
        "a-2",
        ["a-1", "a-0"],
    ),
    "R5.28 all recorded: nothing": (job(cluster(), "a", 2, 1), "a-0 a-1", []),
}


@pytest.mark.parametrize(("builder", "recorded", "expected"), RECORDED.values(), ids=RECORDED)
def test_recorded_pods_are_not_evicted_again(
    builder: ClusterBuilder, recorded: str, expected: list[str]
) -> None:
    assert batches(builder, recorded) == expected


CORES = {
    "R8.31 surplus one at a time, but not the core": (job(cluster(), "a", 4, 2), "a", ["a-3", "a-2"]),
    "R8.31 a gang keeps all": (job(cluster(), "a", 3, 3), "a", []),
    "R8.31 below its minimum it keeps all": (job(cluster(), "a", 2, 3), "a", []),
    "R8.31 the others are taken whole": (
        job(job(cluster(), "a", 2, 1), "b", 2, 1),
        "a",
        ["b-1", "a-1", "b-0"],
    ),
    "R8.31 surplus of every sub group": (with_sub_groups(None, 2, 3), "j", ["j-4", "j-3", "j-1"]),
    "R8.31 a sub group that is not required goes entirely": (with_sub_groups(1, 1, 1), "j", ["j-1"]),
    "R8.31 none is required": (with_sub_groups(0, 2, 1), "j", ["j-1", "j-2", "j-0"]),
}


@pytest.mark.parametrize(("builder", "keep_core", "expected"), CORES.values(), ids=CORES)
def test_victim_with_protected_core_loses_only_surplus(
    builder: ClusterBuilder, keep_core: str, expected: list[str]
) -> None:
    assert batches(builder, keep_core=keep_core) == expected


def test_recorded_surplus_of_a_victim_with_protected_core_is_excluded() -> None:
    assert batches(job(cluster(), "a", 3, 1), "a-2", keep_core="a") == ["a-1"]
    assert batches(job(cluster(), "a", 3, 2), "a-2", keep_core="a") == []


SHARES = {
    "R5.20 the fuller queue gives first, and alone while its popped pods count in full (R4.38)": (
        3,
        5,
        ["b-4", "b-3", "b-2", "b-1", "b-0", "a-2", "a-1", "a-0"],
    ),
    "R5.20 within quota gives last": (2, 3, ["b-2", "b-1", "b-0", "a-1", "a-0"]),
}


@pytest.mark.parametrize(("little", "much", "expected"), SHARES.values(), ids=SHARES)
def test_victims_of_the_queue_with_the_highest_utilization_are_first(
    little: int, much: int, expected: list[str]
) -> None:
    builder = ClusterBuilder().node("n", gpus=8).queue("little", quota=2).queue("much", quota=2)
    builder.running("a", queue="little", gpus=1, count=little, min_member=1, node="n")
    builder.running("b", queue="much", gpus=1, count=much, min_member=1, node="n")
    assert batches(builder, queues="little much") == expected


def test_pods_with_a_reservation_do_not_count_as_popped_r4_38() -> None:
    """Both queues use 4 GPUs: of its quota of 8, or of 16. Without its running pod, the first uses none."""
    builder = ClusterBuilder().node("n", gpus=16).queue("used", quota=8).queue("held", quota=16)
    cluster = builder.running("a", queue="used", gpus=4, node="n").pending("b", queue="held", gpus=4).build()
    session = open_session(cluster, CycleOptions(allow_same_cycle_eviction=True))
    with session.statement() as statement:
        statement.pipeline(uids(cluster).index("b-0"), 0)
        statement.commit()
    assert batches_of(session, queues="used held") == ["b-0", "a-0"]
