"""Pod groups that wait for a time or for other workloads, without competing (R19.25, R19.26)."""

from typing import Final

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client import StateSession
from tenure.v1 import decide_pb2, decision_pb2
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.explain_pb2 import ExplainRequest
from tenure.v1.simulate_pb2 import SimulateRequest

from tests.requirements.answers import bound, evicted, outcome
from tests.requirements.cluster import NOW, ClusterText, seconds
from tests.requirements.conftest import Decide
from tests.requirements.profiles import Servers


def in_time(text: str) -> Timestamp:
    """The time so long after `NOW`."""
    return Timestamp(seconds=NOW + seconds(text))


def later(**more: object) -> ClusterText:
    """`late` may start in ten minutes, and `next` at any time; there is one GPU."""
    cluster = ClusterText().node().queue("q").waits("late", "q", priority=75, **more).waits("next", "q")
    cluster.group("late").not_before_time.CopyFrom(in_time("10m"))
    return cluster


def found(answer: decide_pb2.DecideResponse, uid: str) -> decision_pb2.PodGroupOutcome:
    return next(each for each in answer.outcomes if each.pod_group == uid)


def test_pod_group_waits_for_its_time_and_others_go_first(decide: Decide) -> None:
    cluster = later()
    answer = decide(cluster)
    assert (bound(answer), outcome(answer, "late")) == (["next-0"], "DELAYED")
    reason = found(answer, "late").reason
    assert (reason.code, reason.until) == (decision_pb2.REASON_CODE_NOT_BEFORE, in_time("10m"))
    assert "it may not start yet" in reason.message
    assert answer.next_wake_time == in_time("10m")
    cluster.snapshot.now.CopyFrom(in_time("10m"))
    assert bound(decide(cluster)) == ["late-0"]


def test_no_pod_is_evicted_before_the_time_and_none_is_asked_for(decide: Decide) -> None:
    cluster = ClusterText().node().queue("q").runs("old", "q").waits("late", "q", priority=75)
    cluster.group("late").not_before_time.CopyFrom(in_time("1s"))
    answer = decide(cluster)
    (queue,) = answer.queues
    assert (evicted(answer), queue.requested.gpu_milli) == ([], 1_000)
    cluster.snapshot.now.CopyFrom(in_time("1s"))
    assert evicted(decide(cluster)) == ["old-0"]


def test_running_pods_stay_and_only_pending_ones_wait(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=2).queue("q").runs("wide", "q", pods=1, minimum=1)
    cluster.pods("wide", "PENDING")
    cluster.group("wide").not_before_time.CopyFrom(in_time("10m"))
    answer = decide(cluster)
    assert (bound(answer), evicted(answer), outcome(answer, "wide")) == ([], [], "DELAYED")


HELD: Final = {
    "a user": (pb.HOLD_REASON_USER, "its owner holds it"),
    "another workload": (pb.HOLD_REASON_DEPENDENCY, "it waits for another workload"),
}


@pytest.mark.parametrize(("reason", "words"), HELD.values(), ids=HELD)
def test_hold_precedes_the_time(decide: Decide, reason: pb.HoldReason, words: str) -> None:
    cluster = later()
    cluster.group("late").held_by = reason
    for now in ("0s", "10m"):
        cluster.snapshot.now.CopyFrom(in_time(now))
        answer = decide(cluster)
        assert (bound(answer), outcome(answer, "late")) == (["next-0"], "HELD")
        assert words in found(answer, "late").reason.message
        assert not answer.HasField("next_wake_time")


def test_time_comes_while_a_pushed_state_does_not_change(servers: Servers) -> None:
    """By the time of the request, and by that of a delta of other rows."""
    cluster = later()
    cluster.snapshot.cluster_id = "not-before"
    with StateSession(servers.client()) as session:
        session.push(cluster.snapshot)
        assert bound(session.decide()) == ["next-0"]
        assert bound(session.decide(now=in_time("9m59s"))) == ["next-0"]
        assert bound(session.decide(now=in_time("10m"))) == ["late-0"]
        cluster.snapshot.version = 2
        cluster.snapshot.now.CopyFrom(in_time("9m"))
        cluster.waits("newest", "q")
        session.update(cluster.snapshot)
        assert bound(session.decide()) == ["next-0"]
        cluster.snapshot.version = 3
        cluster.snapshot.now.CopyFrom(in_time("11m"))
        cluster.waits("another", "q")
        session.update(cluster.snapshot)
        assert bound(session.decide()) == ["late-0"]


def test_simulated_cycles_reach_the_time(servers: Servers) -> None:
    request = SimulateRequest(snapshot=later(gpus=0).snapshot, cycles=12)
    request.interval.FromSeconds(60)
    cycles = servers.client().simulate(request).cycles
    starts = [number for number, cycle in enumerate(cycles) if "late-0" in bound(cycle)]
    assert starts == [10]


def test_explanation_tells_the_time(servers: Servers) -> None:
    request = ExplainRequest(snapshot=later(gpus=0).snapshot)
    request.why_pending.pod_group = "late"
    answer = servers.client().explain(request)
    told = answer.explanation
    assert "because it may not start yet (until" in told.operator
    assert [each.until for each in answer.reasons] == [in_time("10m")]
    assert [each.until for each in answer.remedies] == [in_time("10m")]


def test_hold_names_the_pod_groups_of_the_snapshot_that_it_waits_for(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=2).queue("q").runs("prepare", "q").waits("train", "q")
    train = cluster.group("train")
    train.held_by = pb.HOLD_REASON_DEPENDENCY
    train.depends_on.extend(["prepare", "gone", "train-0"])
    message = found(decide(cluster), "train").reason.message
    assert "it waits for prepare and 2 pod groups not in the snapshot" in message
    train.held_by = pb.HOLD_REASON_UNSPECIFIED
    assert bound(decide(cluster)) == ["train-0"]
