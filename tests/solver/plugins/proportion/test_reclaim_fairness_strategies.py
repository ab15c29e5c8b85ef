"""Permitted reclaimers, victim queues and victim chunks. Amounts are (CPU, memory, GPU)."""

from collections.abc import Sequence

import pytest
from tenure.solver.model.facts import QueueFacts
from tenure.solver.model.resources import Share
from tenure.solver.plugins.proportion.reclaim_fairness import (
    can_reclaim,
    chunks,
    common_level,
    is_reclaimable,
    is_saturated,
    may_reclaim,
)
from tenure.solver.resolution.reference_resolution import resolve_queues

ANY = (-1, -1, -1)


def gpus(amount: int) -> Share:
    return (0, 0, amount)


def bound(amount: int) -> Share:
    """A reclaim bound on GPUs only."""
    return (-1, -1, amount)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a1", "a2", ("a1", "a2")),
        ("a1", "b1", ("a", "b")),
        ("a1", "top", ("a", "top")),
        ("a1", "a1", ("a1", "a1")),
    ],
    ids=["siblings", "departments", "different depth", "the same queue"],
)
def test_leveled_queues_are_the_first_that_differ(one: str, other: str, expected: tuple[str, str]) -> None:
    specs = [("a", ""), ("a1", "a"), ("a2", "a"), ("b", ""), ("b1", "b"), ("top", "")]
    queues = {
        queue.facts.name: queue
        for queue in resolve_queues(QueueFacts(name=name, parent_name=parent) for name, parent in specs)
    }
    found = common_level(queues[one], queues[other])
    assert found == (queues[expected[0]].index, queues[expected[1]].index)


CAN_RECLAIM = {
    "R4.40 up to the fair share": (2, 2, None, True),
    "R4.41 not beyond it": (2, 3, None, False),
    "R4.40 a non-preemptible one up to the quota": (2, 1, 2, True),
    "R4.40 a non-preemptible one not beyond the quota": (2, 2, 2, False),
}


@pytest.mark.parametrize(("used", "request_", "firm", "expected"), CAN_RECLAIM.values(), ids=CAN_RECLAIM)
def test_can_reclaim(used: int, request_: int, firm: int | None, expected: bool) -> None:
    """A leaf with a quota of 3 GPUs and a fair share of 4."""
    (queue,) = resolve_queues([QueueFacts(name="q", quota=bound(3))])
    non_preemptible = None if firm is None else gpus(firm + request_)
    assert can_reclaim(queue, gpus(used), gpus(4), non_preemptible, gpus(request_)) is expected


IS_CANDIDATE = {
    "R4.45 above its quota": (gpus(1), True, bound(2), gpus(3), ANY, True),
    "R4.45 exactly at its quota": (gpus(1), True, bound(2), gpus(2), ANY, True),
    "R4.45 below its quota": (gpus(1), True, bound(2), gpus(1), ANY, False),
    "R4.45 no finite quota is involved": (gpus(1), True, (2, 2, -1), gpus(0), ANY, True),
    "R4.45 only what is asked for counts": (gpus(1), True, (9, 9, 2), (1, 1, 2), ANY, True),
    "R4.45 below in one, above in another": ((1, 0, 1), True, (4, -1, 2), (1, 0, 3), ANY, True),
    "R4.46 above its allocatable share": (gpus(1), False, ANY, gpus(3), bound(2), True),
    "R4.46 exactly at its allocatable share": (gpus(1), False, ANY, gpus(2), bound(2), False),
    "R4.46 above in a resource nobody asked for": (gpus(1), False, ANY, (5, 0, 1), (4, -1, 2), True),
}


@pytest.mark.parametrize(
    ("request_", "fits_quota", "quota", "used", "allocatable", "expected"),
    IS_CANDIDATE.values(),
    ids=IS_CANDIDATE,
)
def test_is_reclaim_candidate(
    request_: Share, fits_quota: bool, quota: Share, used: Share, allocatable: Share, expected: bool
) -> None:
    assert is_reclaimable(request_, fits_quota, quota, used, allocatable) is expected


IS_RECLAIMABLE = {
    "R4.52 above its allocatable share": (3, 2, 2, False, True),
    "R4.52 exactly at its allocatable share": (2, 2, 2, False, False),
    "R4.52 above quota only, reclaimer within its own": (3, 4, 2, True, True),
    "R4.52 above quota only, reclaimer beyond its own": (3, 4, 2, False, False),
    "R4.52 exactly at quota": (2, 4, 2, True, False),
    "R4.23 at quota and at fair share: first come, first served": (4, 4, 4, True, False),
}


@pytest.mark.parametrize(
    ("left", "allocatable", "quota", "fits_quota", "expected"), IS_RECLAIMABLE.values(), ids=IS_RECLAIMABLE
)
def test_is_reclaim_allowed(
    left: int, allocatable: int, quota: int, fits_quota: bool, expected: bool
) -> None:
    assert may_reclaim(gpus(left), bound(allocatable), bound(quota), fits_quota) is expected


SATURATED = {
    "R4.55 below its share, no question": (4, 4, 1, 4, 1, False),
    "R4.55 above its share, the victim fuller": (5, 4, 8, 4, 1, False),
    "R4.55 above its share, the victim as full": (5, 4, 5, 4, 1, True),
    "R4.55 above its share, the victim less full": (5, 4, 4, 4, 1, True),
    "R4.55 a victim without a share does not count": (5, 4, 4, 0, 1, False),
    "R4.55 a share of nothing is infinitely full": (1, 0, 9, 4, 1, True),
    "R4.55 the multiplier makes it stricter": (5, 4, 8, 4, 2, True),
    "R4.55 nothing binds either": (5, -1, 4, -1, 1, False),
    "R4.55 the reclaimer's share does not bind": (5, -1, 4, 4, 1, False),
}


@pytest.mark.parametrize(
    ("mine", "my_share", "theirs", "their_share", "multiplier", "expected"),
    SATURATED.values(),
    ids=SATURATED,
)
def test_saturation(
    mine: int, my_share: int, theirs: int, their_share: int, multiplier: float, expected: bool
) -> None:
    found = is_saturated(
        (False, False, True), gpus(mine), gpus(my_share), gpus(theirs), gpus(their_share), multiplier
    )
    assert found is expected


def test_saturation_looks_at_involved_resources_only_r4_57() -> None:
    assert not is_saturated((True, False, False), gpus(9), (4, 4, 4), gpus(1), (4, 4, 4), 1)


@pytest.mark.parametrize(
    ("pod_sets", "expected"),
    [
        ([0, 0], [2]),
        ([0, 0, 0, 0], [1, 1, 2]),
        ([0, 0, 0, 1, 1], [1, 1, 3]),
        ([1, 1], [1, 1]),
        ([], []),
    ],
    ids=["core only", "surplus before core", "two pod sets share one core", "no minimum reached", "nothing"],
)
def test_victims_are_checked_in_chunks_of_surplus_then_the_core_r4_50(
    pod_sets: Sequence[int], expected: list[int]
) -> None:
    """Pod set 0 has a minimum of 2, pod set 1 of 1. Every task uses one GPU."""
    minimums = {0: 2, 1: 1 if 0 in pod_sets else 0}
    assert chunks([(s, gpus(1)) for s in pod_sets], minimums) == [gpus(n) for n in expected]


@pytest.mark.parametrize(
    ("placed_again", "expected"),
    [([0, 1], [1, 1]), ([0], [1, 1, 1]), ([2, 3], [2]), ([0, 1, 2, 3], [])],
    ids=["the core", "one of the core", "the surplus", "all"],
)
def test_pods_placed_again_keep_their_place_in_the_core_r4_51(
    placed_again: Sequence[int], expected: list[int]
) -> None:
    """Four pods of one GPU each in a pod set with a minimum of 2."""
    tasks = [(0, None if number in placed_again else gpus(1)) for number in range(4)]
    assert chunks(tasks, {0: 2}) == [gpus(n) for n in expected]
