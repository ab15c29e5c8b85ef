"""Several overdue pod groups make room for one contender together: the smallest set, each once (R12.46)."""

from typing import Any, Final

import pytest
from tenure.solver.model.decision import PatchKind
from tenure.solver.model.requeue import NominationResult
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.testing import NOW, ClusterBuilder
from tenure.terms.durations import SECOND
from tenure.terms.reasons import ReasonCode

from tests.solver.actions.requeue_cases import OVERDUE, run_cycle

MINUTE: Final = 60 * SECOND
TOGETHER: Final = (
    "no contender fits in its place, nor in that of all pod groups past their expected runtime together"
)
Jobs = dict[str, dict[str, Any]]
ONE: Final[dict[str, Any]] = {}
TWO_GPUS: Final = {"gpus": 2}
SETS: Final[dict[str, tuple[Jobs, dict[str, Any], list[str]]]] = {
    "two of one GPU for one of two": ({"x": ONE, "y": ONE}, {"gpus": 2}, ["x", "y"]),
    "of two queues": ({"x": ONE, "y": {"queue": "b"}}, {"gpus": 2}, ["x", "y"]),
    "of the contender's own queue": ({"x": {"queue": "b"}, "y": {"queue": "b"}}, {"gpus": 2}, ["x", "y"]),
    "a gang of two": ({"x": ONE, "y": ONE}, {"gpus": 1, "count": 2}, ["x", "y"]),
    "one suffices": ({"x": ONE, "y": TWO_GPUS}, {"gpus": 2}, ["y"]),
    "one suffices, though others are less important": (
        {"x": {"priority": 30}, "y": {"priority": 30}, "z": TWO_GPUS},
        {"gpus": 2},
        ["z"],
    ),
    "two suffice, though three of lower priority would": (
        {"v": {"priority": 10}, "w": {"priority": 20}, "x": {"priority": 30}, "y": TWO_GPUS},
        {"gpus": 3},
        ["v", "y"],
    ),
    "of equal sets the least important": (
        {"x": ONE, "y": {"priority": 30}, "z": {"priority": 20}},
        {"gpus": 2},
        ["y", "z"],
    ),
    "of equal sets the most overdue": (
        {"x": ONE, "y": {"expected_runtime": "10m"}, "z": {"expected_runtime": "5m"}},
        {"gpus": 2},
        ["y", "z"],
    ),
    "a protected one does not help": ({"x": ONE, "y": {"opt_out_actions": ["requeue"]}}, {"gpus": 2}, []),
    "one in its cooldown does not help": ({"x": ONE, "y": {"requeue_in": "5m"}}, {"gpus": 2}, []),
    "one of the same priority does not help": ({"x": ONE, "y": {"priority": 50}}, {"gpus": 2}, []),
    "all of them are not enough": ({"x": ONE, "y": ONE}, {"gpus": 3}, []),
}


def story(jobs: Jobs, **contender: Any) -> ClusterBuilder:
    """A node that is full of these jobs, and the contender of queue b."""
    builder = ClusterBuilder().queue("a").queue("b")
    gpus = sum(job.get("gpus", 1) * job.get("count", 1) for job in jobs.values())
    builder.node("n", gpus=gpus)
    for name, job in jobs.items():
        builder.running(name, **{**OVERDUE, "node": "n", **job})
    return builder.pending("new", **{"queue": "b", "priority": 50, **contender})


def requeued(builder: ClusterBuilder, **options: Any) -> list[str]:
    cluster, decision = run_cycle(builder, **options)
    found = [n.pod_group for n in decision.nominations if n.result is NominationResult.REQUEUED]
    return sorted(cluster.pod_groups[index].facts.name for index in found)


@pytest.mark.parametrize(("jobs", "contender", "expected"), SETS.values(), ids=SETS)
def test_smallest_set_that_makes_room_is_requeued(
    jobs: Jobs, contender: dict[str, Any], expected: list[str]
) -> None:
    assert requeued(story(jobs, **contender)) == expected


def test_each_pod_group_has_one_decision_one_end_and_one_result() -> None:
    """Each with its own requeue delay, in one decision group for the contender."""
    jobs: Jobs = {"x": {"requeue_delay": "10m"}, "y": {"requeue_delay": "20m"}}
    cluster, decision = run_cycle(story(jobs, gpus=2))
    (group,) = decision.groups
    ends = {"x": NOW + 10 * MINUTE, "y": NOW + 20 * MINUTE}
    names = [each.facts.name for each in cluster.pod_groups]
    assert {names[step.pod_group]: step.not_before for step in group.requeues} == ends
    kept = [patch for patch in group.patches if patch.kind is PatchKind.REQUEUE_NOT_BEFORE]
    assert {names[patch.pod_group]: patch.value for patch in kept} == ends
    assert len(group.requeues) == len(kept) == len(group.evictions) == 2
    found = [(names[n.pod_group], n.result, n.detail, n.not_before) for n in decision.nominations]
    detail = "new receives its capacity and that of 1 other pod group"
    assert found == [(name, NominationResult.REQUEUED, detail, ends[name]) for name in "xy"]


def test_reason_tells_that_all_of_them_were_tried() -> None:
    jobs: Jobs = {"x": ONE, "y": ONE, "firm": {"preemptibility": Preemptibility.NON_PREEMPTIBLE}}
    _, decision = run_cycle(story(jobs, gpus=3))
    found = [n for n in decision.nominations if n.result is not NominationResult.SKIPPED]
    assert len(found) == 2
    assert {(n.result, n.code, n.detail) for n in found} == {
        (NominationResult.NO_BENEFIT, ReasonCode.NO_SOLUTION, TOGETHER)
    }


def test_surplus_makes_room_together() -> None:
    """Each keeps its minimum."""
    elastic = {"count": 2, "min_member": 1}
    builder = story({"x": elastic, "y": elastic}, gpus=2)
    cluster, decision = run_cycle(builder)
    (group,) = decision.groups
    assert [cluster.tasks[step.task].facts.uid for step in group.evictions] == ["x-0", "x-1"]
    semi = {**elastic, "preemptibility": Preemptibility.SEMI_PREEMPTIBLE}
    cluster, decision = run_cycle(story({"x": semi, "y": semi}, gpus=2))
    (group,) = decision.groups
    assert [cluster.tasks[step.task].facts.uid for step in group.evictions] == ["x-1", "y-1"]


def test_contender_of_higher_priority_precedes_one_that_needs_less() -> None:
    builder = story({"x": ONE, "y": ONE}, gpus=1).pending("big", queue="b", gpus=2, priority=60)
    cluster, decision = run_cycle(builder)
    (group,) = decision.groups
    assert cluster.pod_groups[group.beneficiary].facts.name == "big"


def test_two_contenders_displace_two_pod_groups_each() -> None:
    builder = story(dict.fromkeys("vwxy", ONE), gpus=2).pending("next", queue="b", gpus=2, priority=50)
    assert requeued(builder) == ["v", "w", "x", "y"]
    sizes = [len(group.requeues) for group in run_cycle(builder)[1].groups]
    assert sizes == [2, 2]


def test_capacity_that_another_pod_group_gives_is_not_told_as_a_lack_of_contenders() -> None:
    _, decision = run_cycle(story({"x": ONE, "y": ONE}, gpus=1))
    assert [n.detail for n in decision.nominations] == [
        "new receives its capacity",
        "no other pending pod group has higher priority",
    ]


def test_search_among_many_is_bounded_and_finds_the_densest_node() -> None:
    """Twelve of one GPU on one node, six of two GPUs on another: six sets of two GPUs are the fewest."""
    builder = ClusterBuilder().queue("a").queue("b").node("ones", gpus=12).node("twos", gpus=12)
    for number in range(12):
        builder.running(f"one{number:02}", **{**OVERDUE, "priority": 30}, node="ones")
    for number in range(6):
        builder.running(f"two{number}", **{**OVERDUE, "gpus": 2}, node="twos")
    builder.pending("new", queue="b", gpus=10, priority=50)
    assert requeued(builder) == [f"two{number}" for number in range(5)]
    assert run_cycle(builder)[1].counters.simulated <= 20
    plain = run_cycle(builder, speedups=())[1]
    assert [n.result for n in plain.nominations] == [n.result for n in run_cycle(builder)[1].nominations]


def test_exhausted_budget_ends_the_search_for_a_set() -> None:
    _, decision = run_cycle(story({"x": ONE, "y": ONE}, gpus=2), max_simulations_per_pod_group=0)
    assert decision.groups == ()
    assert {n.result for n in decision.nominations} == {NominationResult.BUDGET_EXHAUSTED}
