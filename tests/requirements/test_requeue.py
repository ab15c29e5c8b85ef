"""Requeue, decided by a server: who is nominated, who is requeued for whom, and what is left as it was.

In these clusters the contender's queue comes first among equals, so it holds the capacity afterwards.
"""

from collections.abc import Callable
from typing import Any, Final

import pytest
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse, WarningCode
from tenure.v1.snapshot_pb2 import (
    POD_STATUS_PENDING,
    POD_STATUS_RELEASING,
    POD_STATUS_RUNNING,
    PREEMPTIBILITY_NON_PREEMPTIBLE,
)

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
from tests.requirements.cluster import NOW, ClusterText, ago, seconds
from tests.requirements.cluster_life import go_on
from tests.requirements.conftest import Decide
from tests.requirements.profiles import configuration

REQUEUE: Final = ("allocate", "requeue")
"""Without the actions that could take the capacity before requeue."""
EXPECTED: Final = "kai.scheduler/expected-runtime"
DELAY: Final = "kai.scheduler/requeue-delay"
NOT_BEFORE: Final = "kai.scheduler/requeue-not-before"
CONTENDER: Final[dict[str, Any]] = {"priority": 75, "mode": "PREEMPTIBLE"}


def two_queues(gpus: int = 1, **queue: Any) -> ClusterText:
    """One node within the quota of both queues, so that neither can reclaim from the other."""
    cluster = ClusterText().node(gpus=gpus).queue("b", quota=gpus).queue("a", quota=gpus, **queue)
    cluster.snapshot.queues[0].priority = 200
    return cluster


def overdue(gpus: int = 1, values: dict[str, Any] | None = None, **job: Any) -> ClusterText:
    """`old` of queue `a`, which has these values, is half an hour past its expected runtime."""
    return two_queues(gpus, **(values or {})).runs(
        "old", "a", **{"expected_runtime": "30m", "mode": "PREEMPTIBLE", **job}
    )


def contended(queue: str = "b", **job: Any) -> ClusterText:
    return overdue(**job).waits("new", queue, **CONTENDER)


def annotated(**annotations: Any) -> ClusterText:
    """`old` ran for two days and has only these annotations; its queue has a delay of ten minutes."""
    keys = {"expected": EXPECTED, "delay": DELAY, "not_before": NOT_BEFORE}
    cluster = two_queues(requeue_delay="10m")
    cluster.runs(
        "old", "a", ran="2d", mode="PREEMPTIBLE", annotations={keys[k]: v for k, v in annotations.items()}
    )
    return cluster.waits("new", "b", **CONTENDER)


def warnings(answer: DecideResponse) -> list[str]:
    return [WarningCode.Name(each.code).removeprefix("WARNING_CODE_") for each in answer.warnings]


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


DELAYS: Final = {
    "its own field": ({"requeue_delay": "7m"}, {"requeue_delay": "5m"}, 420),
    "its queue": ({}, {"requeue_delay": "5m"}, 300),
    "the profile": ({}, {}, 180),
    "an explicit zero": ({"requeue_delay": "0s"}, {"requeue_delay": "5m"}, 0),
}


@pytest.mark.parametrize(("job", "queue", "delay"), DELAYS.values(), ids=DELAYS)
def test_delay_is_its_own_or_that_of_the_queue_or_of_the_profile(
    job: dict[str, Any], queue: dict[str, Any], delay: int, decide: Decide
) -> None:
    file = configuration(options={"defaultRequeueDelay": "3m"})
    answer = decide(contended(values=queue, **job), file)
    found = nomination(answer, "old")
    assert found is not None
    assert (result(answer), found.not_before.seconds) == ("REQUEUED", NOW + delay)


def test_delay_is_zero_unless_somebody_sets_one(decide: Decide) -> None:
    found = nomination(decide(contended()), "old")
    assert found is not None
    assert found.not_before.seconds == NOW


COOLDOWN: Final = {"a second before its end": (1, "cooldown"), "at its end": (0, "REQUEUED")}


@pytest.mark.parametrize(("left", "found"), COOLDOWN.values(), ids=COOLDOWN)
def test_not_before_is_a_gate_that_opens_at_its_time(left: int, found: str, decide: Decide) -> None:
    cluster = contended()
    cluster.group("old").requeue_not_before.seconds = NOW + left
    answer = decide(cluster)
    assert result(answer) == found
    assert evicted(answer) == (["old-0"] if found == "REQUEUED" else [])


def _change(field: str, value: object) -> Callable[[ClusterText], object]:
    return lambda cluster: setattr(cluster.group("old"), field, value)


def _end_pods(cluster: ClusterText) -> None:
    cluster.snapshot.pods[0].status, cluster.snapshot.pods[0].node = POD_STATUS_PENDING, ""


def _terminate_pods(cluster: ClusterText) -> None:
    cluster.snapshot.pods[0].status = POD_STATUS_RELEASING


def _set_legacy_priority(cluster: ClusterText) -> None:
    """Non-preemptible by its priority alone."""
    cluster.group("old").priority = 100
    cluster.group("old").ClearField("preemptibility")


CONDITIONS: Final[dict[str, tuple[Callable[[ClusterText], object], str]]] = {
    "all hold": (lambda cluster: None, "REQUEUED"),
    "no active pod": (_end_pods, "not_running"),
    "only terminating pods": (_terminate_pods, "not_running"),
    "not preemptible": (_change("preemptibility", PREEMPTIBILITY_NON_PREEMPTIBLE), "not_preemptible"),
    "not preemptible by its priority": (_set_legacy_priority, "not_preemptible"),
    "no expected runtime": (lambda cluster: cluster.group("old").ClearField("expected_runtime"), ""),
    "no positive expected runtime": (
        lambda cluster: cluster.group("old").expected_runtime.FromSeconds(0),
        "invalid_duration",
    ),
    "no start time": (lambda cluster: cluster.group("old").ClearField("last_start_time"), "missing_start"),
    "a start in the future": (
        lambda cluster: cluster.group("old").last_start_time.FromSeconds(NOW + 5),
        "clock_skew",
    ),
    "not long enough": (lambda cluster: cluster.group("old").last_start_time.CopyFrom(ago("29m")), "NOT_DUE"),
    "a cooldown": (lambda cluster: cluster.group("old").requeue_not_before.FromSeconds(NOW + 1), "cooldown"),
    "a cooldown that cannot be read": (
        lambda cluster: cluster.group("old").annotations.update({NOT_BEFORE: "soon"}),
        "invalid_not_before",
    ),
}


@pytest.mark.parametrize(("change", "found"), CONDITIONS.values(), ids=CONDITIONS)
def test_one_condition_that_does_not_hold_is_enough(
    change: Callable[[ClusterText], object], found: str, decide: Decide
) -> None:
    cluster = contended()
    change(cluster)
    answer = decide(cluster, "", "requeue")
    assert (result(answer), bool(evicted(answer))) == (found, found == "REQUEUED")


READ: Final = {"30m": 1_800, "2h": 7_200, "1h30m": 5_400, "1d": 86_400, "1d12h": 129_600, " 2h\n": 7_200}


@pytest.mark.parametrize(("text", "length"), READ.items(), ids=READ)
def test_annotation_of_the_expected_runtime_is_a_duration(text: str, length: int, decide: Decide) -> None:
    answer = decide(annotated(expected=text))
    found = nomination(answer, "old")
    assert found is not None
    assert (result(answer), found.overrun.seconds) == ("REQUEUED", 2 * 86_400 - length)


@pytest.mark.parametrize("text", ["", "3600", "-1h", "0s", "1y", "an hour"])
def test_expected_runtime_that_is_none_never_elapses(text: str, decide: Decide) -> None:
    answer = decide(annotated(expected=text))
    assert (result(answer), evicted(answer)) == ("invalid_duration", [])
    assert warnings(answer) == ["INVALID_EXPECTED_RUNTIME"]


def test_pod_group_without_expected_runtime_takes_no_part(decide: Decide) -> None:
    answer = decide(annotated())
    assert (result(answer), evicted(answer), list(answer.warnings)) == ("", [], [])


@pytest.mark.parametrize(("text", "delay"), [("1h", 3_600), ("2d", 172_800), ("0s", 0)])
def test_annotation_of_the_delay_precedes_the_queue(text: str, delay: int, decide: Decide) -> None:
    found = nomination(decide(annotated(expected="1h", delay=text)), "old")
    assert found is not None
    assert found.not_before.seconds == NOW + delay


def test_delay_that_cannot_be_read_is_unset(decide: Decide) -> None:
    answer = decide(annotated(expected="1h", delay="later"))
    found = nomination(answer, "old")
    assert found is not None
    assert (found.not_before.seconds, warnings(answer)) == (NOW + 600, ["INVALID_REQUEUE_DELAY"])


TIMES: Final = {
    "2023-11-14T22:13:21Z": "cooldown",
    "2023-11-14T22:13:20Z": "REQUEUED",
    "2023-11-14T23:13:21+01:00": "cooldown",
    "2023-11-14T23:13:20+01:00": "REQUEUED",
    "tomorrow": "invalid_not_before",
}


@pytest.mark.parametrize(("text", "found"), TIMES.items(), ids=TIMES)
def test_annotation_of_not_before_is_an_rfc_3339_time(text: str, found: str, decide: Decide) -> None:
    assert result(decide(annotated(expected="1h", not_before=text))) == found


FIELDS: Final = {
    "a field that is over": ({"expected_runtime": "1h"}, "1000d", "REQUEUED"),
    "a field that is not over": ({"expected_runtime": "3d"}, "1h", "NOT_DUE"),
    "a field, and an annotation that cannot be read": ({"expected_runtime": "1h"}, "soon", "REQUEUED"),
}


@pytest.mark.parametrize(("fields", "annotation", "found"), FIELDS.values(), ids=FIELDS)
def test_field_precedes_the_annotation(
    fields: dict[str, Any], annotation: str, found: str, decide: Decide
) -> None:
    cluster = two_queues().runs(
        "old", "a", ran="2d", mode="PREEMPTIBLE", annotations={EXPECTED: annotation}, **fields
    )
    assert result(decide(cluster.waits("new", "b", **CONTENDER))) == found


INHERITED: Final = {
    "its queue's, for who has none": ({}, {"expected_runtime": "30m"}, {}, "REQUEUED"),
    "its own first": ({}, {"expected_runtime": "30m"}, {"expected_runtime": "2h"}, "NOT_DUE"),
    "the parent's": ({"expected_runtime": "30m"}, {}, {}, "REQUEUED"),
    "the nearest": ({"expected_runtime": "30m"}, {"expected_runtime": "2h"}, {}, "NOT_DUE"),
    "an explicit zero ends it": ({"expected_runtime": "30m"}, {"expected_runtime": "0s"}, {}, ""),
}


@pytest.mark.parametrize(("parent", "leaf", "job", "found"), INHERITED.values(), ids=INHERITED)
def test_queues_have_defaults(
    parent: dict[str, Any], leaf: dict[str, Any], job: dict[str, Any], found: str, decide: Decide
) -> None:
    cluster = ClusterText().node().queue("b", quota=1)
    cluster.snapshot.queues[0].priority = 200
    cluster.queue("top", quota=1, **parent).queue("a", "top", quota=1, **leaf)
    cluster.runs("old", "a", mode="PREEMPTIBLE", **job).waits("new", "b", **CONTENDER)
    assert result(decide(cluster)) == found


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


EXAMPLES: Final = {
    "four hours, a second before": ({"expected": "4h"}, "3h59m59s", 75, "NOT_DUE"),
    "four hours, and nobody of higher priority": ({"expected": "4h"}, "4h", 50, "NO_CONTENDER"),
    "four hours, for a higher priority": ({"expected": "4h"}, "4h", 75, "REQUEUED"),
    "eight hours with a delay of 30 minutes": ({"expected": "8h", "delay": "30m"}, "8h", 75, "REQUEUED"),
    "within the 30 minutes": (
        {"expected": "8h", "delay": "30m", "not_before": "2023-11-14T22:13:21Z"},
        "9h",
        75,
        "cooldown",
    ),
}


@pytest.mark.parametrize(("annotations", "ran", "priority", "found"), EXAMPLES.values(), ids=EXAMPLES)
def test_examples_of_the_proposal(
    annotations: dict[str, Any], ran: str, priority: int, found: str, decide: Decide
) -> None:
    cluster = annotated(**annotations)
    cluster.group("old").last_start_time.CopyFrom(ago(ran))
    cluster.group("new").priority = priority
    answer = decide(cluster)
    assert result(answer) == found
    if found == "REQUEUED":
        (requeue,) = [each.requeue for each in decisions(answer) if each.HasField("requeue")]
        assert requeue.not_before.seconds == NOW + (1_800 if "delay" in annotations else 600)
