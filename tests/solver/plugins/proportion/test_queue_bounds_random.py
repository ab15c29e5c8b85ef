"""Properties of class limits and lending limits on random clusters (P19.1, P19.2)."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Final

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.resources import GPU, UNLIMITED
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.play.next_cluster import apply_decisions, placements
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.durations import SECOND

PROFILE: Final = default_profile()
LEAVES: Final = ("a1", "a2", "b1", "b2")
CLASSES: Final = ("h", "l", "")


def random_cluster(random: Random) -> ClusterBuilder:
    builder = ClusterBuilder()
    for i in range(random.randint(1, 4)):
        builder.node(f"n{i}", gpus=4, node_class=random.choice(CLASSES))
    for name in ("a", "b"):
        builder.queue(name, **_bounds(random, 12))
    for name in LEAVES:
        builder.queue(name, parent=name[0], **_bounds(random, 6))
    for i in range(random.randint(2, 14)):
        options = {
            "queue": random.choice(LEAVES),
            "priority": random.choice((50, 75)),
            "preemptibility": random.choice((Preemptibility.PREEMPTIBLE, Preemptibility.NON_PREEMPTIBLE)),
            "gpus": random.choice((1, 1, 2)),
            "count": random.randint(1, 3),
        }
        builder.pending(f"g{i}", **options)
    return builder


def _bounds(random: Random, most: int) -> dict[str, object]:
    quota = random.randint(0, most)
    limits = {name: (random.choice((-1, 3)), random.choice((-1, 1, 4))) for name in CLASSES[:2]}
    return {
        "quota": quota,
        "limit": random.choice((-1, most)),
        **({"lending_limit": random.randint(0, most)} if random.random() < 0.5 else {}),
        **({"class_limits": limits} if random.random() < 0.5 else {}),
        **({"max_running": random.randint(1, 4)} if random.random() < 0.2 else {}),
    }


def class_use(cluster: Cluster, result: CycleResult | None) -> Counter[tuple[int, str]]:
    """GPUs in thousandths by queue and class, with what a result binds and reserves."""
    after = [task.placement for task in cluster.tasks]
    if result is not None:
        after = placements(cluster, result.groups)
    used = Counter[tuple[int, str]]()
    for task in cluster.tasks:
        placement, queue = after[task.index], cluster.pod_groups[task.pod_group].queue
        if placement.is_active_allocated and placement.node != NOWHERE and queue is not None:
            name = cluster.nodes[placement.node].facts.node_class
            for each in cluster.queues[queue].path:
                used[each, name] += task.shape.gpu.gpu_milli()
    return used


@pytest.mark.parametrize("seed", range(30))
def test_no_class_limit_is_exceeded_by_a_start(seed: int) -> None:
    """P19.2, in three cycles; and the use of classes is told as it is."""
    cluster = random_cluster(Random(seed)).build()
    for _ in range(3):
        result = answer(cluster, PROFILE)
        before, after = class_use(cluster, None), class_use(cluster, result)
        for queue in cluster.queues:
            for each in queue.facts.class_limits:
                key = (queue.index, each.node_class)
                assert each.limit == UNLIMITED or after[key] <= max(each.limit, before[key])
        for status in result.queues:
            assert {(status.queue, name): gpu for name, gpu in status.by_class} == {
                (status.queue, each.node_class): after[status.queue, each.node_class]
                for each in cluster.queues[status.queue].facts.class_limits
            }
        cluster = apply_decisions(cluster, result, 60 * SECOND)


def crowded_cluster(random: Random) -> ClusterBuilder:
    """A random cluster with pod groups that run, so that others reclaim and preempt from them."""
    builder = random_cluster(random)
    for node in range(4):
        for number in range(random.randint(0, 3)):
            if node < len(builder.build().nodes):
                mode = random.choice((Preemptibility.PREEMPTIBLE, Preemptibility.SEMI_PREEMPTIBLE))
                builder.running(
                    f"r{node}-{number}",
                    queue=random.choice(LEAVES),
                    gpus=1,
                    node=f"n{node}",
                    priority=random.choice((40, 50)),
                    preemptibility=mode,
                )
    return builder


@pytest.mark.parametrize("seed", range(40))
def test_speedups_decide_as_the_plain_search_with_these_bounds(seed: int) -> None:
    cluster = crowded_cluster(Random(seed)).build()
    plain = replace(PROFILE, options=replace(PROFILE.options, speedups=()))
    fast, slow = answer(cluster, PROFILE), answer(cluster, plain)
    assert fast.groups == slow.groups
    assert {(each.pod_group, each.kind) for each in fast.outcomes} == {
        (each.pod_group, each.kind) for each in slow.outcomes
    }


def lenders(random: Random) -> ClusterBuilder:
    """Two parents whose quotas fit a node of 12 GPUs, with two leaves each that lend up to 3 GPUs."""
    builder, left = ClusterBuilder().node("n", gpus=12), 12
    for name in ("a", "b"):
        most = random.randint(0, left)
        left -= most
        builder.queue(name, quota=most, limit=random.choice((-1, 12)))
        first = random.randint(0, most)
        for leaf, quota in ((f"{name}1", first), (f"{name}2", most - first)):
            builder.queue(leaf, parent=name, quota=quota, lending_limit=random.randint(0, 3))
    return builder


@pytest.mark.parametrize("seed", range(30))
def test_what_is_kept_can_be_started_at_any_time_without_an_eviction(seed: int) -> None:
    """P19.1: after random starts, each leaf gets what is left of its guarantee at once."""
    random = Random(seed)
    builder, wishes = lenders(random), [random.choice(LEAVES) for _ in range(random.randint(4, 20))]
    for number, queue in enumerate(wishes):
        builder.pending(f"g{number:02}", queue=queue, gpus=1)
    ran = started(builder.build())
    late = lenders(Random(seed))
    used = Counter[str](wishes[int(name[1:])] for name in ran)
    for number, queue in enumerate(wishes):
        add = late.running if f"g{number:02}" in ran else late.pending
        add(f"g{number:02}", queue=queue, gpus=1, **({"node": "n"} if f"g{number:02}" in ran else {}))
    kept: dict[str, int] = {}
    for queue in builder.build().queues:
        if (lent := queue.facts.lending_limit[GPU]) == UNLIMITED:
            continue
        kept[queue.facts.name] = max(0, (queue.facts.quota[GPU] - lent) // 1_000 - used[queue.facts.name])
        for number in range(kept[queue.facts.name]):
            late.pending(f"late-{queue.facts.name}-{number}", queue=queue.facts.name, gpus=1)
    cluster = late.build()
    of_leaf = {group.facts.name: group.facts.queue_name for group in cluster.pod_groups}
    begun = Counter[str](of_leaf[name] for name in started(cluster, "allocate"))
    assert all(begun[leaf] >= number for leaf, number in kept.items())


def started(cluster: Cluster, *actions: str) -> set[str]:
    """Pod groups that a cycle starts."""
    profile = replace(PROFILE, actions=actions) if actions else PROFILE
    groups = answer(cluster, profile).groups
    return {cluster.pod_groups[group.beneficiary].facts.name for group in groups if group.bindings}
