"""Reasons over a real connection: what would have to change for a pod group that waits for capacity."""

from collections.abc import Callable, Iterator

import pytest
from tenure.client import Client
from tenure.v1 import decision_pb2 as pb
from tenure.v1.explain_pb2 import ExplainRequest, ExplainResponse
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_NON_PREEMPTIBLE, ClusterSnapshot

from tests.server.servers import run_server
from tests.server.service.gpu_cluster import GpuCluster

FIXED = PREEMPTIBILITY_NON_PREEMPTIBLE


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=20) as client:
        yield client


def why_pending(client: Client, snapshot: ClusterSnapshot, uid: str = "job") -> ExplainResponse:
    return client.explain(ExplainRequest(snapshot=snapshot, why_pending={"pod_group": uid}))


def outcome(client: Client, snapshot: ClusterSnapshot, uid: str = "job") -> pb.PodGroupOutcome:
    (found,) = [each for each in client.decide(snapshot).outcomes if each.pod_group == uid]
    return found


def second_in_line() -> GpuCluster:
    """Build one queue and a node of 4 GPUs: `first` takes 4 in this cycle, nothing is left for `job`."""
    cluster = GpuCluster().node("n1", 4).queue("q")
    return cluster.job("first", "q", gpus=4, priority=60).job("job", "q", gpus=2)


def scattered() -> GpuCluster:
    """Build three nodes with two free GPUs each; `job` needs four on one node."""
    cluster = GpuCluster().queue("q", quota=6)
    for number in range(3):
        cluster.node(f"n{number}", 4)
        cluster.job(f"fixed-{number}", "q", gpus=2, on=f"n{number}", preemptibility=FIXED)
    return cluster.job("job", "q", gpus=4)


def level_queues() -> GpuCluster:
    """Build two queues that use their quotas of 4; `job` of one of them wants 2 more."""
    cluster = GpuCluster().node("n1", 8).queue("a", quota=4).queue("b", quota=4)
    return cluster.job("of-a", "a", on="n1", pods=4).job("of-b", "b", on="n1", pods=4).job("job", "b", gpus=2)


def rich_queue() -> GpuCluster:
    """Build two queues without weights; `a` has 10 of 12 GPUs, `job` of `b` would exceed its fair share."""
    cluster = GpuCluster().node("n1", 12).queue("a", quota=4).queue("b", quota=4)
    for queue in cluster.snapshot.queues:
        queue.gpu_milli.over_quota_weight = 0
    cluster.job("of-a", "a", on="n1", pods=10, min_member=1).job("of-b", "b", on="n1", pods=2)
    return cluster.job("job", "b", gpus=1, pods=3)


@pytest.mark.parametrize("cluster", [second_in_line, scattered, level_queues])
def test_fair_share_is_not_the_reason_where_reclaim_would_find_nothing(
    client: Client, cluster: Callable[[], GpuCluster]
) -> None:
    found = outcome(client, cluster().snapshot)
    assert found.reason.code != pb.REASON_CODE_OVER_FAIR_SHARE
    assert found.kind != pb.OUTCOME_KIND_WAITING_FOR_QUOTA


def test_fair_share_is_the_reason_where_reclaim_would_help_without_it(client: Client) -> None:
    found = outcome(client, rich_queue().snapshot)
    assert found.reason.code == pb.REASON_CODE_OVER_FAIR_SHARE
    assert found.kind == pb.OUTCOME_KIND_WAITING_FOR_QUOTA


def test_who_came_first_is_named_to_operators_only(client: Client) -> None:
    text = why_pending(client, second_in_line().snapshot).explanation
    sentence = "It would have fitted at the beginning of the cycle, but capacity went first to {}."
    assert sentence.format("pod group first (queue q)") in text.operator
    assert sentence.format("1 other pod group") in text.tenant
    assert "first (queue" not in text.public + text.tenant


def test_position_is_that_among_the_pending_pod_groups_of_the_queue(client: Client) -> None:
    cluster = GpuCluster().node("n1", 1).queue("q", quota=1).job("fixed", "q", on="n1", preemptibility=FIXED)
    cluster.job("ahead", "q", priority=60).job("job", "q").job("behind", "q", priority=40)
    text = why_pending(client, cluster.snapshot).explanation.tenant
    assert "It is number 2 of 3 pending pod groups of its queue." in text
    assert "It is number" not in why_pending(client, cluster.snapshot, "ahead").explanation.tenant


def test_pod_group_of_the_queue_that_failed_before_is_named(client: Client) -> None:
    cluster = GpuCluster().node("n1", 1).queue("q", quota=1).job("fixed", "q", on="n1", preemptibility=FIXED)
    found = outcome(client, cluster.job("first", "q", priority=60).job("job", "q", priority=60).snapshot)
    assert found.reason.code == pb.REASON_CODE_SIMILAR_FAILED
    assert "pod group first with no larger request was just found unschedulable" in found.reason.message


def test_fragments_are_stated_in_numbers(client: Client) -> None:
    text = why_pending(client, scattered().snapshot).explanation
    assert (
        "6 GPUs are free on nodes that it may use, at most 2 on one node; each of its pods needs 4."
        in text.tenant
    )
    assert "Enough GPUs are free, but too few on one node." in text.public
    assert "fair share" not in text.operator.split("consolidation:")[0]


def test_account_of_gpus_adds_up_to_the_nodes_that_it_may_use(client: Client) -> None:
    cluster = (
        GpuCluster()
        .node("n1", 10)
        .queue("a", quota=4)
        .queue("b", quota=5, preempt_min_runtime="1h")
        .job("of-a", "a", on="n1", pods=4)
        .job("fixed", "b", on="n1", pods=3, preemptibility=FIXED)
        .job("young", "b", on="n1", ran="45m", priority=40)
        .job("peer", "b", on="n1")
        .job("job", "b", gpus=4)
    )
    text = why_pending(client, cluster.snapshot).explanation
    assert (
        "Of 10 GPUs on nodes that it may use: 1 free, 3 of pod groups that are never evicted for it, "
        "1 protected until 2025-03-03 10:50:00 UTC or later, 1 of its queue at no lower priority, "
        "4 of other queues within their fair share."
    ) in text.operator
    assert "Of 10 GPUs" not in text.public
