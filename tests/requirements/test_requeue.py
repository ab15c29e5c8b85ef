"""Which pod groups a server nominates for requeue, and which it requeues for which contender."""

from collections.abc import Callable
from typing import Final

import pytest
from tenure.v1 import decision_pb2 as pb
from tenure.v1.snapshot_pb2 import POD_STATUS_RUNNING

from tests.requirements.answers import (
    decisions,
    evicted,
    evicting_actions,
    nomination,
    outcome,
    patches,
    reserved,
    result,
)
from tests.requirements.cluster import NOW, ClusterText, seconds
from tests.requirements.cluster_life import go_on
from tests.requirements.conftest import Decide
from tests.requirements.requeue_clusters import CONTENDER, REQUEUE, contended, overdue

DUE: Final = {
    "a second before": ("4h", "3h59m59s", "NOT_DUE"),
    "at that time": ("4h", "4h", "REQUEUED"),
    "after it": ("4h", "5h", "REQUEUED"),
    "days": ("1d", "23h59m59s", "NOT_DUE"),
    "days, over": ("1d", "1d", "REQUEUED"),
}


@pytest.mark.parametrize(("expected", "ran", "found"), DUE.values(), ids=DUE)
def test_pod_group_is_nominated_once_it_ran_for_its_expected_runtime(
    expected: str, ran: str, found: str, decide: Decide
) -> None:
    answer = decide(contended(expected_runtime=expected, ran=ran))
    assert result(answer) == found
    assert evicted(answer) == (["old-0"] if found == "REQUEUED" else [])
    if found == "NOT_DUE":
        assert answer.next_wake_time.seconds == NOW + 1


CONTINUES: Final[dict[str, Callable[[ClusterText], object]]] = {
    "nobody waits": lambda cluster: None,
    "a lower priority": lambda cluster: cluster.waits("new", "b", priority=40),
    "the same priority is not higher": lambda cluster: cluster.waits("new", "b", priority=50),
    "a contender that fits nowhere": lambda cluster: cluster.waits("new", "b", **CONTENDER, zone="x"),
    "a contender that needs more than the place": lambda cluster: cluster.waits(
        "new", "b", **CONTENDER, gpus=2
    ),
    "a contender that is not ready": lambda cluster: cluster.waits("new", "b", **CONTENDER, minimum=2),
    "a contender with a gate": lambda cluster: cluster.waits("new", "b", **CONTENDER, status="GATED"),
}


@pytest.mark.parametrize("add", CONTINUES.values(), ids=CONTINUES)
def test_overdue_pod_group_continues_where_no_contender_of_higher_priority_gains(
    add: Callable[[ClusterText], object], decide: Decide
) -> None:
    """The trial is taken back: no decision, no patch of a not-before, and the pod group was nominated."""
    cluster = overdue()
    add(cluster)
    answer = decide(cluster)
    assert (evicted(answer), reserved(answer), patches(answer, "requeue_not_before")) == ([], [], {})
    assert result(answer) in ("NO_CONTENDER", "NO_BENEFIT")
    found = nomination(answer, "old")
    assert found is not None
    assert list(found.nominated_by) == ["expectedruntime"]


def test_failed_trial_leaves_the_capacity_to_the_next_contender(decide: Decide) -> None:
    """The first contender fits nowhere; the second gets the place of one pod group, not of two."""
    cluster = overdue(gpus=2).runs("older", "a", expected_runtime="30m", mode="PREEMPTIBLE", priority=60)
    cluster.waits("first", "b", priority=90, mode="PREEMPTIBLE", zone="x").waits("new", "b", **CONTENDER)
    answer = decide(cluster)
    assert (evicted(answer), reserved(answer)) == (["old-0"], ["new-0"])
    assert result(answer, "older") != "REQUEUED"


def test_decisions_of_a_requeue_are_one_group_with_its_not_before(decide: Decide) -> None:
    answer = decide(contended(requeue_delay="10m"))
    (group,) = [each for each in answer.groups if each.action == "requeue"]
    kinds = [each.WhichOneof("kind") for each in group.decisions]
    assert (group.beneficiary, set(kinds), kinds.count("requeue")) == (
        "new",
        {"evict", "requeue", "reserve", "patch"},
        1,
    )
    (requeue,) = [each.requeue for each in decisions(answer) if each.HasField("requeue")]
    assert (requeue.pod_group, requeue.contender, requeue.not_before.seconds) == ("old", "new", NOW + 600)
    assert list(requeue.nominated_by) == ["expectedruntime"]
    assert patches(answer, "requeue_not_before")["old"] == requeue.not_before
    found = nomination(answer, "old")
    assert found is not None
    assert (found.contender, found.not_before, found.overrun.seconds) == ("new", requeue.not_before, 1_800)
    assert outcome(answer, "new") == "WAITING_FOR_VICTIMS"


QUEUES: Final = {
    "in another queue": ("b", [], "requeue"),
    "in the same queue, which preempts first": ("a", [], "preempt"),
    "in the same queue, where preemption is ruled out": ("a", ["preempt"], "requeue"),
    "in another queue, where requeue is ruled out": ("b", ["requeue"], ""),
}


@pytest.mark.parametrize(("queue", "opt_outs", "action"), QUEUES.values(), ids=QUEUES)
def test_default_profile_requeues_for_contenders(
    queue: str, opt_outs: list[str], action: str, decide: Decide
) -> None:
    """All actions run in their order, on a server without a configuration file."""
    cluster = contended(queue)
    cluster.group("old").opt_out_actions.extend(opt_outs)
    answer = decide(cluster)
    assert evicting_actions(answer) == ([action] if action else [])
    assert (
        result(answer) == {"requeue": "REQUEUED", "preempt": "ALREADY_MOVED", "": "not_preemptible"}[action]
    )


@pytest.mark.parametrize("queue", ["a", "b"], ids=["of its own queue", "of another queue"])
def test_default_profile_leaves_an_overdue_pod_group_alone_without_contention(
    queue: str, decide: Decide
) -> None:
    """Room for both: nobody makes way, however long it is overdue."""
    cluster = overdue(gpus=2, ran="365d").waits("new", queue, **CONTENDER)
    answer = decide(cluster)
    assert (evicted(answer), outcome(answer, "new")) == ([], "BOUND")
    assert result(answer) == "NO_CONTENDER"


@pytest.mark.parametrize("delay", ["10m", "30m"])
def test_requeued_pod_group_is_not_nominated_again_within_its_delay(delay: str, decide: Decide) -> None:
    """It returns when the contender has gone, runs on, and is requeued again only after the delay."""
    cluster = contended(requeue_delay=delay, expected_runtime="1s")
    first = decide(cluster)
    assert result(first) == "REQUEUED"
    go_on(cluster, first, 0)
    old = cluster.group("old")
    for pod in cluster.snapshot.pods:
        if pod.pod_group == "old":
            pod.status, pod.node = POD_STATUS_RUNNING, "n"
    old.last_start_time.seconds = cluster.snapshot.now.seconds
    del cluster.snapshot.eviction_history[:]
    cluster.snapshot.now.seconds += seconds(delay) - 1
    within = decide(cluster, "", *REQUEUE)
    assert (result(within), evicted(within)) == ("cooldown", [])
    assert within.next_wake_time.seconds == NOW + seconds(delay)
    cluster.snapshot.now.seconds += 1
    assert result(decide(cluster, "", *REQUEUE)) == "REQUEUED"


def test_requeue_reaches_a_fixed_point(decide: Decide) -> None:
    """Five cycles, a minute apart: one requeue, and the requeued pod group does not win its place back."""
    cluster, found = contended(requeue_delay="10m"), []
    for _ in range(5):
        answer = decide(cluster)
        found.append(evicting_actions(answer))
        go_on(cluster, answer, 60)
    assert found == [["requeue"], [], [], [], []]


COOLDOWN: Final = {"a second before its end": (1, "cooldown"), "at its end": (0, "REQUEUED")}


@pytest.mark.parametrize(("left", "found"), COOLDOWN.values(), ids=COOLDOWN)
def test_not_before_is_a_gate_that_opens_at_its_time(left: int, found: str, decide: Decide) -> None:
    cluster = contended()
    cluster.group("old").requeue_not_before.seconds = NOW + left
    answer = decide(cluster)
    assert result(answer) == found
    assert evicted(answer) == (["old-0"] if found == "REQUEUED" else [])


MINIMUMS: Final = {
    "the reclaim value between queues": ("reclaim_min_runtime", "2h", "b", "PROTECTED"),
    "the preempt value within the queue": ("preempt_min_runtime", "2h", "a", "PROTECTED"),
    "the preempt value not between queues": ("preempt_min_runtime", "2h", "b", "REQUEUED"),
    "the reclaim value not within the queue": ("reclaim_min_runtime", "2h", "a", "REQUEUED"),
    "both count from the last start: over at its end": ("reclaim_min_runtime", "1h", "b", "REQUEUED"),
    "a second before its end": ("reclaim_min_runtime", "1h0m1s", "b", "PROTECTED"),
}


@pytest.mark.parametrize(("field", "minimum", "asks", "found"), MINIMUMS.values(), ids=MINIMUMS)
def test_pod_group_is_nominated_within_its_minimum_and_not_evicted(
    field: str, minimum: str, asks: str, found: str, decide: Decide
) -> None:
    answer = decide(contended(asks, values={field: minimum}), "", *REQUEUE)
    nominated = nomination(answer, "old")
    assert nominated is not None
    assert nominated.overrun.seconds == 1_800
    assert evicted(answer) == (["old-0"] if found == "REQUEUED" else [])
    if found == "REQUEUED":
        assert result(answer) == found
    else:
        assert nominated.skip_reason == pb.NOMINATION_SKIP_REASON_MINRUNTIME_PROTECTED
        assert nominated.reason.until.seconds == NOW + seconds(minimum) - 3_600


def test_protected_elastic_pod_group_is_requeued_down_to_its_minimum(decide: Decide) -> None:
    for wanted, expected in ((1, ["old-2"]), (2, [])):
        cluster = overdue(gpus=3, values={"reclaim_min_runtime": "2h"}, pods=3, minimum=2)
        answer = decide(cluster.waits("new", "b", pods=wanted, **CONTENDER), "", *REQUEUE)
        assert evicted(answer) == expected


def test_minimum_of_a_semi_preemptible_pod_group_is_not_requeued(decide: Decide) -> None:
    for wanted, expected in ((1, ["old-2"]), (2, [])):
        cluster = overdue(gpus=3, pods=3, minimum=2, mode="SEMI_PREEMPTIBLE")
        answer = decide(cluster.waits("new", "b", pods=wanted, **CONTENDER), "", *REQUEUE)
        assert evicted(answer) == expected
