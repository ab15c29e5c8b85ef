"""Fair shares of the queue tree, and decisions that depend on them."""

import pytest
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.resources import Share
from tenure.solver.plugins.proportion.shares import (
    allocatable_share,
    bounding_share,
    cluster_total,
    dominant_share,
    is_within,
)
from tenure.solver.testing import ClusterBuilder

from tests.solver.sessions import open_session

NO_BOUND = -1


def fair_gpus(cluster: Cluster) -> dict[str, float]:
    """Fair share of GPUs by queue name."""
    statuses = open_session(cluster).chains.queue_status()
    return {cluster.queues[status.queue].facts.name: status.fair_share[2] / 1000 for status in statuses}


def test_children_divide_the_fair_share_of_their_parent_not_its_quota() -> None:
    """R4.10 and following: the other department gets the quota of the idle one."""
    cluster = (
        ClusterBuilder()
        .node("n", gpus=8)
        .queue("dept-a", quota=4)
        .queue("dept-b", quota=4)
        .queue("a1", parent="dept-a", quota=1)
        .queue("a2", parent="dept-a", quota=1)
        .queue("b", parent="dept-b", quota=4)
        .pending("one", queue="a1", gpus=1, count=8)
        .pending("two", queue="a2", gpus=1, count=8)
        .build()
    )
    assert fair_gpus(cluster) == {"a1": 4, "a2": 4, "b": 0, "dept-a": 8, "dept-b": 0}


def test_running_and_pending_pods_are_requested_terminating_ones_are_not_r4_2() -> None:
    cluster = (
        ClusterBuilder()
        .node("n", gpus=8)
        .queue("q", quota=0)
        .running("here", queue="q", gpus=2, node="n")
        .pending("there", queue="q", gpus=1)
        .pods("gone", TaskStatus.RELEASING, node="n", queue="q", gpus=4)
        .build()
    )
    assert fair_gpus(cluster) == {"q": 3}
    (status,) = open_session(cluster).chains.queue_status()
    assert status.requested[2] == 3000


def test_unready_nodes_add_no_capacity_r4_1() -> None:
    builder = ClusterBuilder().node("a", gpus=4, cpus=2, memory_gib=1).node("b", gpus=8, unready="cordoned")
    assert cluster_total(builder.build()) == (2000, 1 << 30, 4000)


def test_mig_slices_count_by_their_leading_number_r1_9() -> None:
    builder = ClusterBuilder().node("a", extended={"nvidia.com/mig-1g.5gb": 3, "nvidia.com/mig-2g.10gb": 2})
    assert cluster_total(builder.build())[2] == 7000


@pytest.mark.parametrize(
    ("quota", "limit", "fair", "expected"),
    [
        (NO_BOUND, NO_BOUND, 5, NO_BOUND),
        (NO_BOUND, 7, 5, 7),
        (4, NO_BOUND, 5, 5),
        (6, NO_BOUND, 5, 6),
        (6, 3, 5, 3),
        (0, NO_BOUND, 0, 0),
    ],
)
def test_allocatable_share_r4_25(quota: int, limit: int, fair: int, expected: int) -> None:
    assert allocatable_share(quota, limit, fair) == expected


@pytest.mark.parametrize(
    ("allocated", "allocatable", "expected"),
    [
        ((0, 0, 0), (1000, 10, 1000), 0),
        ((500, 2, 3000), (1000, 10, 4000), 0.75),
        ((900, 2, 1000), (1000, 10, 4000), 0.9),
        ((0, 0, 1000), (1000, 10, NO_BOUND), 0.125),
        ((0, 0, 2000), (1000, 10, 0), 2000),
        ((-500, 0, 0), (1000, 10, 1000), 0),
    ],
    ids=["idle", "GPU", "CPU", "unlimited counts by the cluster", "without a share", "never below 0"],
)
def test_dominant_share_r4_26(allocated: Share, allocatable: Share, expected: float) -> None:
    assert dominant_share(allocated, bounding_share(allocatable, (64_000, 100, 8000))) == expected


@pytest.mark.parametrize(
    ("amount", "bound", "expected"),
    [((1, 1, 1), (1, 1, 1), True), ((2, 1, 1), (1, 1, 1), False), ((9, 9, 9), (-1, -1, -1), True)],
    ids=["exactly", "one resource more", "nothing binds"],
)
def test_within_a_bound_r1_12(amount: tuple[int, ...], bound: tuple[int, ...], expected: bool) -> None:
    assert is_within(amount, bound) is expected
