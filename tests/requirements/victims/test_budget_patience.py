"""What is in the way of what others are due holds for a time only: disruption budgets (R15.13)."""

from dataclasses import replace
from typing import Any, Final

import pytest
from google.protobuf import json_format
from tenure.client.in_flight import track_group
from tenure.codec.engine import Engine
from tenure.server.explain import Explainer
from tenure.solver.diagnosis.reason_probes import MAX_PROBES, UNCHECKED
from tenure.solver.registry import default_profile
from tenure.terms.durations import SECOND
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.decision_pb2 import (
    OUTCOME_KIND_DELAYED,
    REASON_CODE_DISRUPTION_BUDGET,
    REASON_CODE_TIME_LIMIT,
    Evict,
)
from tenure.v1.explain_pb2 import ExplainRequest

from tests.requirements.victims.test_grants import BASE

CREATED: Final = "2025-03-03T10:00:00Z"
WITHIN: Final = "2025-03-03T10:59:59Z"
OVER: Final = "2025-03-03T11:00:00Z"
HOUR: Final = 3_600 * SECOND
"""The patience."""


def snapshot(now: str, *budgets: int, **changes: Any) -> pb.ClusterSnapshot:
    """A queue borrows eight GPUs; budgets of its pods allow so many. The lender waits since 10:00."""
    made = json_format.ParseDict({**BASE, "now": now, **changes}, pb.ClusterSnapshot())
    for number, allowed in enumerate(budgets):
        made.disruption_budgets.add(name=f"b{number}", allowed=allowed)
    for group in made.pod_groups:
        group.preemptibility = pb.PREEMPTIBILITY_PREEMPTIBLE
        group.creation_time.FromJsonString(CREATED)
    for pod in made.pods:
        if pod.pod_group == "runs":
            pod.status = pb.POD_STATUS_RUNNING
            pod.disruption_budgets.extend([each.name for each in made.disruption_budgets])
    return made


def decide(made: pb.ClusterSnapshot, *actions: str, patience: int = HOUR, **options: Any) -> DecideResponse:
    profile = default_profile()
    changed = replace(profile.options, budget_patience=patience, **options)
    profile = replace(profile, actions=actions or profile.actions, options=changed)
    return Engine(profile).decide(DecideRequest(snapshot=made)).parse()


def evictions(response: DecideResponse) -> list[Evict]:
    return [step.evict for group in response.groups for step in group.decisions if step.HasField("evict")]


def test_budgets_hold_until_the_patience_is_over_r15_13() -> None:
    response = decide(snapshot(WITHIN, 0))
    assert not evictions(response)
    (waits,) = response.outcomes
    assert (waits.kind, waits.reason.code) == (OUTCOME_KIND_DELAYED, REASON_CODE_DISRUPTION_BUDGET)
    assert waits.reason.until.ToJsonString() == OVER
    assert response.next_wake_time.ToJsonString() == OVER


def test_budgets_hold_no_longer_after_the_patience_and_the_eviction_says_so_r15_13() -> None:
    response = decide(snapshot(OVER, 0))
    (evicted,) = evictions(response)
    assert (list(evicted.disruption_budgets), list(evicted.overridden_disruption_budgets)) == (["b0"], ["b0"])
    (told,) = [
        step.reason.message for group in response.groups for step in group.decisions if step.HasField("evict")
    ]
    assert "disruption budget b0 holds no longer" in told
    (status,) = response.disruption_budgets
    assert (status.allowed, status.spent, status.left) == (0, 1, 0)


@pytest.mark.parametrize("patience", [-1, 2 * HOUR])
def test_budgets_hold_as_long_as_the_option_says_r15_13(patience: int) -> None:
    assert not evictions(decide(snapshot(OVER, 0), patience=patience))


# allowed by each budget of every victim -> overridden
OVERRIDDEN: Final = {
    "the only one": ((0,), ["b0"]),
    "one that allows it is spent": ((1,), []),
    "one of two": ((1, 0), ["b1"]),
    "both": ((0, 0), ["b0", "b1"]),
}


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_only_budgets_that_allow_too_little_are_overridden_r15_13(name: str) -> None:
    allowed, expected = OVERRIDDEN[name]
    (evicted,) = evictions(decide(snapshot(OVER, *allowed)))
    assert list(evicted.overridden_disruption_budgets) == expected


@pytest.mark.parametrize("field", ["last_eviction_time", "eligible_time", "not_before_time"])
def test_a_later_start_of_the_wait_counts_r15_13(field: str) -> None:
    made = snapshot("2025-03-03T11:30:00Z", 0)
    assert len(evictions(decide(made))) == 1
    getattr(made.pod_groups[1], field).FromJsonString("2025-03-03T10:30:01Z")
    assert not evictions(decide(made))


@pytest.mark.parametrize(("started", "number"), [("2025-03-03T10:30:00Z", 1), ("2025-03-03T10:30:01Z", 0)])
def test_one_that_runs_waits_for_more_since_its_start_at_the_earliest_r15_13(
    started: str, number: int
) -> None:
    made = snapshot("2025-03-03T11:30:00Z", 0)
    made.pod_groups[1].last_start_time.FromJsonString(started)
    made.pods[7].pod_group = "own"
    del made.pods[7].disruption_budgets[:]
    assert len(evictions(decide(made))) == number


def test_budgets_hold_against_the_queue_of_the_victims_r15_13() -> None:
    made = snapshot(OVER, 0)
    made.pod_groups[1].queue, made.pod_groups[1].priority = "borrows", 90
    assert not evictions(decide(made))
    made.disruption_budgets[0].allowed = 1
    assert len(evictions(decide(made))) == 1


def test_victims_whose_budgets_allow_it_go_first_r15_13() -> None:
    made = snapshot(OVER, 0)
    del made.pods[5].disruption_budgets[:]
    (evicted,) = evictions(decide(made))
    assert (evicted.pod, list(evicted.overridden_disruption_budgets)) == ("r5", [])


def test_an_override_leaves_nothing_of_a_budget_and_holds_for_one_that_waited_r15_13() -> None:
    """Of three that wait for the lender's GPUs, the first has waited for an hour; one pod has no budget."""
    made = snapshot(OVER, 1)
    del made.pods[0].disruption_budgets[:]
    made.shapes.add(id="three", requests={"cpu_milli": 1}, gpu={"devices": 3})
    made.pods[8].shape = "three"
    for number in range(2):
        group = made.pod_groups.add(uid=f"new{number}", name=f"new{number}", queue="lends", priority=40)
        group.creation_time.FromJsonString(WITHIN)
        made.pods.add(uid=f"n{number}", pod_group=group.uid, shape="one", status=pb.POD_STATUS_PENDING)
    response = decide(made)
    taken = [(each.preemptor, list(each.overridden_disruption_budgets)) for each in evictions(response)]
    assert sorted(taken) == [("new0", []), *[("own", ["b0"])] * 3]
    waits = [each for each in response.outcomes if each.kind == OUTCOME_KIND_DELAYED]
    assert [each.reason.code for each in waits] == [REASON_CODE_DISRUPTION_BUDGET]
    assert waits[0].reason.until.ToJsonString() == "2025-03-03T11:59:59Z"
    (status,) = response.disruption_budgets
    assert (status.allowed, status.spent, status.left) == (1, 3, 0)


def test_notice_is_given_and_kept_after_the_patience_r15_13() -> None:
    made = snapshot(OVER, 0)
    options = {"max_notice": 600 * SECOND, "default_notice": 600 * SECOND}
    response = decide(made, **options)
    (group,) = [each for each in response.groups if any(s.HasField("notify") for s in each.decisions)]
    assert not evictions(response)
    made.in_flight_groups.add().CopyFrom(track_group(group))
    made.now.FromJsonString("2025-03-03T11:10:00Z")
    (evicted,) = evictions(decide(made, **options))
    assert list(evicted.overridden_disruption_budgets) == ["b0"]


def test_time_limit_waits_for_budgets_for_the_patience_only_r15_13() -> None:
    made = snapshot(WITHIN, 0)
    runs = made.pod_groups[0]
    runs.last_start_time.FromJsonString("2025-03-03T09:00:00Z")
    runs.time_limit.FromSeconds(3_600)
    assert not evictions(decide(made, "timelimit"))
    made.now.FromJsonString(OVER)
    response = decide(made, "timelimit")
    assert [list(each.overridden_disruption_budgets) for each in evictions(response)] == [["b0"]] * 8
    assert response.groups[0].decisions[0].reason.code == REASON_CODE_TIME_LIMIT


def beside(made: pb.ClusterSnapshot, pods: int, **values: Any) -> pb.PodGroup:
    """Another queue with a node of its own, whose GPUs it uses; the budget of its pods allows nothing."""
    made.nodes.add().CopyFrom(made.nodes[0])
    made.nodes[1].name, made.nodes[1].allocatable.gpu_milli = "m", pods * 1000
    made.queues.add(name="beside", parent="research").gpu_milli.quota = pods * 1000
    made.queues[0].gpu_milli.quota += pods * 1000
    made.disruption_budgets.add(name="own", allowed=0)
    group = made.pod_groups.add(uid="beside", name="beside", queue="beside", priority=50, **values)
    group.preemptibility = pb.PREEMPTIBILITY_PREEMPTIBLE
    group.creation_time.FromJsonString("2025-03-03T08:00:00Z")
    group.last_start_time.FromJsonString("2025-03-03T08:00:00Z")
    for number in range(pods):
        pod = made.pods.add(uid=f"b{number}", pod_group="beside", shape="one", node="m")
        pod.status = pb.POD_STATUS_RUNNING
        pod.disruption_budgets.append("own")
    return group


def fails(made: pb.ClusterSnapshot) -> None:
    """The lender needs all GPUs of the node, and one of them is not given back."""
    made.shapes.add(id="eight", requests={"cpu_milli": 1}, gpu={"devices": 8})
    made.pods[8].shape = "eight"
    fixed = made.pod_groups.add(uid="fixed", name="fixed", queue="borrows", priority=50)
    fixed.preemptibility = pb.PREEMPTIBILITY_NON_PREEMPTIBLE
    fixed.creation_time.FromJsonString(CREATED)
    made.pods[7].pod_group = "fixed"


@pytest.mark.parametrize("succeeds", [True, False])
@pytest.mark.parametrize("action", ["stalegangeviction", "requeue"])
def test_an_override_holds_for_one_search_only_r15_13(action: str, succeeds: bool) -> None:
    made = snapshot(OVER, 0)
    if action == "requeue":
        beside(made, 1).expected_runtime.FromSeconds(3_600)
        made.pod_groups.add(uid="new", name="new", queue="beside", priority=75)
        made.pod_groups[-1].creation_time.FromJsonString(CREATED)
        made.nodes[1].labels["zone"] = "m"
        made.shapes.add().CopyFrom(made.shapes[0])
        made.shapes[1].id, made.shapes[1].node_selector["zone"] = "there", "m"
        made.pods.add(uid="n", pod_group="new", shape="there", status=pb.POD_STATUS_PENDING)
    else:
        beside(made, 2, min_member=3).stale_since.FromJsonString("2025-03-03T09:00:00Z")
    if not succeeds:
        fails(made)
    response = decide(made, "reclaim", action)
    overridden = [list(each.overridden_disruption_budgets) for each in evictions(response)]
    assert overridden == ([["b0"]] if succeeds else [])
    made.disruption_budgets[1].allowed = 2
    freed = {each.pod for each in evictions(decide(made, "reclaim", action)) if each.pod_group == "beside"}
    assert freed == ({"b0"} if action == "requeue" else {"b0", "b1"})


# patience -> what the end of a time limit that was announced overrides
ANNOUNCED: Final = {-1: [], HOUR: [], 0: ["b0"]}


@pytest.mark.parametrize("patience", ANNOUNCED)
def test_an_announced_end_overrides_budgets_that_hold_no_longer_only_r15_13(patience: int) -> None:
    """Its budget permits it when notice is given, and allows nothing when its time is over."""
    made = snapshot("2025-03-03T09:55:00Z", 8)
    made.pod_groups[0].last_start_time.FromJsonString("2025-03-03T09:00:00Z")
    made.pod_groups[0].time_limit.FromSeconds(3_600)
    options = {"max_notice": 600 * SECOND, "default_notice": 600 * SECOND, "patience": patience}
    (group,) = decide(made, "timelimit", **options).groups
    made.in_flight_groups.add().CopyFrom(track_group(group))
    made.disruption_budgets[0].allowed = 0
    made.now.FromJsonString("2025-03-03T10:06:00Z")
    ended = evictions(decide(made, "timelimit", **options))
    found = [list(each.overridden_disruption_budgets) for each in ended]
    assert found == [ANNOUNCED[patience]] * 8


def waits(made: pb.ClusterSnapshot, name: str, since: str, priority: int = 40) -> None:
    """A pod group with one pod waits in the queue of the lender."""
    group = made.pod_groups.add(uid=name, name=name, queue="lends", priority=priority)
    group.creation_time.FromJsonString(since)
    made.pods.add(uid=f"{name}-0", pod_group=name, shape="one", status=pb.POD_STATUS_PENDING)


def test_each_of_many_is_told_its_own_end_r15_13() -> None:
    """More of them than an action makes probes; the one behind all others has waited the longest."""
    made = snapshot("2025-03-03T10:50:00Z", 0)
    for number in range(MAX_PROBES + 8):
        waits(made, f"w{number:02}", f"2025-03-03T10:10:{number:02}Z")
    waits(made, "longest", "2025-03-03T09:59:00Z", priority=30)
    response = decide(made)
    found = {each.pod_group: each.reason for each in response.outcomes}
    assert not [each for each in found.values() if UNCHECKED in each.message]
    told = {"own": OVER, "longest": "2025-03-03T10:59:00Z", "w30": "2025-03-03T11:10:30Z"}
    assert {name: found[name].until.ToJsonString() for name in told} == told
    assert response.next_wake_time.ToJsonString() == "2025-03-03T10:59:00Z"


def test_a_cycle_comes_when_budgets_hold_no_longer_for_one_behind_others_r15_13() -> None:
    """The search for one before it met the same budgets, and another request keeps the two apart."""
    made = snapshot("2025-03-03T10:10:00Z", 0)
    made.shapes.add(id="three", requests={"cpu_milli": 1}, gpu={"devices": 3})
    made.pods[8].shape = "three"
    waits(made, "longest", "2025-03-03T09:30:00Z")
    profile = default_profile()
    profile = replace(profile, options=replace(profile.options, budget_patience=HOUR))
    answer = Explainer(profile).explain(ExplainRequest(snapshot=made, when_starts={}))
    starts = {each.pod_group: each.likely_start.ToJsonString()[11:16] for each in answer.start_estimates}
    assert starts == {"longest": "10:31", "own": "11:01"}


def test_explanation_knows_the_order_in_which_budgets_are_overridden_r15_13() -> None:
    """What yields is second: no pod of the first one is where the lender's pod must run."""
    made = snapshot(OVER, 0)
    made.nodes.add().CopyFrom(made.nodes[0])
    made.nodes[1].name, made.nodes[1].labels["zone"] = "m", "m"
    made.nodes[1].allocatable.gpu_milli = 1000
    made.shapes.add().CopyFrom(made.shapes[0])
    made.shapes[1].id, made.shapes[1].node_selector["zone"] = "there", "m"
    made.pods[0].node, made.pods[8].shape = "m", "there"
    first = made.pod_groups.add(uid="first", name="first", queue="borrows", priority=40)
    first.creation_time.FromJsonString(CREATED)
    for pod in made.pods[1:8]:
        pod.pod_group = "first"
    assert [each.pod for each in evictions(decide(made))] == ["r0"]
    profile = default_profile()
    profile = replace(profile, options=replace(profile.options, budget_patience=HOUR))
    answer = Explainer(profile).explain(ExplainRequest(snapshot=made, why_victim={"pod_group": "runs"}))
    assert "In victim order, 1 precede it (first)" in answer.explanation.operator
