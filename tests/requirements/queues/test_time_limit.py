"""Pod groups end at their time limit, with notice before that (R19.20, R19.21)."""

from typing import Final

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.v1 import decision_pb2
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.explain_pb2 import ExplainRequest
from tenure.v1.simulate_pb2 import SimulateRequest

from tests.requirements.answers import bound, decisions, evicted, outcome, patches
from tests.requirements.cluster import NOW, ClusterText, ago, seconds
from tests.requirements.conftest import Decide
from tests.requirements.profiles import Servers
from tests.requirements.victims.notice_story import Caller, notice, told, withdrawn

ACTIONS: Final = ("timelimit", "allocate", "preempt")
NOTICES: Final = "options: {maxNotice: 1h}\nactions: timelimit, allocate\n"


def limited(ran: str = "50m", **more: object) -> ClusterText:
    """`v` may run for an hour on the only GPU, and `w` waits for it with the same priority."""
    cluster = ClusterText().node().queue("top").queue("q", "top").runs("v", "q", ran=ran, **more)
    cluster.group("v").time_limit.CopyFrom(Duration(seconds=3_600))
    return cluster.waits("w", "q")


def test_pod_group_is_told_evicted_and_held(decide: Decide) -> None:
    """E19.3: it started an hour before the end, with 5 minutes of notice."""
    caller = Caller(notice(limited(), "v", "5m"), decide, NOTICES, ACTIONS)
    start = caller.clock
    answer = caller.cycle("4m59s")
    assert (told(answer), evicted(answer), answer.next_wake_time.seconds) == ([], [], start + 300)
    assert told(caller.cycle("1s")) == []
    answer = caller.cycle("4m59s")
    assert (told(answer), evicted(answer)) == (["v-0"], [])
    (step,) = [each for each in decisions(answer) if each.HasField("notify")]
    assert (step.notify.evict_time.seconds, step.notify.preemptor) == (start + 600, "v")
    assert step.reason.code == decision_pb2.REASON_CODE_NOTICE_GIVEN
    assert "reached its time limit" in step.reason.message
    answer = caller.cycle("1s")
    assert (told(answer), evicted(answer), answer.next_wake_time.seconds) == ([], [], start + 600)
    answer = caller.cycle("1s")
    assert (evicted(answer), withdrawn(answer)) == (["v-0"], [])
    assert patches(answer, "held_by") == {"v": pb.HOLD_REASON_TIME_LIMIT}
    answer = caller.cycle()
    assert (bound(answer), outcome(answer, "v")) == (["w-0"], "HELD")
    (held,) = [each for each in answer.outcomes if each.pod_group == "v"]
    assert "it reached its time limit" in held.reason.message


def test_released_pod_group_gets_all_of_its_time_again(decide: Decide) -> None:
    """R19.21: what it ran before does not count. A release that is older than the eviction does not help."""
    cluster = limited(ran="1h")
    caller = Caller(cluster, decide, "", ACTIONS)
    answer = caller.cycle("1m")
    assert (evicted(answer), list(patches(answer, "last_eviction_time"))) == (["v-0"], ["v"])
    (step,) = [each for each in decisions(answer) if each.HasField("evict")]
    assert (step.evict.fate, step.evict.preemptor) == (pb.FATE_HOLD, "v")
    assert "is evicted because its pod group reached its time limit; it is held until" in step.reason.message
    del cluster.snapshot.pods[1:], cluster.snapshot.pod_groups[1:]
    cluster.group("v").release_time.CopyFrom(ago("1m"))
    assert bound(caller.cycle("1m")) == []
    cluster.group("v").release_time.CopyFrom(cluster.snapshot.now)
    assert bound(caller.cycle("59m")) == ["v-0"]
    assert evicted(caller.cycle("1m")) == []
    assert evicted(caller.cycle()) == ["v-0"]


FATES: Final = {
    "none is set": (pb.FATE_UNSPECIFIED, pb.FATE_UNSPECIFIED, False, pb.FATE_HOLD),
    "its own": (pb.FATE_DELETE, pb.FATE_REQUEUE, False, pb.FATE_DELETE),
    "that of the nearest queue": (pb.FATE_UNSPECIFIED, pb.FATE_REQUEUE, False, pb.FATE_REQUEUE),
    "it can be suspended": (pb.FATE_SUSPEND, pb.FATE_UNSPECIFIED, True, pb.FATE_SUSPEND),
    "it cannot be suspended": (pb.FATE_SUSPEND, pb.FATE_UNSPECIFIED, False, pb.FATE_HOLD),
}


@pytest.mark.parametrize(("own", "queue", "suspendable", "fate"), FATES.values(), ids=FATES)
def test_fate_at_the_time_limit(
    decide: Decide, own: pb.Fate, queue: pb.Fate, suspendable: bool, fate: pb.Fate
) -> None:
    cluster = limited(ran="1h")
    group = cluster.group("v")
    group.on_time_limit, cluster.snapshot.queues[0].on_time_limit = own, queue
    group.suspendable, group.on_evict = suspendable, pb.FATE_DELETE
    answer = decide(cluster, "", *ACTIONS)
    assert [each.evict.fate for each in decisions(answer) if each.HasField("evict")] == [fate]
    assert bool(patches(answer, "held_by")) is (fate == pb.FATE_HOLD)


LIMITS: Final = {
    "its own": ("1h", None, True),
    "its own is longer than that of its queue": ("2h", "1h", True),
    "that of its queue is longer": ("2h", "3h", False),
    "its queue alone has one": (None, "1h", True),
    "a queue without a limit": (None, "0s", False),
}


@pytest.mark.parametrize(("own", "queue", "ends"), LIMITS.values(), ids=LIMITS)
def test_limit_is_its_own_or_that_of_its_queue(
    decide: Decide, own: str | None, queue: str | None, ends: bool
) -> None:
    cluster = limited(ran="1h")
    cluster.group("v").ClearField("time_limit")
    if own is not None:
        cluster.group("v").time_limit.CopyFrom(Duration(seconds=seconds(own)))
    if queue is not None:
        cluster.snapshot.queues[0].time_limit.CopyFrom(Duration(seconds=seconds(queue)))
    assert evicted(decide(cluster, "", *ACTIONS)) == (["v-0"] if ends else [])


def test_no_guard_protects_from_the_own_limit(decide: Decide) -> None:
    """Minimum runtime, non-preemptible: neither counts. A disruption budget does."""
    cluster = limited(ran="1h", mode="NON_PREEMPTIBLE")
    cluster.snapshot.queues[0].preempt_min_runtime.FromSeconds(86_400)
    assert evicted(decide(cluster, "", *ACTIONS)) == ["v-0"]
    cluster.snapshot.disruption_budgets.add(name="team/v", allowed=0)
    cluster.snapshot.pods[0].disruption_budgets.append("team/v")
    assert evicted(decide(cluster, "", *ACTIONS)) == []


def test_surplus_ends_with_its_pod_group(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=3).queue("q").runs("v", "q", ran="1h", pods=3, minimum=1)
    cluster.group("v").time_limit.CopyFrom(Duration(seconds=3_600))
    answer = decide(cluster, "", *ACTIONS)
    fates = [each.evict.fate for each in decisions(answer) if each.HasField("evict")]
    assert fates == [pb.FATE_HOLD] * 3


def test_nothing_ends_without_the_action_or_without_a_start(decide: Decide) -> None:
    assert evicted(decide(limited(ran="5h"), "")) == []
    cluster = limited(ran="5h")
    cluster.group("v").ClearField("last_start_time")
    assert evicted(decide(cluster, "", *ACTIONS)) == []


def test_notice_is_withdrawn_when_the_limit_is_raised(decide: Decide) -> None:
    cluster = notice(limited("55m"), "v", "5m")
    caller = Caller(cluster, decide, NOTICES, ACTIONS)
    assert told(caller.cycle("1m")) == ["v-0"]
    cluster.group("v").time_limit.CopyFrom(Duration(seconds=7_200))
    answer = caller.cycle("1m")
    assert (withdrawn(answer), evicted(answer), told(answer)) == (["v-0"], [], [])
    (status,) = answer.in_flight_group_statuses
    assert status.state == decision_pb2.IN_FLIGHT_GROUP_STATE_CANCELLED


def test_pod_group_that_saved_its_work_ends_before_its_notice_is_over(decide: Decide) -> None:
    cluster = notice(limited("55m"), "v", "5m")
    cluster.group("v").checkpoint_on_notice = True
    caller = Caller(cluster, decide, NOTICES, ACTIONS)
    assert told(caller.cycle("1m")) == ["v-0"]
    cluster.group("v").last_checkpoint_time.CopyFrom(cluster.snapshot.now)
    assert evicted(caller.cycle()) == ["v-0"]


def test_late_cycle_shortens_no_notice(decide: Decide) -> None:
    cluster = notice(limited("58m"), "v", "5m")
    answer = decide(cluster, NOTICES, *ACTIONS)
    (step,) = [each for each in decisions(answer) if each.HasField("notify")]
    assert step.notify.evict_time == Timestamp(seconds=NOW + 300)


def test_simulated_cycles_show_notice_eviction_and_hold(servers: Servers) -> None:
    cluster = notice(limited(), "v", "5m")
    request = SimulateRequest(snapshot=cluster.snapshot, cycles=15, actions=ACTIONS)
    request.interval.FromSeconds(60)
    cycles = servers.client(NOTICES).simulate(request).cycles
    assert [number for number, cycle in enumerate(cycles) if told(cycle)] == [5]
    assert [number for number, cycle in enumerate(cycles) if evicted(cycle)] == [10]
    assert [number for number, cycle in enumerate(cycles) if bound(cycle)] == [11]
    assert outcome(cycles[-1], "v") == "HELD"


def test_explanation_of_a_victim_names_its_time_limit(servers: Servers) -> None:
    request = ExplainRequest(snapshot=limited(ran="1h").snapshot)
    request.why_victim.pod_group = "v"
    text = servers.client("actions: timelimit, allocate\n").explain(request).explanation.operator
    assert "1 pod of pod group v (queue q) evicted: it reached its time limit." in text


def test_eviction_is_counted_as_one_of_the_time_limit(decide: Decide) -> None:
    answer = decide(limited(ran="1h"), "plugins: {evictionlimit: {maxEvictions: '3'}}\n", *ACTIONS)
    (counts,) = patches(answer, "evictions").values()
    assert counts.by_cause == {"time_limit": 1}
    assert patches(answer, "eviction_count") == {}
