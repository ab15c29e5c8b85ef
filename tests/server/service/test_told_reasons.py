"""Reasons over a real connection: a protection is the reason only where it alone is in the way."""

from collections.abc import Callable, Iterator

import pytest
from tenure.client import Client
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.explain_pb2 import ExplainRequest
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_NON_PREEMPTIBLE, ClusterSnapshot

from tests.server.servers import run_server
from tests.server.service.gpu_cluster import GpuCluster, time_at

FIXED = PREEMPTIBILITY_NON_PREEMPTIBLE


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=20) as client:
        yield client


def outcome(response: DecideResponse, uid: str) -> pb.PodGroupOutcome:
    (found,) = [each for each in response.outcomes if each.pod_group == uid]
    return found


def at(client: Client, snapshot: ClusterSnapshot, clock: str) -> DecideResponse:
    return client.simulate(SimulateRequest(snapshot=snapshot, now=time_at(clock))).cycles[0]


def one_protected_gpu(wanted: int) -> GpuCluster:
    """Build a full node: `fixed` has 7 GPUs for good, `young` the last one until 10:50."""
    return (
        GpuCluster()
        .node("n1", 8)
        .queue("q", quota=8, preempt_min_runtime="1h")
        .job("fixed", "q", gpus=7, on="n1", preemptibility=FIXED)
        .job("young", "q", on="n1", ran="45m")
        .job("job", "q", gpus=wanted, priority=90)
    )


def one_protected_gpu_of_a_rich_queue(wanted: int) -> GpuCluster:
    """Build a full node: queue `rich` has one GPU too many until 10:50, queue `level` just its share."""
    return (
        GpuCluster()
        .node("n1", 4)
        .queue("mine", quota=2)
        .queue("level", quota=2)
        .queue("rich", reclaim_min_runtime="1h")
        .job("fixed", "mine", on="n1", preemptibility=FIXED)
        .job("theirs", "level", on="n1", pods=2)
        .job("young", "rich", on="n1", ran="45m")
        .job("job", "mine", gpus=wanted)
    )


def short_and_elastic(wanted: int) -> GpuCluster:
    """Build a full node: one pod until 10:45, and the minimum of an elastic pod group until 11:30."""
    return (
        GpuCluster()
        .node("n1", 7)
        .queue("q", quota=7, preempt_min_runtime="1h")
        .job("short", "q", on="n1", ran="50m", priority=30)
        .job("elastic", "q", gpus=2, pods=3, min_member=2, on="n1", ran="5m", priority=30)
        .job("job", "q", gpus=wanted, priority=90)
    )


def two_ends(wanted: int) -> GpuCluster:
    """Build a full node of two protected pods: one until 10:40, the other until 10:50."""
    return (
        GpuCluster()
        .node("n1", 2)
        .queue("q", quota=2, preempt_min_runtime="1h")
        .job("older", "q", on="n1", ran="55m")
        .job("young", "q", on="n1", ran="45m")
        .job("job", "q", gpus=wanted, priority=90)
    )


@pytest.mark.parametrize(
    ("cluster", "wanted", "until"),
    [
        (one_protected_gpu, 1, "10:50"),
        (one_protected_gpu_of_a_rich_queue, 1, "10:50"),
        (two_ends, 1, "10:40"),
        (two_ends, 2, "10:50"),
        (short_and_elastic, 3, "10:45"),
        (short_and_elastic, 4, "11:30"),
    ],
)
def test_protection_is_the_reason_where_its_end_alone_gives_room(
    client: Client, cluster: Callable[[int], GpuCluster], wanted: int, until: str
) -> None:
    snapshot = cluster(wanted).snapshot
    found = outcome(client.decide(snapshot), "job")
    assert (found.kind, found.reason.code) == (pb.OUTCOME_KIND_DELAYED, pb.REASON_CODE_MIN_RUNTIME)
    assert found.reason.until == time_at(until)
    assert outcome(at(client, snapshot, until), "job").kind == pb.OUTCOME_KIND_WAITING_FOR_VICTIMS


@pytest.mark.parametrize("cluster", [one_protected_gpu, one_protected_gpu_of_a_rich_queue])
def test_protection_is_not_the_reason_where_its_end_gives_too_little(
    client: Client, cluster: Callable[[int], GpuCluster]
) -> None:
    snapshot = cluster(2).snapshot
    response = client.decide(snapshot)
    found, later = outcome(response, "job"), outcome(at(client, snapshot, "10:50"), "job")
    assert found.reason.code == later.reason.code != pb.REASON_CODE_MIN_RUNTIME
    assert found.kind == later.kind != pb.OUTCOME_KIND_DELAYED
    assert not found.reason.HasField("until")
    assert response.next_wake_time == time_at("10:50")
    explained = client.explain(ExplainRequest(snapshot=snapshot, why_pending={"pod_group": "job"}))
    assert explained.reasons[0].code == found.reason.code
    assert "minimum runtime" not in explained.explanation.tenant


def test_protection_of_one_gpu_is_the_reason_of_the_small_one_only_e20_1(client: Client) -> None:
    snapshot = one_protected_gpu(4).job("small", "q", priority=80).snapshot
    response = client.decide(snapshot)
    large, small = (outcome(response, uid) for uid in ("job", "small"))
    assert (small.reason.code, small.reason.until) == (pb.REASON_CODE_MIN_RUNTIME, time_at("10:50"))
    assert (large.reason.code, large.reason.HasField("until")) == (pb.REASON_CODE_NO_CAPACITY, False)
    assert "it needs 4 GPUs; 0 of 8 on nodes that it may use are free" in large.reason.message
    explained = client.explain(ExplainRequest(snapshot=snapshot, why_pending={"pod_group": "job"}))
    assert (
        "Of 8 GPUs on nodes that it may use: "
        "7 of pod groups that preempt and reclaim never evict for it, "
        "1 protected until 2025-03-03 10:50:00 UTC or later."
    ) in explained.explanation.tenant
    later = {each.pod_group: each.kind for each in at(client, snapshot, "10:50").outcomes}
    assert later["small"] == pb.OUTCOME_KIND_WAITING_FOR_VICTIMS
    assert later["job"] == large.kind == pb.OUTCOME_KIND_WAITING_FOR_CAPACITY


def test_who_gets_nothing_beside_an_earlier_one_waits_for_that_one(client: Client) -> None:
    """Rule R13.46."""
    snapshot = one_protected_gpu(1).job("behind", "q", priority=60).snapshot
    ahead = outcome(client.decide(snapshot), "job")
    assert (ahead.reason.code, ahead.reason.until) == (pb.REASON_CODE_MIN_RUNTIME, time_at("10:50"))
    behind = outcome(client.decide(snapshot), "behind")
    assert (behind.kind, behind.reason.code) == (
        pb.OUTCOME_KIND_WAITING_FOR_CAPACITY,
        pb.REASON_CODE_QUEUE_ORDER,
    )
    assert "pod group job waits for the same capacity and comes first" in behind.reason.message
    assert not behind.reason.HasField("until")


def test_who_finds_victims_beside_an_earlier_one_waits_for_their_protection(client: Client) -> None:
    snapshot = two_ends(1).job("behind", "q", priority=60).snapshot
    found = {each.pod_group: each.reason for each in client.decide(snapshot).outcomes}
    assert {name: found[name].until for name in ("job", "behind")} == {
        "job": time_at("10:40"),
        "behind": time_at("10:50"),
    }
    later = {each.pod_group: each.kind for each in at(client, snapshot, "10:50").outcomes}
    assert later["job"] == later["behind"] == pb.OUTCOME_KIND_WAITING_FOR_VICTIMS


def test_all_that_come_first_are_named_where_several_do(client: Client) -> None:
    """Rule R13.46: the gang of two finds nothing beside the two that wait for earlier ends."""
    snapshot = two_ends(1).job("second", "q", priority=60).job("pair", "q", pods=2, priority=55).snapshot
    found = {each.pod_group: each.reason for each in client.decide(snapshot).outcomes}
    assert found["second"].until == time_at("10:50")
    assert found["pair"].code == pb.REASON_CODE_QUEUE_ORDER
    assert found["pair"].message.endswith(
        "pod groups job and second come first and together leave too little for it."
    )


def test_pod_groups_of_different_actions_take_turns(client: Client) -> None:
    """Rule R13.46: what `first` reclaims at 10:55 is not there for `job`, which preempts at 11:35."""
    cluster = GpuCluster().node("n1", 4)
    cluster.queue("a", quota=2).queue("b", quota=2, preempt_min_runtime="1h", reclaim_min_runtime="30m")
    cluster.job("young", "b", on="n1", ran="0m", priority=60)
    cluster.job("gang", "b", on="n1", pods=2, ran="10m")
    cluster.job("job", "b", gpus=4, priority=90).job("first", "a", pods=2, priority=75)
    snapshot = cluster.snapshot
    response = client.decide(snapshot)
    assert outcome(response, "first").reason.until == time_at("10:55")
    found = outcome(response, "job")
    assert (found.kind, found.reason.code) == (
        pb.OUTCOME_KIND_WAITING_FOR_CAPACITY,
        pb.REASON_CODE_QUEUE_ORDER,
    )
    assert "another pod group waits for the same capacity and comes first" in found.reason.message


def evicted_and_back() -> ClusterSnapshot:
    """Build a full node: `urgent` evicts `loser`, which comes back and preempts `young` before `job`."""
    cluster = GpuCluster().node("n1", 2).queue("q", quota=2, preempt_min_runtime="1h")
    cluster.job("young", "q", on="n1", ran="45m", priority=20).job("loser", "q", on="n1", priority=60)
    return cluster.job("urgent", "q", priority=90).job("job", "q", priority=40).snapshot


def test_evicted_pod_group_that_may_come_first_is_named(client: Client) -> None:
    """Rule R13.46: `job` is delayed until 10:50 as far as was checked, and `loser` is faster."""
    snapshot = evicted_and_back()
    found = outcome(client.decide(snapshot), "job").reason
    assert found.until == time_at("10:50")
    assert found.message.endswith("; pod group loser that this cycle evicts may come first.")


def test_evicted_pod_group_of_lower_priority_is_no_reason_to_doubt_the_order(client: Client) -> None:
    snapshot = evicted_and_back()
    snapshot.pod_groups[1].priority = 30
    found = outcome(client.decide(snapshot), "job").reason
    assert "may come first" not in found.message
    assert found.message.endswith("; decisions for others before then may change that.")


def test_elastic_pod_group_that_needs_more_pods_is_named(client: Client) -> None:
    cluster = GpuCluster().node("n1", 2).queue("q", quota=2, preempt_min_runtime="1h")
    cluster.job("young", "q", on="n1", ran="45m", priority=20)
    cluster.job("urgent", "q", pods=2, min_member=1, priority=90).job("job", "q", priority=40)
    found = outcome(client.decide(cluster.snapshot), "job").reason
    assert found.message.endswith("; pod group urgent that still needs pods may come first.")


def test_delay_without_other_decisions_has_no_reservation(client: Client) -> None:
    found = outcome(client.decide(one_protected_gpu(1).snapshot), "job").reason
    assert found.message.endswith("is delayed: young is protected by queue q.")


def test_preemption_delay_says_that_what_follows_was_not_checked(client: Client) -> None:
    cluster = GpuCluster().node("n1", 1).queue("q", quota=1).job("old", "q", on="n1", priority=40)
    cluster.job("job", "q", priority=90)
    cluster.snapshot.pod_groups[-1].preemption_delay.FromSeconds(48 * 3600 + 900)
    found = outcome(client.decide(cluster.snapshot), "job").reason
    assert found.code == pb.REASON_CODE_PREEMPTION_DELAY
    assert found.message.endswith("has not elapsed; what it may evict then was not checked.")


def test_another_queue_is_not_named_as_earlier(client: Client) -> None:
    cluster = GpuCluster().node("n1", 1).queue("rich", reclaim_min_runtime="1h")
    cluster.queue("a", quota=1).queue("b", quota=1)
    cluster.job("young", "rich", on="n1", ran="45m").job("first", "a").job("second", "b")
    reasons = {each.pod_group: each.reason for each in client.decide(cluster.snapshot).outcomes}
    assert reasons["first"].until == time_at("10:50")
    assert reasons["second"].code == pb.REASON_CODE_QUEUE_ORDER
    assert "another pod group waits for the same capacity and comes first" in reasons["second"].message


def test_checks_of_protections_are_limited_and_the_rest_is_reported_as_not_checked(client: Client) -> None:
    cluster = GpuCluster()
    for number in range(300):
        name = f"q{number}"
        cluster.node(name, 1).queue(name, quota=1, preempt_min_runtime="1h")
        cluster.job(f"young-{number}", name, on=name, ran="45m")
        cluster.job(f"job-{number}", name, priority=90)
    response = client.decide(cluster.snapshot)
    codes = [each.reason.code for each in response.outcomes]
    assert codes.count(pb.REASON_CODE_MIN_RUNTIME) == 32
    others = [each.reason.detail for each in response.outcomes if not each.reason.HasField("until")]
    assert len(others) == 300 - 32
    assert all(text.endswith("was not checked") for text in others)
    assert response.next_wake_time == time_at("10:50")
