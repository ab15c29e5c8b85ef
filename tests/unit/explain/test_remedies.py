"""Remedies: what is found really helps, and a little less does not."""

from collections.abc import Callable

import pytest
from tenure.solver.cycle import decide
from tenure.solver.explain import changes
from tenure.solver.explain.inquiry import Inquiry
from tenure.solver.explain.remedies import Remedy, RemedyKind, remedies
from tenure.solver.explain.trial import HELPED
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.model.resources import CPU, GPU
from tenure.solver.model.workload import Preemptibility
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder

PROFILE = default_profile()


def index(cluster: Cluster) -> int:
    return next(group.index for group in cluster.pod_groups if group.name == "job")


def found(cluster: Cluster) -> dict[RemedyKind, Remedy]:
    return {each.kind: each for each in remedies(Inquiry.of(cluster, PROFILE), index(cluster))}


def starts(cluster: Cluster) -> bool:
    outcome = next(o for o in decide(cluster, PROFILE).outcomes if o.pod_group == index(cluster))
    return outcome.kind in HELPED


def with_priority(cluster: Cluster, priority: int) -> Cluster:
    return changes.with_group(cluster, index(cluster), priority=priority)


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
    queue = next(queue.index for queue in cluster.queues if queue.name == "q")
    return changes.with_more(cluster, "limit", (queue,), GPU, more)


SMALLEST: dict[str, tuple[Callable[[], Cluster], RemedyKind, int, Callable[[Cluster, int], Cluster], int]] = {
    "priority": (low_priority, RemedyKind.PRIORITY, 56, with_priority, 55),
    "minimum": (
        large_gang,
        RemedyKind.ASK_FOR_LESS,
        5,
        lambda cluster, n: changes.with_minimum(cluster, index(cluster), n),
        6,
    ),
    "limit": (tight_limits, RemedyKind.LIMIT, 2000, limited, 1900),
    "nodes": (few_nodes, RemedyKind.NODES, 3, lambda cluster, n: changes.with_nodes(cluster, 1, n), 2),
}


@pytest.mark.parametrize("name", SMALLEST)
def test_the_smallest_change_is_found(name: str) -> None:
    build, kind, number, change, less = SMALLEST[name]
    cluster = build()
    assert not starts(cluster)
    assert found(cluster)[kind].number == number
    assert starts(change(cluster, number))
    assert not starts(change(cluster, less))


def test_what_others_would_lose_is_counted() -> None:
    remedy = found(low_priority())[RemedyKind.PRIORITY]
    assert remedy.verdict == (OutcomeKind.WAITING_FOR_VICTIMS, 2)


def test_a_larger_quota_helps_who_is_not_preemptible_and_so_does_being_it() -> None:
    cluster = tight_limits(preemptibility=Preemptibility.NON_PREEMPTIBLE)
    cluster = changes.with_more(cluster, "limit", (1, 0), GPU, 10_000)
    by_kind = found(cluster)
    assert (by_kind[RemedyKind.QUOTA].number, by_kind[RemedyKind.QUOTA].resource) == (2000, GPU)
    assert [cluster.queues[queue].name for queue in by_kind[RemedyKind.QUOTA].queues] == ["q"]
    assert by_kind[RemedyKind.PREEMPTIBLE].verdict.evicted == 0


def test_when_no_single_queue_is_enough_all_on_the_path_are_raised() -> None:
    cluster = both_limits()
    remedy = found(cluster)[RemedyKind.LIMIT]
    assert [cluster.queues[queue].name for queue in remedy.queues] == ["q", "top"]
    assert remedy.number == 2000
    assert starts(changes.with_more(cluster, "limit", remedy.queues, GPU, 2000))
    assert not starts(changes.with_more(cluster, "limit", remedy.queues, GPU, 1900))


def test_limits_of_every_resource_it_asks_for_are_tried() -> None:
    builder = ClusterBuilder().node("n1").queue("q", cpu_limit=2)
    remedy = found(builder.pending("job", queue="q", cpus=3).build())[RemedyKind.LIMIT]
    assert (remedy.resource, remedy.number) == (CPU, 1000)


def test_new_nodes_are_like_the_smallest_that_fits_and_is_ready() -> None:
    builder = ClusterBuilder().node("a-cordoned", gpus=1, unready="cordoned").node("b-tiny", gpus=0, cpus=0.1)
    builder.node("c-fits", gpus=2).node("d-large", gpus=8).queue("q")
    builder.running("x", queue="q", gpus=2, node="c-fits").running("y", queue="q", gpus=8, node="d-large")
    cluster = builder.pending("job", queue="q", gpus=1).build()
    assert cluster.nodes[found(cluster)[RemedyKind.NODES].node].name == "c-fits"


def test_kinds_come_in_the_order_of_how_little_they_change() -> None:
    kinds = [each.kind for each in remedies(Inquiry.of(low_priority(), PROFILE), index(low_priority()))]
    assert kinds == sorted(kinds)
    assert len(kinds) == len(set(kinds)) > 1


def test_nothing_that_is_asked_about_is_changed() -> None:
    cluster = low_priority()
    before = decide(cluster, PROFILE)
    found(cluster)
    assert decide(cluster, PROFILE) == before
    assert cluster == low_priority()


def test_a_stop_ends_the_trials_with_what_was_found() -> None:
    cluster = low_priority()
    inquiry = Inquiry.of(cluster, PROFILE)
    assert remedies(inquiry, index(cluster), lambda: True) == []
