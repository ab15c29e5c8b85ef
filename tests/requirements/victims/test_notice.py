"""Victims hear of their eviction before it happens, and hear it taken back.

Rules R16.1, R16.2, R16.3, R16.4, R16.5, R16.6, R16.7 and R16.8.
"""

from typing import Final

import pytest
from google.protobuf.duration_pb2 import Duration
from tenure.v1 import decide_pb2, decision_pb2
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.explain_pb2 import ExplainRequest

from tests.requirements.answers import bound, decisions, evicted, outcome, patches
from tests.requirements.cluster import ClusterText, seconds
from tests.requirements.conftest import Decide
from tests.requirements.profiles import Servers
from tests.requirements.victims.notice_story import NOTICES, Caller, notice, one_gpu, told, withdrawn

STORED: Final = ("last_eviction_time", "eviction_count", "set_eviction_record", "last_notice_time")


def test_victim_is_told_and_evicted_when_its_notice_is_over(decide: Decide) -> None:
    """E16.1, without a GPU that idles elsewhere."""
    caller = Caller(one_gpu(), decide)
    start = caller.clock
    answer = caller.cycle("1m")
    assert (told(answer), evicted(answer)) == (["v-0"], [])
    (step,) = [each for each in decisions(answer) if each.HasField("notify")]
    assert (step.notify.evict_time.seconds, step.notify.preemptor) == (start + 120, "p")
    assert step.notify.signal == decision_pb2.NOTICE_SIGNAL_CHECKPOINT
    assert [bool(patches(answer, field)) for field in STORED] == [False, False, False, True]
    assert outcome(answer, "p") == "WAITING_FOR_VICTIMS"
    (waits,) = answer.outcomes
    assert waits.reason.code == decision_pb2.REASON_CODE_NOTICE_GIVEN
    assert waits.reason.until.seconds == answer.next_wake_time.seconds == start + 120
    answer = caller.cycle("59s")
    assert (told(answer), evicted(answer), withdrawn(answer)) == ([], [], [])
    assert answer.next_wake_time.seconds == start + 120
    (status,) = answer.in_flight_group_statuses
    assert status.state == decision_pb2.IN_FLIGHT_GROUP_STATE_IN_FLIGHT
    assert [each.pod for each in status.reservations] == ["p-0"]
    assert evicted(caller.cycle("1s")) == []
    answer = caller.cycle("30s")
    assert (evicted(answer), withdrawn(answer)) == (["v-0"], [])
    (step,) = [each for each in decisions(answer) if each.HasField("evict")]
    assert step.evict.grace_period.seconds == 30
    assert [bool(patches(answer, field)) for field in STORED] == [True, True, True, False]
    assert bound(caller.cycle()) == ["p-0"]


def test_notice_is_withdrawn_when_its_beneficiary_fits_elsewhere(decide: Decide) -> None:
    """E16.1."""
    cluster = one_gpu()
    caller = Caller(cluster, decide)
    caller.cycle("1m")
    cluster.node("idle")
    answer = caller.cycle("10m")
    assert (bound(answer), withdrawn(answer), evicted(answer)) == (["p-0"], ["v-0"], [])
    assert cluster.group("v").eviction_count == 0
    (status,) = answer.in_flight_group_statuses
    assert status.state == decision_pb2.IN_FLIGHT_GROUP_STATE_CANCELLED
    assert status.reason.code == decision_pb2.REASON_CODE_NOT_NEEDED
    assert evicted(caller.cycle()) == []


def test_protection_that_ends_within_the_notice_does_not_delay_it(decide: Decide) -> None:
    """E16.2."""
    cluster = one_gpu(ran="54m59s")
    notice(cluster, "v", "5m")
    cluster.snapshot.queues[0].preempt_min_runtime.CopyFrom(Duration(seconds=3600))
    caller = Caller(cluster, decide)
    start, answer = caller.clock, caller.cycle("1s")
    assert (told(answer), outcome(answer, "p")) == ([], "DELAYED")
    assert answer.outcomes[0].reason.until.seconds == start + 1
    answer = caller.cycle("4m59s")
    assert told(answer) == ["v-0"]
    assert answer.outcomes[0].reason.until.seconds == start + 301
    assert evicted(caller.cycle("1s")) == []
    assert evicted(caller.cycle()) == ["v-0"]


def two_victims() -> ClusterText:
    """`v1` and `v2` run on the two GPUs, and `p` wants both."""
    cluster = ClusterText().node(gpus=2).queue("q").runs("v1", "q").runs("v2", "q")
    cluster.waits("p", "q", priority=75, gpus=2)
    return notice(notice(cluster, "v1", "1m"), "v2", "10m")


def test_victims_of_one_set_are_told_the_same_time(decide: Decide) -> None:
    """E16.3."""
    caller = Caller(two_victims(), decide)
    start, answer = caller.clock, caller.cycle("9m59s")
    steps = [each.notify for each in decisions(answer) if each.HasField("notify")]
    assert {step.pod: step.evict_time.seconds - start for step in steps} == {"v1-0": 600, "v2-0": 600}
    assert evicted(caller.cycle("1s")) == []
    assert evicted(caller.cycle()) == ["v1-0", "v2-0"]


def saves(cluster: ClusterText, name: str, *, at: int | None = None) -> None:
    """Let a pod group say that it saves its work on notice, and when it did so last."""
    group = cluster.group(name)
    group.checkpoint_on_notice = True
    if at is not None:
        group.last_checkpoint_time.seconds = at


def test_victims_that_saved_their_work_are_evicted_early_when_all_did(decide: Decide) -> None:
    """E16.3, and R16.6: ready pod groups need no more of their notice."""
    cluster = two_victims()
    caller = Caller(cluster, decide)
    saves(cluster, "v1")
    saves(cluster, "v2")
    start, _ = caller.clock, caller.cycle("30s")
    saves(cluster, "v1", at=start + 30)
    assert evicted(caller.cycle("1m")) == []
    saves(cluster, "v2", at=start + 90)
    answer = caller.cycle("1s")
    assert (evicted(answer), withdrawn(answer)) == (["v1-0", "v2-0"], [])
    (status,) = answer.in_flight_group_statuses
    assert "saved their work" in status.reason.message
    assert bound(caller.cycle()) == ["p-0"]


def test_part_of_a_victim_that_ended_is_ready(decide: Decide) -> None:
    cluster = two_victims()
    caller = Caller(cluster, decide)
    saves(cluster, "v1")
    start, _ = caller.clock, caller.cycle("30s")
    cluster.snapshot.pods.remove(next(pod for pod in cluster.snapshot.pods if pod.uid == "v2-0"))
    saves(cluster, "v1", at=start + 30)
    assert evicted(caller.cycle()) == ["v1-0"]


UNREADY: Final = {
    "it does not say that it does so": lambda group, start: setattr(group, "checkpoint_on_notice", False),
    "before the notice": lambda group, start: setattr(group.last_checkpoint_time, "seconds", start - 1),
    "in the future": lambda group, start: setattr(group.last_checkpoint_time, "seconds", start + 10_000),
    "no checkpoint": lambda group, start: group.ClearField("last_checkpoint_time"),
    "an earlier notice is stored": lambda group, start: (
        setattr(group.last_notice_time, "seconds", start - 300),
        setattr(group.last_checkpoint_time, "seconds", start - 100),
    ),
    "protected until its notice is over": lambda group, start: setattr(
        group.last_start_time, "seconds", start + 120 - 3600
    ),
}


@pytest.mark.parametrize("case", UNREADY)
def test_pod_group_that_is_not_ready_keeps_its_notice(case: str, decide: Decide) -> None:
    """R16.6: in doubt it keeps all of it."""
    cluster = one_gpu()
    cluster.snapshot.queues[0].preempt_min_runtime.CopyFrom(Duration(seconds=3600))
    caller = Caller(cluster, decide)
    group, start = cluster.group("v"), caller.clock
    group.last_start_time.seconds = start - 7200
    caller.cycle("30s")
    saves(cluster, "v", at=start + 30)
    UNREADY[case](group, start)
    assert evicted(caller.cycle("1m29s")) == []
    assert withdrawn(caller.cycle("1s")) == []
    assert evicted(caller.cycle()) == ["v-0"]


def test_protection_is_asked_by_the_own_notice_of_a_victim(decide: Decide) -> None:
    """E16.4."""
    cluster = two_victims()
    cluster.group("v1").last_start_time.seconds = cluster.snapshot.now.seconds - seconds("57m")
    cluster.group("v2").last_start_time.seconds = cluster.snapshot.now.seconds - seconds("2h")
    cluster.snapshot.queues[0].preempt_min_runtime.CopyFrom(Duration(seconds=3600))
    caller = Caller(cluster, decide)
    answer = caller.cycle("2m")
    assert (told(answer), outcome(answer, "p")) == ([], "DELAYED")
    assert told(caller.cycle()) == ["v1-0", "v2-0"]


def test_notice_is_withdrawn_when_its_beneficiary_is_gone_or_held(decide: Decide) -> None:
    for change in ("gone", "held"):
        cluster = one_gpu()
        caller = Caller(cluster, decide)
        caller.cycle("1m")
        if change == "held":
            cluster.group("p").held_by = pb.HOLD_REASON_USER
        else:
            cluster.snapshot.pod_groups.remove(cluster.group("p"))
            cluster.snapshot.pods.remove(next(pod for pod in cluster.snapshot.pods if pod.uid == "p-0"))
        answer = caller.cycle("10m")
        assert (withdrawn(answer), evicted(answer)) == (["v-0"], [])
        assert list(cluster.snapshot.in_flight_groups) == []


def test_notice_is_withdrawn_when_its_victim_opts_out_and_is_not_repeated_at_once(decide: Decide) -> None:
    cluster = one_gpu()
    caller = Caller(cluster, decide)
    start = caller.clock
    caller.cycle("1m")
    cluster.group("v").opt_out_actions.append("preempt")
    assert withdrawn(caller.cycle("1m")) == ["v-0"]
    del cluster.group("v").opt_out_actions[:]
    answer = caller.cycle("2m59s")
    assert (told(answer), outcome(answer, "p")) == ([], "DELAYED")
    assert answer.outcomes[0].reason.until.seconds == start + 300
    assert told(caller.cycle("1s")) == []
    assert told(caller.cycle()) == ["v-0"]


def test_more_urgent_pod_group_takes_no_announced_victim_and_no_reserved_capacity(decide: Decide) -> None:
    cluster = one_gpu()
    caller = Caller(cluster, decide)
    caller.cycle("1m")
    cluster.waits("urgent", "q", priority=99)
    answer = caller.cycle("1m")
    assert (told(answer), evicted(answer), bound(answer)) == ([], [], [])
    assert outcome(answer, "p") == "WAITING_FOR_VICTIMS"
    assert evicted(caller.cycle("1m")) == ["v-0"]
    assert bound(caller.cycle()) == ["p-0"]


def test_notice_is_that_of_the_nearest_queue_and_at_most_the_limit(decide: Decide) -> None:
    cluster = ClusterText().node().queue("top").queue("q", "top").runs("v", "q").waits("p", "q", priority=75)
    cluster.snapshot.queues[0].notice.CopyFrom(Duration(seconds=7200))
    answer = Caller(cluster, decide).cycle()
    (step,) = [each.notify for each in decisions(answer) if each.HasField("notify")]
    assert step.evict_time.seconds == cluster.snapshot.now.seconds + 3600
    cluster.snapshot.queues[1].notice.CopyFrom(Duration())
    del cluster.snapshot.in_flight_groups[:]
    assert evicted(Caller(cluster, decide).cycle()) == ["v-0"]


@pytest.mark.parametrize("of_queue", [False, True])
@pytest.mark.parametrize(("notice_of_v", "is_cut"), [("61m", True), ("1h", False), ("0s", False)])
def test_longer_notice_than_the_limit_is_a_warning_and_explained(
    servers: Servers, of_queue: bool, notice_of_v: str, is_cut: bool
) -> None:
    """R16.1."""
    cluster = one_gpu()
    span, group = Duration(seconds=seconds(notice_of_v)), cluster.group("v")
    (cluster.snapshot.queues[0] if of_queue else group).notice.CopyFrom(span)
    if of_queue:
        group.ClearField("notice")
    client = servers.client(NOTICES)
    warnings = client.decide(cluster.snapshot, ["preempt"]).warnings
    text = "its notice of 1h1m counts as 1h, the longest permitted"
    subject, uids = ("queue q", []) if of_queue else ("pod group v", ["v"])
    code = decide_pb2.WARNING_CODE_NOTICE_ABOVE_MAXIMUM
    found = [(each.message, list(each.pod_groups)) for each in warnings if each.code == code]
    assert found == ([(f"{subject}: {text}", uids)] if is_cut else [])
    without = servers.client("").decide(cluster.snapshot, ["preempt"])
    assert code not in {each.code for each in without.warnings}
    asked = ExplainRequest(snapshot=cluster.snapshot, protected_until={"pod_group": "v"})
    said = client.explain(asked).explanation.tenant
    source = "queue q" if of_queue else "its own notice"
    assert (f"Its pods have a notice of 1h before an eviction ({source})." in said) is (notice_of_v != "0s")
    assert ("the longest notice permitted, in place of 1h1m." in said) is is_cut


def test_profile_sets_the_notice_of_those_that_set_none(decide: Decide) -> None:
    """R16.1."""
    options, cluster = "options: {maxNotice: 5m, defaultNotice: 3m}\n", one_gpu()
    cluster.group("v").ClearField("notice")
    answer = Caller(cluster, decide, options).cycle()
    (step,) = [each.notify for each in decisions(answer) if each.HasField("notify")]
    assert step.evict_time.seconds == cluster.snapshot.now.seconds + 180
    cluster = notice(one_gpu(), "v", "0s")
    assert evicted(Caller(cluster, decide, options).cycle()) == ["v-0"]


def test_without_the_option_no_pod_is_told(decide: Decide) -> None:
    answer = Caller(one_gpu(), decide, "").cycle()
    assert (told(answer), evicted(answer)) == ([], ["v-0"])


def test_caller_that_was_away_carries_out_late(decide: Decide) -> None:
    cluster = one_gpu()
    caller = Caller(cluster, decide)
    caller.cycle("4m")
    assert evicted(caller.cycle("30s")) == ["v-0"]
    assert bound(caller.cycle()) == ["p-0"]


def test_expired_notice_is_withdrawn(decide: Decide) -> None:
    cluster = one_gpu()
    caller = Caller(cluster, decide)
    caller.cycle("1h")
    answer = caller.cycle()
    assert withdrawn(answer) == ["v-0"]
    (status,) = answer.in_flight_group_statuses
    assert status.state == decision_pb2.IN_FLIGHT_GROUP_STATE_EXPIRED


def test_relocated_pods_are_told_too(decide: Decide) -> None:
    cluster = ClusterText().node("n1", gpus=2).node("n2", gpus=2).queue("q")
    cluster.runs("a", "q", node="n1").runs("b", "q", node="n2").waits("wide", "q", gpus=2)
    notice(notice(cluster, "a", "1m"), "b", "1m")
    caller = Caller(cluster, decide)
    answer = caller.cycle("1m")
    assert (len(told(answer)), evicted(answer)) == (1, [])
    answer = caller.cycle()
    assert evicted(answer) == told(answer) or len(evicted(answer)) == 1
    assert bound(caller.cycle())[-1] == "wide-0"


def test_capacity_beyond_the_need_is_reserved_when_the_victim_is_evicted(decide: Decide) -> None:
    """`r` fits beside `p` where `v` runs. It gets a reservation with the eviction, not with the notice."""
    cluster = ClusterText().node(gpus=2).queue("q").runs("v", "q", gpus=2)
    cluster.waits("p", "q", priority=75).waits("r", "q", priority=75)
    caller = Caller(notice(cluster, "v", "2m"), decide)
    answers = [caller.cycle("30s") for _ in range(4)]
    assert [[group.beneficiary for group in answer.groups] for answer in answers] == [["p"], [], [], []]
    assert {outcome(answer, "r") for answer in answers[1:]} == {"WAITING_FOR_RELEASE"}
    answer = caller.cycle()
    assert (evicted(answer), [group.beneficiary for group in answer.groups]) == (["v-0"], ["p", "r"])
    assert bound(caller.cycle()) == ["p-0", "r-0"]
