"""The minimum of a semi-preemptible pod group must be within quota; its surplus may exceed it."""

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, evictions
from tenure.terms.reasons import ReasonCode

SEMI = Preemptibility.SEMI_PREEMPTIBLE
NON_PREEMPTIBLE = Preemptibility.NON_PREEMPTIBLE
PREEMPTIBLE = Preemptibility.PREEMPTIBLE
PENDING = ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA


def bound_pods(builder: ClusterBuilder) -> list[str]:
    """Uids of the pods that are bound, sorted."""
    cluster = builder.build()
    groups = answer(cluster, default_profile()).groups
    return sorted(cluster.tasks[bind.task].facts.uid for group in groups for bind in group.bindings)


def queue(quota: float, department: float = -1) -> ClusterBuilder:
    """Eight free GPUs, and a queue with this quota in a department with a quota of its own."""
    builder = ClusterBuilder().node("n", gpus=8)
    return builder.queue("dept", quota=department).queue("q", parent="dept", quota=quota)


REQUESTED = {
    "R8.30 the minimum fills the quota, the rest goes beyond": (2, 4, queue(2), 4),
    "R8.30 the minimum would exceed the quota": (3, 4, queue(2), 0),
    "R8.30 at every level of the tree": (3, 4, queue(4, department=2), 0),
    "R8.30 a minimum of 0 asks nothing of the quota": (0, 2, queue(0), 2),
    "R8.32 beside a minimum that runs": (
        2,
        3,
        queue(3).running("other", queue="q", gpus=1, count=2, min_member=1, node="n", preemptibility=SEMI),
        3,
    ),
    "R8.32 not beside one that leaves too little": (
        2,
        3,
        queue(3).running("other", queue="q", gpus=1, count=2, min_member=2, node="n", preemptibility=SEMI),
        0,
    ),
    "R4.61 not beside non-preemptible pods that leave too little": (
        2,
        3,
        queue(3).running("other", queue="q", gpus=2, node="n", preemptibility=NON_PREEMPTIBLE),
        0,
    ),
    "R4.61 preemptible pods do not count": (
        2,
        3,
        queue(3).running("other", queue="q", gpus=3, node="n", preemptibility=PREEMPTIBLE),
        3,
    ),
}


@pytest.mark.parametrize(("minimum", "count", "builder", "expected"), REQUESTED.values(), ids=REQUESTED)
def test_minimum_of_the_request_must_be_within_quota(
    minimum: int, count: int, builder: ClusterBuilder, expected: int
) -> None:
    builder.pending("job", queue="q", gpus=1, count=count, min_member=minimum, preemptibility=SEMI)
    assert bound_pods(builder) == [f"job-{number}" for number in range(expected)]


def test_pod_group_over_quota_is_waiting_for_quota() -> None:
    builder = queue(2).pending("job", queue="q", gpus=1, count=3, preemptibility=SEMI)
    (outcome,) = answer(builder.build(), default_profile()).outcomes
    assert (outcome.kind, outcome.reason.code) == (OutcomeKind.WAITING_FOR_QUOTA, PENDING)


LEFT = {
    "R8.32 the minimum counts": (2, 3, 1, True),
    "R8.32 no more than the minimum counts": (2, 4, 1, True),
    "R8.32 all of the minimum counts": (2, 3, 2, False),
    "R8.32 of one below its minimum all counts": (4, 2, 2, False),
    "R8.32 of one without a minimum nothing counts": (0, 3, 3, True),
}


@pytest.mark.parametrize(("minimum", "running", "asked", "expected"), LEFT.values(), ids=LEFT)
def test_running_core_uses_quota_and_surplus_does_not(
    minimum: int, running: int, asked: int, expected: bool
) -> None:
    """The quota is three GPUs. One pod of a non-preemptible pod group needs some of them."""
    builder = queue(3).running(
        "job", queue="q", gpus=1, count=running, min_member=minimum, node="n", preemptibility=SEMI
    )
    builder.pending("new", queue="q", gpus=asked, preemptibility=NON_PREEMPTIBLE)
    assert bound_pods(builder) == (["new-0"] if expected else [])


def with_sub_groups(quota: float, required: int | None, first: float, second: float) -> ClusterBuilder:
    """A pod group with one pod in each of two sub groups, with these numbers of GPUs."""
    builder = queue(quota).pod_group("job", queue="q", min_sub_groups=required, preemptibility=SEMI)
    for name, gpus in (("a", first), ("b", second)):
        builder.sub_group("job", name, min_member=1).pending("job", gpus=gpus, sub_group=name)
    return builder


PARTS = {
    "R8.30 both are required and must fit": (with_sub_groups(2, None, 1, 2), []),
    "R8.30 both are required and fit": (with_sub_groups(3, None, 1, 2), ["job-0", "job-1"]),
    "R8.30 the one that is required fits, the other goes beyond": (
        with_sub_groups(1, 1, 1, 2),
        ["job-0", "job-1"],
    ),
    "R8.30 the one that is required does not fit": (with_sub_groups(1, 1, 2, 1), []),
    "R8.30 none is required": (with_sub_groups(0, 0, 1, 2), ["job-0", "job-1"]),
}


@pytest.mark.parametrize(("builder", "expected"), PARTS.values(), ids=PARTS)
def test_optional_sub_groups_can_exceed_the_quota(builder: ClusterBuilder, expected: list[str]) -> None:
    assert bound_pods(builder) == expected


def test_sub_group_that_would_replace_another_in_the_core_must_be_within_quota_r8_35() -> None:
    """When the first sub group runs, it becomes the core. It uses two GPUs more than the other one."""
    for quota, expected in ((3, ["job-1"]), (2, [])):
        builder = queue(quota).pod_group("job", queue="q", min_sub_groups=1, preemptibility=SEMI)
        builder.sub_group("job", "a", min_member=1).sub_group("job", "b", min_member=1)
        builder.running("job", gpus=1, node="n", sub_group="b").pending("job", gpus=3, sub_group="a")
        assert bound_pods(builder) == expected


@pytest.mark.parametrize(
    ("quota", "expected"),
    [(2, ["job-2"]), (1, [])],
    ids=["the bigger of two within quota", "beyond the quota"],
)
def test_a_leader_that_starts_late_must_be_within_quota_r8_35(quota: int, expected: list[str]) -> None:
    """A leader that starts replaces a worker in the core, and the usage of the core grows by one GPU."""
    builder = queue(quota).pod_group("job", queue="q", min_member=1, preemptibility=SEMI)
    builder.running("job", gpus=1, count=2, node="n").pending("job", gpus=2, leader=True)
    assert bound_pods(builder) == expected


def reclaim_cluster(quota: float, running: int) -> ClusterBuilder:
    """`job` needs two pods and has one more. Another queue is above its fair share."""
    builder = ClusterBuilder().node("n", gpus=4).queue("a", quota=0, weight=0).queue("q", quota=quota)
    builder.running("old", queue="a", gpus=1, count=4 - running, min_member=1, node="n")
    builder.pod_group("job", queue="q", min_member=2, preemptibility=SEMI)
    if running:
        builder.running("job", gpus=1, count=running, node="n")
    return builder.pending("job", gpus=1, count=3 - running)


RECLAIMS = {
    "R4.40 the minimum within quota": (2, 0, True),
    "R4.40 not the minimum beyond quota": (1, 0, False),
    "R4.56 what is missing of the minimum beyond quota": (1, 1, False),
    "R4.56 what is missing of the minimum within quota": (2, 1, True),
    "R4.41 surplus beyond quota, within its fair share": (1, 2, True),
}


@pytest.mark.parametrize(("quota", "running", "expected"), RECLAIMS.values(), ids=RECLAIMS)
def test_reclaim_is_for_the_minimum_within_quota_and_for_surplus_within_the_share(
    quota: float, running: int, expected: bool
) -> None:
    decision = answer(reclaim_cluster(quota, running).build(), default_profile())
    assert any(group.action == "reclaim" for group in decision.groups) is expected


@pytest.mark.parametrize(
    ("running", "expected"), [(0, False), (1, True)], ids=["for its minimum", "for its surplus"]
)
def test_preempt_beyond_quota_is_for_surplus_only_r6_21(running: int, expected: bool) -> None:
    """The quota of the queue is one GPU below the minimum, and a pod group of lower priority runs."""
    builder = ClusterBuilder().node("n", gpus=2).queue("q", quota=running)
    builder.running("old", queue="q", gpus=1, count=2 - running, min_member=0, node="n")
    builder.pod_group("job", queue="q", min_member=1, priority=90, preemptibility=SEMI)
    builder.running("job", gpus=1, count=running, node="n").pending("job", gpus=1, count=2 - running)
    assert bool(list(evictions(answer(builder.build(), default_profile())))) is expected


@pytest.mark.parametrize(
    ("running", "expected"), [(0, []), (1, ["consolidation"])], ids=["for its minimum", "for its surplus"]
)
def test_pods_are_relocated_for_surplus_only_r6_30(running: int, expected: list[str]) -> None:
    """Two nodes with one free GPU each, and a pod that needs two GPUs on one node."""
    builder = ClusterBuilder().queue("q").node("n1", gpus=2).node("n2", gpus=2).node("n3", gpus=2 * running)
    for node in ("n1", "n2"):
        builder.running(f"on-{node}", queue="q", gpus=1, node=node)
    builder.pod_group("job", queue="q", min_member=1, preemptibility=SEMI)
    builder.running("job", gpus=2, count=running, node="n3").pending("job", gpus=2)
    decision = answer(builder.build(), default_profile())
    assert [group.action for group in decision.groups] == expected
