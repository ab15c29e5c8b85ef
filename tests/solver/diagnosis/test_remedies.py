"""Remedies: a reported remedy lets the pod group start, and a slightly smaller change does not."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tenure.solver.diagnosis import what_if
from tenure.solver.diagnosis.answer import answer
from tenure.solver.diagnosis.remedies import Remedy, RemedyKind, find_remedies
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.diagnosis.what_if import HELPFUL_OUTCOMES
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.model.resources import CPU, GPU
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.durations import SECOND

PROFILE = default_profile()


def index(cluster: Cluster) -> int:
    return next(group.index for group in cluster.pod_groups if group.facts.name == "job")


def remedies_of(cluster: Cluster) -> dict[RemedyKind, Remedy]:
    found = find_remedies(CycleReplay(cluster, PROFILE), index(cluster))
    return {each.kind: each for each in found.remedies}


def does_start(cluster: Cluster) -> bool:
    outcome = next(o for o in answer(cluster, PROFILE).outcomes if o.pod_group == index(cluster))
    return outcome.kind in HELPFUL_OUTCOMES


def with_priority(cluster: Cluster, priority: int) -> Cluster:
    return what_if.with_facts(cluster, index(cluster), priority=priority)


def low_priority() -> Cluster:
    return (
        ClusterBuilder()
        .node("n1", gpus=3)
        .queue("q", quota=3)
        .running("low", queue="q", gpus=1, node="n1", priority=40)
        .running("mid", queue="q", gpus=1, node="n1", priority=55)
        .running("high", queue="q", gpus=1, node="n1", priority=70)
        .pending("job", queue="q", gpus=2, priority=45)
        .build()
    )


def large_gang() -> Cluster:
    return ClusterBuilder().node("n1", gpus=5).queue("q").pending("job", queue="q", gpus=1, count=9).build()


def tight_limits(**options: object) -> Cluster:
    builder = ClusterBuilder().node("n1", gpus=8).queue("top", limit=6, quota=6)
    builder.queue("q", parent="top", limit=2, quota=2)
    return builder.pending("job", queue="q", gpus=1, count=4, **options).build()


def both_limits() -> Cluster:
    builder = ClusterBuilder().node("n1", gpus=8).queue("top", limit=1).queue("q", parent="top", limit=2)
    return builder.pending("job", queue="q", gpus=3).build()


def few_nodes() -> Cluster:
    builder = ClusterBuilder().node("big", gpus=8).node("small", gpus=2).queue("q")
    builder.running("old", queue="q", gpus=8, node="big").running("other", queue="q", gpus=2, node="small")
    return builder.pending("job", queue="q", gpus=1, count=5).build()


def limited(cluster: Cluster, more: int) -> Cluster:
    queue = next(queue.index for queue in cluster.queues if queue.facts.name == "q")
    return what_if.with_larger_bounds(cluster, "limit", (queue,), GPU, more)


SMALLEST: dict[str, tuple[Callable[[], Cluster], RemedyKind, int, Callable[[Cluster, int], Cluster], int]] = {
    "priority": (low_priority, RemedyKind.RAISE_PRIORITY, 56, with_priority, 55),
    "minimum": (
        large_gang,
        RemedyKind.REDUCE_MINIMUM,
        5,
        lambda cluster, n: what_if.with_minimum(cluster, index(cluster), n),
        6,
    ),
    "limit": (tight_limits, RemedyKind.RAISE_LIMIT, 2000, limited, 1900),
    "nodes": (
        few_nodes,
        RemedyKind.ADD_NODES,
        3,
        lambda cluster, n: what_if.with_nodes(cluster, 1, n),
        2,
    ),
}


@pytest.mark.parametrize("name", SMALLEST)
def test_the_smallest_change_is_found(name: str) -> None:
    build, kind, number, change, less = SMALLEST[name]
    cluster = build()
    assert not does_start(cluster)
    assert remedies_of(cluster)[kind].number == number
    assert does_start(change(cluster, number))
    assert not does_start(change(cluster, less))


def test_evictions_of_a_remedy_are_counted() -> None:
    remedy = remedies_of(low_priority())[RemedyKind.RAISE_PRIORITY]
    assert remedy.result[:2] == (OutcomeKind.WAITING_FOR_VICTIMS, 2)


def test_quota_and_preemptibility_are_remedies_for_a_non_preemptible_pod_group() -> None:
    cluster = tight_limits(preemptibility=Preemptibility.NON_PREEMPTIBLE)
    cluster = what_if.with_larger_bounds(cluster, "limit", (1, 0), GPU, 10_000)
    by_kind = remedies_of(cluster)
    assert (by_kind[RemedyKind.RAISE_QUOTA].number, by_kind[RemedyKind.RAISE_QUOTA].resource) == (2000, GPU)
    assert [cluster.queues[queue].facts.name for queue in by_kind[RemedyKind.RAISE_QUOTA].queues] == ["q"]
    assert by_kind[RemedyKind.MAKE_PREEMPTIBLE].result.evicted == 0


def test_limits_of_all_queues_on_the_path_are_raised_if_one_is_not_enough() -> None:
    cluster = both_limits()
    remedy = remedies_of(cluster)[RemedyKind.RAISE_LIMIT]
    assert [cluster.queues[queue].facts.name for queue in remedy.queues] == ["q", "top"]
    assert remedy.number == 2000
    assert does_start(what_if.with_larger_bounds(cluster, "limit", remedy.queues, GPU, 2000))
    assert not does_start(what_if.with_larger_bounds(cluster, "limit", remedy.queues, GPU, 1900))


def test_limits_of_every_requested_resource_are_tried() -> None:
    builder = ClusterBuilder().node("n1").queue("q", cpu_limit=2)
    remedy = remedies_of(builder.pending("job", queue="q", cpus=3).build())[RemedyKind.RAISE_LIMIT]
    assert (remedy.resource, remedy.number) == (CPU, 1000)


def test_added_node_equals_the_smallest_fitting_ready_node() -> None:
    builder = ClusterBuilder().node("a-cordoned", gpus=1, unready="cordoned").node("b-tiny", gpus=0, cpus=0.1)
    builder.node("c-fits", gpus=2).node("d-large", gpus=8).queue("q")
    builder.running("x", queue="q", gpus=2, node="c-fits").running("y", queue="q", gpus=8, node="d-large")
    cluster = builder.pending("job", queue="q", gpus=1).build()
    assert cluster.nodes[remedies_of(cluster)[RemedyKind.ADD_NODES].node].facts.name == "c-fits"


def test_remedies_are_ordered_by_extent_of_the_change() -> None:
    cluster = low_priority()
    found = find_remedies(CycleReplay(cluster, PROFILE), index(cluster))
    kinds = [each.kind for each in found.remedies]
    assert kinds == sorted(kinds)
    assert len(kinds) == len(set(kinds)) > 1


def test_search_for_remedies_changes_nothing() -> None:
    cluster = low_priority()
    before = answer(cluster, PROFILE)
    remedies_of(cluster)
    assert answer(cluster, PROFILE) == before
    assert cluster == low_priority()


def test_stop_signal_ends_the_trials_with_partial_results() -> None:
    cluster = low_priority()
    inquiry = CycleReplay(cluster, PROFILE)
    found = find_remedies(inquiry, index(cluster), lambda: True)
    assert (found.remedies, found.is_complete) == ([], False)


def test_longer_notices_for_others_do_not_let_its_own_expire() -> None:
    builder = ClusterBuilder().node("n1", gpus=2)
    for name, queue, notice in (("job", "q1", "2m"), ("other", "q2", "1h")):
        builder.queue(queue, quota=1)
        builder.running(f"victim of {name}", queue=queue, gpus=1, node="n1", priority=50, notice=notice)
        builder.pending(name, queue=queue, gpus=1, priority=75)
    cluster = builder.build()
    options = replace(PROFILE.options, max_notice=3600 * SECOND, notice_cooldown=7200 * SECOND)
    profile = replace(PROFILE, options=options)
    trials = what_if.WhatIfTrials(profile, BUILT_IN, cluster.pod_groups[index(cluster)])
    found = trials.verify(cluster)
    assert found is not None
    assert found[:2] == (OutcomeKind.WAITING_FOR_VICTIMS, 1)
