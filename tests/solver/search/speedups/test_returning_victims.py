"""Nothing is gained from victims that take their places again before the preemptor has its turn."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.resources import UNLIMITED
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.options import JobOptions

GPUS = 8
WITHOUT_BOUND = tuple(name for name in SPEEDUPS if name != "reclaim_bound")


def reclaim(builder: ClusterBuilder, speedups: Iterable[str] = SPEEDUPS) -> CycleResult:
    options = CycleOptions(speedups=tuple(speedups))
    return answer(builder.build(), replace(default_profile(), actions=("reclaim",), options=options))


def full_cluster(ahead: int) -> ClusterBuilder:
    """Two queues use all GPUs. The one within its share asks for a few, after asking for many."""
    builder = ClusterBuilder().queue("small", quota=16).queue("large", quota=16)
    for number in range(4):
        builder.node(f"n{number}", gpus=GPUS)
        for place in range(GPUS):
            queue = "small" if number == 0 or (number == 1 and place < 2) else "large"
            builder.running(f"job-{number}-{place}", queue=queue, gpus=1, node=f"n{number}")
    if ahead:
        builder.pending("first", queue="small", gpus=GPUS, count=ahead)
    return builder.pending("asks", queue="small", gpus=4)


def test_a_preemptor_behind_a_large_request_is_not_simulated() -> None:
    plain, fast = reclaim(full_cluster(4), WITHOUT_BOUND), reclaim(full_cluster(4))
    assert plain.groups == fast.groups == ()
    assert plain.outcomes == fast.outcomes
    assert plain.counters.simulated > 0
    assert fast.counters.simulated < plain.counters.simulated / 4


def test_a_preemptor_that_is_first_in_its_queue_is_placed() -> None:
    plain, fast = reclaim(full_cluster(0), WITHOUT_BOUND), reclaim(full_cluster(0))
    assert len(fast.groups) == 1
    assert plain.groups == fast.groups


def random_cluster(seed: int) -> ClusterBuilder:
    """Queues with jobs of several sizes on full nodes, gangs among them; larger and smaller jobs wait."""
    draw, names, gangs = Random(seed), ("a", "b", "c", "d"), set[str]()
    builder = ClusterBuilder()
    for name in names:
        limit = draw.randint(4, 40) if draw.random() < 0.1 else UNLIMITED
        builder.queue(name, quota=draw.choice((2, 4, 8)), weight=draw.choice((1, 1, 2)), limit=limit)
    for number in range(draw.randint(3, 7)):
        node, free = f"n{number}", GPUS
        builder.node(node, gpus=GPUS)
        while free > draw.choice((0, 0, 0, 2)):
            size = min(draw.choice((1, 1, 1, 2, 4, 8)), free)
            free -= size
            queue = draw.choice(names[:3] if number else names)
            name, options = f"job-{number}-{free}", JobOptions(queue=queue, gpus=size)
            if draw.random() < 0.15:
                name = f"gang-{queue}-{size}"
                options = JobOptions() if name in gangs else options
                gangs.add(name)
            builder.running(name, node=node, **options)
    for name in names[2:]:
        builder.pending(f"first-{name}", queue=name, gpus=draw.choice((4, 8)), count=draw.randint(1, 6))
    for number in range(draw.randint(1, 6)):
        gpus, count = draw.choice((1, 2, 4, 8)), draw.choice((1, 1, 1, 2))
        builder.pending(f"asks-{number}", queue=draw.choice(names), gpus=gpus, count=count)
    return builder


@pytest.mark.long
def test_random_clusters_are_decided_as_without_it() -> None:
    simulated, moves = [0, 0], 0
    for seed in range(300):
        cluster = random_cluster(seed)
        plain, fast = reclaim(cluster, WITHOUT_BOUND), reclaim(cluster)
        assert plain.groups == fast.groups, seed
        assert plain.next_wake_time == fast.next_wake_time, seed
        simulated[0] += plain.counters.simulated
        simulated[1] += fast.counters.simulated
        moves += len(fast.groups)
    assert moves > 100
    assert simulated[1] < simulated[0]
