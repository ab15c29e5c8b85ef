"""Pod groups that request at least as much as one that just failed are skipped."""

import pytest
from tenure.solver.actions.reclaim import RECLAIM
from tenure.solver.model.constraints import PodAffinityTerm
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.search.similar_failures import SimilarFailures
from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.options import JobOptions

from tests.solver.sessions import open_session

TWO_GPUS: JobOptions = {"gpus": 2}
NON_PREEMPTIBLE = Preemptibility.NON_PREEMPTIBLE
SEMI = Preemptibility.SEMI_PREEMPTIBLE
X: JobOptions = {"gpus": 2, "labels": {"app": "x"}}
AVOIDS_X: JobOptions = {**X, "pod_anti_affinity": [PodAffinityTerm((("app", "x"),), "host")]}
HOPELESS = {
    "R5.83 the same": (TWO_GPUS, 2, {"gpus": 2}, 2, True),
    "R5.83 more of a resource": (TWO_GPUS, 2, {"gpus": 3}, 2, True),
    "R5.83 less of a resource is easier": (TWO_GPUS, 2, {"gpus": 1}, 2, False),
    "R5.83 fewer pods are easier": (TWO_GPUS, 2, {"gpus": 8}, 1, False),
    "R5.83 more pods": (TWO_GPUS, 2, {"gpus": 1}, 3, True),
    "R5.83 less of one, more of another": (TWO_GPUS, 2, {"gpus": 1, "cpus": 9}, 2, True),
    "R5.83 a smaller share": ({"gpus": 0.5}, 1, {"gpus": 0.3}, 1, False),
    "R5.82 another priority": (TWO_GPUS, 2, {"gpus": 2, "priority": 75}, 2, False),
    "R5.82 other constraints": (TWO_GPUS, 2, {"gpus": 2, "node_selector": {"a": "b"}}, 2, False),
    "R5.82 other labels, where pods depend on pods": (AVOIDS_X, 1, {**AVOIDS_X, "labels": {}}, 1, False),
    "R5.82 another namespace, where they do": (AVOIDS_X, 1, {**AVOIDS_X, "namespace": "other"}, 1, False),
    "R5.82 other labels, where none does": (X, 1, {**X, "labels": {}}, 1, True),
    "R5.81 another queue": (TWO_GPUS, 2, {"gpus": 2, "queue": "other"}, 2, False),
    "R5.82 one must be within quota": (
        TWO_GPUS,
        2,
        {**TWO_GPUS, "preemptibility": NON_PREEMPTIBLE},
        2,
        False,
    ),
    "R5.82 both must be within quota": (
        {**TWO_GPUS, "preemptibility": NON_PREEMPTIBLE},
        2,
        {**TWO_GPUS, "opt_out_actions": ["reclaim"]},
        2,
        True,
    ),
    "R8.30 a minimum must be within quota": (TWO_GPUS, 2, {**TWO_GPUS, "preemptibility": SEMI}, 2, False),
    "R8.30 surplus need not be": (
        TWO_GPUS,
        2,
        {**TWO_GPUS, "preemptibility": SEMI, "min_member": 0},
        2,
        True,
    ),
}


def failures(*jobs: tuple[JobOptions, int], by_queue: bool = True) -> tuple[SimilarFailures, list[list[int]]]:
    """The recorded failures of an action, and the tasks of each job."""
    builder = ClusterBuilder().node("n").queue("q").queue("other")
    for number, (options, count) in enumerate(jobs):
        builder.pending(f"job{number}", count=count, **{"queue": "q", **options})
    session = open_session(builder.build())
    similar = SimilarFailures(session, RECLAIM, by_queue=by_queue)
    return similar, [list(g.tasks) for g in session.cluster.pod_groups]


@pytest.mark.parametrize(
    ("failed", "failed_count", "next_", "next_count", "expected"), HOPELESS.values(), ids=HOPELESS
)
def test_pod_group_with_no_smaller_request_is_hopeless(
    failed: JobOptions, failed_count: int, next_: JobOptions, next_count: int, expected: bool
) -> None:
    similar, tasks = failures((failed, failed_count), (next_, next_count))
    assert similar.failed_like(1, tasks[1]) is None
    similar.add(0, tasks[0], has_protected=False)
    assert (similar.failed_like(1, tasks[1]) is not None) is expected


def test_consolidation_compares_across_queues_r5_81() -> None:
    similar, tasks = failures((TWO_GPUS, 1), ({**TWO_GPUS, "queue": "other"}, 1), by_queue=False)
    similar.add(0, tasks[0], has_protected=False)
    assert similar.failed_like(1, tasks[1]) == 0


@pytest.mark.parametrize(
    ("second", "third", "expected"),
    [({"gpus": 1}, {"gpus": 1}, True), ({"gpus": 3}, {"gpus": 1}, False)],
    ids=["an easier failure replaces the known one", "a harder one does not"],
)
def test_smallest_failed_request_is_stored_r5_84(
    second: JobOptions, third: JobOptions, expected: bool
) -> None:
    similar, tasks = failures((TWO_GPUS, 1), (second, 1), (third, 1))
    similar.add(0, tasks[0], has_protected=False)
    similar.add(1, tasks[1], has_protected=False)
    assert (similar.failed_like(2, tasks[2]) is not None) is expected


@pytest.mark.parametrize(
    ("by_queue", "has_protected", "expected"),
    [(True, False, True), (True, True, True), (False, False, True), (False, True, False)],
)
def test_protection_applies_to_preemptors_of_the_same_queue_r5_84(
    by_queue: bool, has_protected: bool, expected: bool
) -> None:
    builder = ClusterBuilder().queue("q").pending("a", queue="q", gpus=2).pending("b", queue="q", gpus=2)
    similar = SimilarFailures(open_session(builder.build()), RECLAIM, by_queue=by_queue)
    similar.add(0, [0], has_protected=has_protected)
    assert (similar.failed_like(1, [1]) is not None) is expected


@pytest.mark.parametrize(
    ("other", "who"),
    [
        ({"queue": "q", "namespace": "a"}, "pod group b"),
        ({"queue": "q", "namespace": "c"}, "another pod group of its queue"),
        ({"queue": "p", "namespace": "a"}, "a pod group of another queue"),
    ],
)
def test_failure_names_a_pod_group_of_the_same_queue_and_namespace_only(
    other: dict[str, str], who: str
) -> None:
    builder = ClusterBuilder().queue("q").queue("p").pending("a", queue="q", namespace="a", gpus=2)
    session = open_session(builder.pending("b", gpus=2, **other).build())
    similar = SimilarFailures(session, RECLAIM, by_queue=False)
    similar.add(1, [1], has_protected=False)
    assert similar.describe(0, [0]) == f"{who} with no larger request was just found unschedulable"
