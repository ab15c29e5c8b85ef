"""Relocations that cannot all find a place are not simulated; the others are found as without the bound."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import CycleResult
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.options import JobOptions

GPUS = 8
WITHOUT_BOUND = tuple(name for name in SPEEDUPS if name != "pruning")


def consolidate(builder: ClusterBuilder, speedups: Iterable[str] = SPEEDUPS) -> CycleResult:
    options = CycleOptions(speedups=tuple(speedups))
    return answer(builder.build(), replace(default_profile(), actions=("consolidation",), options=options))


def nodes_with_jobs(*nodes: tuple[int, ...]) -> ClusterBuilder:
    """A node of 8 GPUs for each tuple, with running jobs of these sizes."""
    builder = ClusterBuilder().queue("q")
    for number, sizes in enumerate(nodes):
        builder.node(f"n{number}", gpus=GPUS)
        for place, size in enumerate(sizes):
            builder.running(f"job-{number}-{place}", queue="q", gpus=size, node=f"n{number}")
    return builder


@pytest.mark.parametrize(
    ("nodes", "gpus", "count"),
    [
        (((8,), (4, 3), (4, 3), (4, 3), (4, 3), (4, 3)), 4, 1),
        (((3, 3), (3, 3), (3, 3), (3, 3)), 8, 1),
        (((7,), (7,), (7,), (7,), (7,), (7,), (7,), (7,)), 4, 2),
        (((4,), (3, 3), (3, 3), (3, 3)), 4, 2),
    ],
    ids=["whole nodes", "pairs", "gang", "part of a gang"],
)
def test_nothing_is_simulated_where_no_place_exists(
    nodes: tuple[tuple[int, ...], ...], gpus: int, count: int
) -> None:
    builder = nodes_with_jobs(*nodes).pending("asks", queue="q", gpus=gpus, count=count)
    plain, fast = consolidate(builder, WITHOUT_BOUND), consolidate(builder)
    assert not plain.groups
    assert not fast.groups
    assert plain.outcomes == fast.outcomes
    assert fast.counters.simulated < plain.counters.simulated


def random_cluster(seed: int) -> ClusterBuilder:
    """Fragmented nodes with jobs of several sizes, gangs and elastic jobs; jobs and gangs wait."""
    draw, builder, gangs = Random(seed), ClusterBuilder().queue("q").queue("r"), set[str]()
    for number in range(draw.randint(2, 6)):
        node, free = f"n{number}", GPUS
        builder.node(node, gpus=GPUS)
        while free > draw.randint(0, 3):
            size = min(draw.choice((1, 1, 2, 2, 3, 4, 8)), free)
            free -= size
            name, options = f"job-{number}-{free}", JobOptions(queue="q", gpus=size)
            if draw.random() < 0.2:
                name = f"gang-{size}"
                options = JobOptions() if name in gangs else options
                gangs.add(name)
            builder.running(name, node=node, **options)
    for number in range(draw.randint(1, 3)):
        builder.pending(
            f"asks-{number}", queue="qr"[number % 2], gpus=draw.choice((2, 3, 4, 8)), count=draw.randint(1, 3)
        )
    return builder


def test_random_clusters_are_decided_as_without_it() -> None:
    simulated, moves, failures = [0, 0], 0, 0
    for seed in range(300):
        cluster = random_cluster(seed)
        plain, fast = consolidate(cluster, WITHOUT_BOUND), consolidate(cluster)
        assert plain.groups == fast.groups, seed
        assert plain.outcomes == fast.outcomes, seed
        assert plain.next_wake_time == fast.next_wake_time, seed
        simulated[0] += plain.counters.simulated
        simulated[1] += fast.counters.simulated
        moves += len(fast.groups)
        failures += not fast.groups
    assert moves > 50
    assert failures > 50
    assert simulated[1] * 4 < simulated[0] * 3
