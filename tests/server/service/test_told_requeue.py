"""Reasons over a real connection: protections that requeue meets, and GPUs that queues cannot share."""

from collections.abc import Iterator
from typing import Final

import pytest
from google.protobuf.duration_pb2 import Duration
from tenure.client import Client
from tenure.v1 import decision_pb2 as pb
from tenure.v1.explain_pb2 import ExplainRequest
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_NON_PREEMPTIBLE, ClusterSnapshot

from tests.server.servers import run_server
from tests.server.service.gpu_cluster import GpuCluster, time_at

FIXED: Final = PREEMPTIBILITY_NON_PREEMPTIBLE
OTHERS: Final = ["preempt", "reclaim", "consolidation"]
HOUR: Final = Duration(seconds=3600)
ODD_GPU: Final = "the GPU that queues of equal claim cannot share goes to another one, which "


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=20) as client:
        yield client


def outcome(client: Client, snapshot: ClusterSnapshot, uid: str = "job") -> pb.PodGroupOutcome:
    (found,) = [each for each in client.decide(snapshot).outcomes if each.pod_group == uid]
    return found


def nomination(client: Client, snapshot: ClusterSnapshot, uid: str) -> pb.Nomination:
    (found,) = [each for each in client.decide(snapshot).nominations if each.pod_group == uid]
    return found


def played(client: Client, snapshot: ClusterSnapshot, clock: str) -> int:
    """Return the outcome kind of `job` at a time, with the decisions of all minutes before it applied."""
    minutes = (time_at(clock).ToSeconds() - snapshot.now.ToSeconds()) // 60
    request = SimulateRequest(snapshot=snapshot, cycles=minutes + 1, interval=Duration(seconds=60))
    (found,) = [each for each in client.simulate(request).cycles[-1].outcomes if each.pod_group == "job"]
    return found.kind


def overdue_of(queue: str, *, wanted: int = 1, late: int = 1) -> GpuCluster:
    """Build a full node of overdue jobs, which a guard of their queue protects until 11:05 and later."""
    cluster = GpuCluster().node("n1", late).queue("q", quota=late)
    cluster.queue("r", quota=late, preempt_min_runtime="3h", reclaim_min_runtime="3h")
    if queue == "q":
        cluster.snapshot.queues[0].preempt_min_runtime.CopyFrom(Duration(seconds=10_800))
    for number in range(late):
        cluster.job(
            f"late{number}",
            queue,
            on="n1",
            ran=f"{150 - 10 * number}m",
            priority=40,
            expected_runtime=HOUR,
            opt_out_actions=OTHERS,
        )
    return cluster.job("job", "q", gpus=wanted, priority=90)


@pytest.mark.parametrize("queue", ["q", "r"])
@pytest.mark.parametrize(("wanted", "late", "until"), [(1, 1, "11:05"), (1, 2, "11:05"), (2, 2, "11:15")])
def test_protection_that_requeue_meets_is_the_reason_of_the_contender(
    client: Client, queue: str, wanted: int, late: int, until: str
) -> None:
    """Rule R13.48."""
    snapshot = overdue_of(queue, wanted=wanted, late=late).snapshot
    found = outcome(client, snapshot)
    assert (found.kind, found.reason.code) == (pb.OUTCOME_KIND_DELAYED, pb.REASON_CODE_MIN_RUNTIME)
    assert found.reason.until == time_at(until)
    assert played(client, snapshot, until) == pb.OUTCOME_KIND_WAITING_FOR_VICTIMS


def test_protection_that_requeue_meets_is_no_reason_where_its_end_gives_too_little(client: Client) -> None:
    cluster = overdue_of("q", wanted=2, late=1)
    cluster.snapshot.nodes[0].allocatable.gpu_milli = 2000
    cluster.job("fixed", "q", on="n1", preemptibility=FIXED)
    found = outcome(client, cluster.snapshot)
    assert found.kind == pb.OUTCOME_KIND_WAITING_FOR_CAPACITY
    assert not found.reason.HasField("until")


def test_opt_out_of_requeue_has_no_end_and_is_no_delay(client: Client) -> None:
    snapshot = overdue_of("q").snapshot
    snapshot.pod_groups[0].opt_out_actions.append("requeue")
    assert outcome(client, snapshot).kind == pb.OUTCOME_KIND_WAITING_FOR_CAPACITY


def test_contenders_take_turns_at_an_overdue_pod_group(client: Client) -> None:
    snapshot = overdue_of("q").job("behind", "q", priority=60).snapshot
    assert outcome(client, snapshot).reason.until == time_at("11:05")
    behind = outcome(client, snapshot, "behind").reason
    assert behind.code == pb.REASON_CODE_QUEUE_ORDER
    assert "pod group job waits for the same capacity and comes first" in behind.message


def odd_gpu(mine: str, theirs: str, *, days: int = 0) -> ClusterSnapshot:
    """Build three GPUs for two queues without quota: each has one, and `late` of theirs the last one too.

    Queue `theirs` is older by a number of days.
    """
    cluster = GpuCluster().node("n1", 3).queue("a").queue("b")
    for queue in cluster.snapshot.queues:
        age = 100 + (days if queue.name == theirs else 0)
        queue.creation_time.FromSeconds(cluster.snapshot.now.ToSeconds() - age * 86_400)
    cluster.job("hold", mine, on="n1", preemptibility=FIXED)
    cluster.job("late", theirs, on="n1", pods=2, min_member=1, ran="3h", priority=40, expected_runtime=HOUR)
    return cluster.job("job", mine, priority=90).snapshot


@pytest.mark.parametrize(
    ("mine", "theirs", "days", "rule"),
    [
        ("b", "a", 0, "comes first by name"),
        ("b", "a", 1, "was created earlier"),
        ("a", "b", 1, "was created earlier"),
    ],
)
def test_rule_of_the_odd_gpu_is_part_of_both_reasons(
    client: Client, mine: str, theirs: str, days: int, rule: str
) -> None:
    """Rule R13.49."""
    snapshot = odd_gpu(mine, theirs, days=days)
    assert outcome(client, snapshot).reason.message.endswith(f"; {ODD_GPU}{rule}.")
    kept = nomination(client, snapshot, "late")
    assert kept.result == pb.NOMINATION_RESULT_NO_BENEFIT
    assert kept.reason.message.endswith(f"; {ODD_GPU}{rule}.")
    asked = ExplainRequest(snapshot=snapshot, why_pending={"pod_group": "job"})
    assert f"{ODD_GPU}{rule}" in client.explain(asked).explanation.operator


def test_older_queue_has_the_odd_gpu(client: Client) -> None:
    assert outcome(client, odd_gpu("a", "b")).kind == pb.OUTCOME_KIND_WAITING_FOR_VICTIMS


def test_rule_of_the_odd_gpu_is_not_told_where_one_gpu_more_would_not_suffice(client: Client) -> None:
    snapshot = odd_gpu("b", "a")
    snapshot.shapes.add(id="two", requests=snapshot.shapes[0].requests).gpu.devices = 2
    snapshot.pods[-1].shape = "two"
    assert ODD_GPU not in outcome(client, snapshot).reason.message


def test_rule_of_the_odd_gpu_is_not_told_of_queues_with_different_claims(client: Client) -> None:
    snapshot = odd_gpu("b", "a")
    snapshot.queues[0].gpu_milli.over_quota_weight = 3
    snapshot.queues[1].gpu_milli.over_quota_weight = 1
    assert ODD_GPU not in outcome(client, snapshot).reason.message
