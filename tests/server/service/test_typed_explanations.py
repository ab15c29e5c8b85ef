"""What explanations say can be read from their fields: changes, accounts of GPUs, and obstacles."""

from collections.abc import Iterator

import pytest
from tenure.client import Client
from tenure.v1 import explain_pb2 as pb
from tenure.v1.decision_pb2 import REASON_CODE_PRIORITY_NOT_LOWER
from tenure.v1.explain_pb2 import ExplainRequest, ExplainResponse

from tests.server.servers import run_server
from tests.server.service.gpu_cluster import GpuCluster


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=20) as client:
        yield client


def why_pending(client: Client, cluster: GpuCluster, uid: str = "job") -> ExplainResponse:
    return client.explain(ExplainRequest(snapshot=cluster.snapshot, why_pending={"pod_group": uid}))


def remedy(answer: ExplainResponse, kind: pb.RemedyKind) -> pb.Remedy:
    (found,) = [each for each in answer.remedies if each.kind == kind]
    return found


def behind_another() -> GpuCluster:
    """`job` waits for the GPU of `old`, which has a higher priority."""
    cluster = GpuCluster().node("n1", 1).queue("q", quota=1)
    return cluster.job("old", "q", on="n1", priority=50).job("job", "q", priority=40)


def test_a_raised_priority_and_its_victims_are_fields(client: Client) -> None:
    found = remedy(why_pending(client, behind_another()), pb.REMEDY_KIND_RAISE_PRIORITY)
    assert found.priority == pb.NumberChange(before=40, after=51)
    assert list(found.victims) == [pb.PodCount(pod_group="old", pods=1)]
    assert found.explanation.operator.startswith("raise its priority from 40 to 51; it starts after 1 pod")


def test_nodes_to_add_are_a_field(client: Client) -> None:
    found = remedy(why_pending(client, behind_another()), pb.REMEDY_KIND_ADD_NODES)
    assert found.nodes == pb.NodeAddition(number=1, like_node="n1")
    assert found.explanation.operator == "add 1 node like node n1; it starts."


def test_a_smaller_minimum_is_a_field(client: Client) -> None:
    cluster = GpuCluster().node("n1", 2).queue("q", quota=4).job("job", "q", pods=3)
    found = remedy(why_pending(client, cluster), pb.REMEDY_KIND_REDUCE_MINIMUM)
    assert found.min_member == pb.NumberChange(before=3, after=2)


def test_a_larger_limit_names_resource_queue_and_amounts(client: Client) -> None:
    cluster = GpuCluster().node("n1", 2).queue("q", quota=1).job("job", "q", gpus=2)
    cluster.snapshot.queues[0].gpu_milli.limit = 1_000
    found = remedy(why_pending(client, cluster), pb.REMEDY_KIND_RAISE_LIMIT)
    assert found.bound == pb.BoundChange(
        resource=pb.RESOURCE_KIND_GPU,
        queues=[pb.QueueBoundChange(queue="q", before=1_000, after=2_000)],
    )
    assert "raise the GPU limit of queue q from 1 to 2 GPUs" in found.explanation.operator


def test_the_account_of_gpus_and_the_obstacle_are_fields(client: Client) -> None:
    answer = why_pending(client, behind_another())
    account = answer.gpu_account
    assert (account.total_gpu_milli, account.free_gpu_milli, account.gpu_milli_per_pod) == (1_000, 0, 1_000)
    assert list(account.uses) == [pb.GpuUse(kind=pb.GPU_USE_KIND_NOT_LOWER, gpu_milli=1_000)]
    assert "Of 1 GPU on nodes that it may use: 1 of its queue at no lower priority." in (
        answer.explanation.operator
    )
    (preempt,) = [each for each in answer.eviction_obstacles if each.action == "preempt"]
    assert (preempt.candidates, preempt.evictable, preempt.HasField("not_eligible")) == (1, 0, False)
    assert list(preempt.rejected) == [
        pb.RejectedCandidates(code=REASON_CODE_PRIORITY_NOT_LOWER, number=1),
    ]
    assert "preempt: 1 candidate, none evictable (1 has equal or higher priority)." in (
        answer.explanation.operator
    )


def test_what_stops_the_eviction_of_one_victim_is_a_field(client: Client) -> None:
    cluster = GpuCluster().node("n1", 2).queue("q", quota=2).job("old", "q", on="n1", priority=40)
    cluster.job("firm", "q", on="n1", priority=120).job("job", "q", gpus=2, priority=60)
    question = {"pod_group": "old", "preemptor": "job"}
    answer = client.explain(ExplainRequest(snapshot=cluster.snapshot, why_not_victim=question))
    obstacle = next(each for each in answer.eviction_obstacles if each.action == "preempt")
    assert (obstacle.kind, obstacle.candidates) == (pb.EVICTION_OBSTACLE_KIND_AMOUNTS, 1)
    assert "evicting it alone would not free enough resources" in answer.explanation.operator
