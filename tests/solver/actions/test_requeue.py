"""An overdue pod group is requeued if a contender of higher priority can start, else not (R12.82)."""

from typing import Any, Final

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import PatchKind, Requeue
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.requeue import NominationResult, NominationSkipReason, ParsedValue, RequeueSettings
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import default_profile
from tenure.solver.testing import NOW, ClusterBuilder, apply_decisions
from tenure.terms.durations import SECOND
from tenure.terms.reasons import ReasonCode

from tests.solver.actions.requeue_cases import (
    OVERDUE,
    nomination,
    only_requeue,
    run_cycle,
    statuses_after,
    two_queues,
)

MINUTE: Final = 60 * SECOND


def overdue(**changes: Any) -> ClusterBuilder:
    return two_queues().running("old", node="n", **{**OVERDUE, **changes})


def test_overdue_pod_group_is_requeued_for_a_contender_that_then_fits() -> None:
    story = overdue(requeue_delay="10m").pending("new", queue="b", gpus=1, priority=50)
    assert statuses_after(story) == {"old-0": "RELEASING n", "new-0": "PIPELINED n"}
    found = nomination(story)
    assert (found.result, found.contender, found.not_before) == (
        NominationResult.REQUEUED,
        0,
        NOW + 10 * MINUTE,
    )


def test_decision_group_of_a_requeue_is_complete() -> None:
    _, decision = run_cycle(overdue(requeue_delay="10m").pending("new", queue="b", gpus=1, priority=50))
    (group,) = decision.groups
    assert (group.action, group.reason, group.beneficiary) == ("requeue", ReasonCode.REQUEUED, 0)
    assert group.requeues == (Requeue(1, NOW + 10 * MINUTE, 0, ("expectedruntime",)),)
    kinds = {patch.kind: patch.value for patch in group.patches}
    assert kinds[PatchKind.REQUEUE_NOT_BEFORE] == NOW + 10 * MINUTE
    assert kinds[PatchKind.LAST_EVICTION_TIME] == NOW
    assert {verdict.guard for verdict in group.evictions[0].guards} >= {"preemptibility", "minruntime"}


NOT_REQUEUED: Final = {
    "nobody waits": ([], NominationResult.NO_CONTENDER, "no pending pod group has higher priority"),
    "R12.42 the same priority is not higher": (
        [{"gpus": 1, "priority": 40}],
        NominationResult.NO_CONTENDER,
        "no pending pod group has higher priority",
    ),
    "lower priority": (
        [{"gpus": 1, "priority": 30}],
        NominationResult.NO_CONTENDER,
        "no pending pod group has higher priority",
    ),
    "it would not fit in its place": (
        [{"gpus": 1, "priority": 50, "node_selector": {"zone": "elsewhere"}}],
        NominationResult.NO_BENEFIT,
        "no contender fits in its place",
    ),
    "R9.2 the contender is within its preemption delay": (
        [{"gpus": 1, "priority": 50, "preemption_delay": "1d", "created_ago": "1h"}],
        NominationResult.NO_CONTENDER,
        "no pending pod group has higher priority",
    ),
    "R12.41 the contender is not ready": (
        [{"gpus": 1, "priority": 50, "min_member": 2}],
        NominationResult.NO_CONTENDER,
        "no pending pod group has higher priority",
    ),
    "R12.42 the contender's queue is beyond its fair share": (
        [{"gpus": 1, "priority": 50, "queue": "poor"}],
        NominationResult.NO_BENEFIT,
        "queue poor would exceed its fair share, so no pods of other queues are evicted for it",
    ),
    "R12.42 a limit of the contender's queue": (
        [{"gpus": 1, "priority": 50, "queue": "limited"}],
        NominationResult.NO_BENEFIT,
        "queue limited would exceed its fair share, so no pods of other queues are evicted for it",
    ),
}


@pytest.mark.parametrize(("waiting", "result", "detail"), NOT_REQUEUED.values(), ids=NOT_REQUEUED)
def test_overdue_pod_group_continues_without_benefit(
    waiting: list[dict[str, Any]], result: NominationResult, detail: str
) -> None:
    story = overdue().queue("poor", quota=0, weight=0).queue("limited", quota=1, limit=0)
    for i, options in enumerate(waiting):
        story.pending(f"w{i}", **{"queue": "b", **options})
    _, decision = run_cycle(story)
    assert [group.action for group in decision.groups] == []
    (found,) = decision.nominations
    assert (found.result, found.detail, found.not_before) == (result, detail, None)
    assert (found.code is None) is (result is NominationResult.NO_CONTENDER)


def test_quota_for_non_preemptible_pods_applies_within_a_leaf_queue() -> None:
    firm = {"queue": "a", "gpus": 1, "priority": 50, "preemptibility": Preemptibility.NON_PREEMPTIBLE}
    story = ClusterBuilder().node("n", gpus=1).queue("a", quota=0)
    story.running("old", node="n", **OVERDUE).pending("new", **firm)
    found = nomination(story)
    assert found.result is NominationResult.NO_BENEFIT
    assert "quota" in found.detail


DELAYS: Final = {
    "R12.44 nobody says so: the time of the decision": ({}, {}, {}, 0),
    "its own": ({"requeue_delay": "10m"}, {"requeue_delay": "5m"}, {"default_requeue_delay": 3}, 10 * MINUTE),
    "its queue's": ({}, {"requeue_delay": "5m"}, {"default_requeue_delay": 3}, 5 * MINUTE),
    "R12.44 the profile's": ({}, {}, {"default_requeue_delay": MINUTE}, MINUTE),
    "an explicit zero of its own": ({"requeue_delay": "0s"}, {"requeue_delay": "5m"}, {}, 0),
    "R12.44 a bad one counts as unset": (
        {"requeue": RequeueSettings(ParsedValue(MINUTE), ParsedValue(problem="bad"))},
        {"requeue_delay": "5m"},
        {},
        5 * MINUTE,
    ),
}


@pytest.mark.parametrize(("job", "queue", "options", "delay"), DELAYS.values(), ids=DELAYS)
def test_cooldown_starts_with_the_decision(job: Any, queue: Any, options: Any, delay: int) -> None:
    story = ClusterBuilder().node("n", gpus=1).queue("b", quota=1).queue("a", quota=1, **queue)
    story.running("old", node="n", **{**OVERDUE, **job}).pending("new", queue="b", gpus=1, priority=50)
    assert nomination(story, **options).not_before == NOW + delay


GUARDS: Final = {
    "reclaim value between queues": ({"reclaim_min_runtime": "2h"}, "b", True),
    "preempt value within the queue": ({"preempt_min_runtime": "2h"}, "a", True),
    "the preempt value does not protect from other queues": ({"preempt_min_runtime": "2h"}, "b", False),
    "the reclaim value does not protect from its own queue": ({"reclaim_min_runtime": "2h"}, "a", False),
    "R7.20 over at its very end": ({"reclaim_min_runtime": "1h"}, "b", False),
}


@pytest.mark.parametrize(("queue", "asks", "is_protected"), GUARDS.values(), ids=GUARDS)
def test_minimum_runtime_protects_from_requeue_r12_49(
    queue: dict[str, Any], asks: str, is_protected: bool
) -> None:
    story = ClusterBuilder().node("n", gpus=1).queue("b", quota=1).queue("a", quota=1, **queue)
    story.running("old", node="n", **OVERDUE).pending("new", queue=asks, gpus=1, priority=50)
    found = nomination(story)
    assert found.result is (NominationResult.PROTECTED if is_protected else NominationResult.REQUEUED)
    if is_protected:
        assert (found.skip_reason, found.until) == (
            NominationSkipReason.MINRUNTIME_PROTECTED,
            NOW + 60 * MINUTE,
        )
        assert found.code is ReasonCode.MIN_RUNTIME


def test_protected_elastic_pod_group_retains_its_minimum_r12_59() -> None:
    def story(pods: int) -> ClusterBuilder:
        builder = ClusterBuilder().node("n", gpus=3).queue("a", quota=3, reclaim_min_runtime="2h")
        builder.queue("b", quota=3, created_ago="30d").running(
            "old", node="n", count=3, min_member=2, **OVERDUE
        )
        return builder.pending("new", queue="b", gpus=1, priority=50, count=pods)

    assert [uid for uid, state in statuses_after(story(1)).items() if state == "RELEASING n"] == ["old-2"]
    assert nomination(story(2)).result is NominationResult.NO_BENEFIT


SCOPES: Final = {
    "R12.43 surplus first, one by one": (1, {}, ["old-3"]),
    "as many as it takes": (2, {}, ["old-2", "old-3"]),
    "then the core as one": (3, {}, ["old-0", "old-1", "old-2", "old-3"]),
}


@pytest.mark.parametrize(("pods", "options", "leaving"), SCOPES.values(), ids=SCOPES)
def test_only_as_many_pods_as_needed_are_requeued(
    pods: int, options: dict[str, Any], leaving: list[str]
) -> None:
    story = ClusterBuilder().node("n", gpus=4).queue("a", quota=4)
    story.running("old", node="n", count=4, min_member=2, **OVERDUE)
    story.pending("new", queue="a", gpus=1, priority=50, count=pods)
    states = statuses_after(story, **options)
    assert [uid for uid, state in states.items() if state.startswith("RELEASING")] == leaving


def test_core_of_a_semi_preemptible_pod_group_is_not_requeued_r12_69() -> None:
    semi = {**OVERDUE, "preemptibility": Preemptibility.SEMI_PREEMPTIBLE}

    def story(pods: int) -> ClusterBuilder:
        builder = ClusterBuilder().node("n", gpus=3).queue("a", quota=2).queue("b", quota=3)
        builder.running("old", node="n", count=3, min_member=2, **semi)
        return builder.pending("new", queue="b", gpus=1, priority=50, count=pods)

    assert nomination(story(1)).result is NominationResult.REQUEUED
    assert nomination(story(2)).result is NominationResult.NO_BENEFIT


ORDERS: Final = {
    "R12.40 the least important first": ("priority", {"x": (30, "35m"), "y": (40, "5m")}, "x"),
    "then the most overdue": ("priority", {"x": (40, "35m"), "y": (40, "5m")}, "y"),
    "by overrun alone, if so configured": ("overrun", {"x": (30, "35m"), "y": (40, "5m")}, "y"),
    "equal in everything: by uid": ("priority", {"y": (40, "5m"), "x": (40, "5m")}, "x"),
}


@pytest.mark.parametrize(("order", "jobs", "first"), ORDERS.values(), ids=ORDERS)
def test_nominated_pod_groups_are_tried_in_this_order(
    order: str, jobs: dict[str, tuple[int, str]], first: str
) -> None:
    story = ClusterBuilder().node("n", gpus=2).queue("a", quota=2).queue("b", quota=1)
    for name, (priority, expected) in jobs.items():
        options = {**OVERDUE, "priority": priority, "expected_runtime": expected}
        story.running(name, node="n", **options)
    story.pending("new", queue="b", gpus=1, priority=50)
    cluster, decision = run_cycle(story, requeue_order=order)
    requeued = [n for n in decision.nominations if n.result is NominationResult.REQUEUED]
    assert [cluster.pod_groups[n.pod_group].facts.name for n in requeued] == [first]
    others = [n.result for n in decision.nominations if n not in requeued]
    assert others == [NominationResult.NO_CONTENDER]


def test_contender_that_fits_on_releasing_capacity_causes_no_requeue() -> None:
    story = ClusterBuilder().node("n", gpus=2).queue("b", quota=2).queue("a", quota=2)
    story.running("old", node="n", **OVERDUE)
    story.pods("gone", TaskStatus.RELEASING, node="n", queue="b", gpus=1)
    story.pending("new", queue="b", gpus=1, priority=50)
    assert statuses_after(story)["old-0"] == "RUNNING n"


def test_contenders_are_tried_up_to_the_cap_r12_67() -> None:
    def story() -> ClusterBuilder:
        builder = overdue()
        for i in range(3):
            builder.pending(f"elsewhere{i}", queue="b", gpus=1, priority=60, node_selector={"zone": f"x{i}"})
        return builder.pending("small", queue="b", gpus=1, priority=50)

    assert nomination(story(), max_requeue_contenders=3).result is NominationResult.NO_BENEFIT
    assert nomination(story(), max_requeue_contenders=4).result is NominationResult.REQUEUED


def test_strict_mode_requires_fairness_as_well_r12_42() -> None:
    """Queue a is within its quota, so a reclaim would not evict from it."""
    story = overdue().pending("new", queue="b", gpus=1, priority=50)
    assert nomination(story, requeue_strict=True).result is NominationResult.NO_BENEFIT
    assert nomination(story).result is NominationResult.REQUEUED


def test_exhausted_budget_is_not_a_final_result() -> None:
    story = overdue().pending("new", queue="b", gpus=1, priority=50)
    found = nomination(story, max_simulations_per_action=0)
    assert (found.result, found.code) == (NominationResult.BUDGET_EXHAUSTED, ReasonCode.BUDGET_EXHAUSTED)


def test_other_actions_run_before_requeue_r12_48() -> None:
    actions = default_profile().actions
    assert actions.index("preempt") < actions.index("requeue") < actions.index("stalegangeviction")
    story = ClusterBuilder().node("n", gpus=1).queue("a").running("old", node="n", **OVERDUE)
    cluster = story.pending("new", queue="a", gpus=1, priority=50).build()
    decision = answer(cluster, default_profile())
    assert [group.action for group in decision.groups] == ["preempt"]
    assert [n.result for n in decision.nominations] == [NominationResult.ALREADY_MOVED]


def test_requeue_reaches_a_fixed_point_r12_82() -> None:
    """Five cycles, a minute apart: one requeue, and the requeued pod group does not win its capacity back."""
    story = overdue(requeue_delay="10m").pending("new", queue="b", gpus=1, priority=50)
    cluster, actions = story.build(), []
    for _ in range(5):
        decision = answer(cluster, default_profile())
        actions.append([group.action for group in decision.groups if group.evictions])
        cluster = apply_decisions(cluster, decision, MINUTE)
    assert actions == [["requeue"], [], [], [], []]


def test_cooldown_prevents_a_requeue_and_sets_the_next_wake_time() -> None:
    story = overdue(requeue_in="7m").pending("new", queue="b", gpus=1, priority=50)
    _, decision = run_cycle(story)
    (found,) = decision.nominations
    assert (found.skip_reason, found.until) == (NominationSkipReason.COOLDOWN, NOW + 7 * MINUTE)
    assert decision.groups == ()
    assert decision.next_wake_time == NOW + 7 * MINUTE


def test_due_time_of_a_later_requeue_is_the_next_wake_time() -> None:
    story = overdue(expected_runtime="61m")
    _, decision = run_cycle(story)
    assert decision.next_wake_time == NOW + MINUTE


def test_options_have_the_documented_defaults() -> None:
    options = only_requeue().options
    assert (options.requeue_order, options.max_requeue_contenders) == ("priority", 16)
    assert (options.requeue_strict, options.default_requeue_delay) == (False, 0)


def test_running_pod_group_without_leaf_queue_is_rejected_and_affects_no_other() -> None:
    story = two_queues().running("old", node="n", **{**OVERDUE, "queue": "gone"})
    found = nomination(story.pending("new", queue="b", gpus=1, priority=50))
    assert (found.result, found.code) == (NominationResult.NO_BENEFIT, ReasonCode.INVALID_QUEUE)
    assert found.detail == "no action takes from it: queue gone does not exist"


def test_surplus_on_other_nodes_is_not_requeued() -> None:
    """The contender needs capacity on nb. Pods on na do not help, although they are last in order."""
    story = ClusterBuilder().node("na", gpus=4).node("nb", gpus=4, labels={"zone": "b"}).queue("a", quota=8)
    story.running("old", node="nb", count=4, min_member=1, **OVERDUE).running(
        "old", node="na", count=4, gpus=1
    )
    story.pending("new", queue="a", gpus=1, priority=50, node_selector={"zone": "b"})
    leaving = [uid for uid, state in statuses_after(story).items() if state.startswith("RELEASING")]
    assert leaving == ["old-3"]


def test_many_equal_contenders_do_not_exclude_another() -> None:
    builder = overdue()
    for i in range(20):
        builder.pending(f"large{i}", queue="b", gpus=1, priority=60, node_selector={"zone": "x"})
    found = nomination(builder.pending("small", queue="b", gpus=1, priority=50))
    assert found.result is NominationResult.REQUEUED


def test_strict_mode_applies_the_guards_of_reclaim_as_well() -> None:
    story = overdue(opt_out_actions=["reclaim"]).pending("new", queue="b", gpus=1, priority=50)
    found = nomination(story, requeue_strict=True)
    assert found.result is NominationResult.PROTECTED
    assert (found.code, found.detail) == (ReasonCode.OPTED_OUT, "old opts out of reclaim")
