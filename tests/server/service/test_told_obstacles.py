"""Reasons, accounts and remedies over a real connection: what is in the way, what help costs others."""

import re
from collections.abc import Callable, Iterator

import pytest
from tenure.client import Client
from tenure.v1 import decision_pb2 as pb
from tenure.v1.explain_pb2 import ExplainRequest, ExplainResponse
from tenure.v1.snapshot_pb2 import POD_STATUS_PENDING, PREEMPTIBILITY_NON_PREEMPTIBLE, ClusterSnapshot

from tests.server.servers import run_server
from tests.server.service.gpu_cluster import GpuCluster

FIXED = PREEMPTIBILITY_NON_PREEMPTIBLE
CORE = 1000


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=20) as client:
        yield client


def explain(client: Client, snapshot: ClusterSnapshot, uid: str = "job") -> ExplainResponse:
    return client.explain(ExplainRequest(snapshot=snapshot, why_pending={"pod_group": uid}))


def reason(client: Client, snapshot: ClusterSnapshot, uid: str = "job") -> pb.Reason:
    (found,) = [each.reason for each in client.decide(snapshot).outcomes if each.pod_group == uid]
    return found


def gang_beyond_its_share(pods: int) -> GpuCluster:
    """Build 8 GPUs with four gangs of 2; the other queue asks for one gang of this size. Both are due 4."""
    cluster = GpuCluster().node("n1", 8).queue("a").queue("b")
    for number in range(4):
        cluster.job(f"gang-{number}", "a", on="n1", pods=2)
    return cluster.job("job", "b", pods=pods)


def cpu_beyond_its_share() -> GpuCluster:
    """Build a queue that is due 2 more GPUs and none of the CPU that its next pods ask for."""
    cluster = GpuCluster().node("n1", 8).queue("a", quota=4).queue("b", quota=4)
    node = cluster.snapshot.nodes[0]
    node.allocatable.cpu_milli = 64 * CORE
    for queue, cores in zip(cluster.snapshot.queues, (8, 56), strict=True):
        queue.cpu_milli.quota = cores * CORE
        queue.cpu_milli.over_quota_weight = 0
    cluster.job("cpus", "a", gpus=0, on="n1").job("of-b", "b", on="n1", pods=8, min_member=1)
    cluster.job("job", "a", gpus=2)
    shapes = {shape.id: shape for shape in cluster.snapshot.shapes}
    for name, cores in (("0-gpu", 8), ("1-gpu", 7), ("2-gpu", 4)):
        shapes[name].requests.cpu_milli = cores * CORE
    return cluster


def level_queues() -> GpuCluster:
    """Build a queue that has no more than its share, and one that wants more than its own."""
    cluster = GpuCluster().node("n1", 8).queue("a", quota=8).queue("b", quota=8)
    return cluster.job("of-a", "a", on="n1", pods=8, min_member=1).job("job", "b", gpus=4)


@pytest.mark.parametrize("pods", [5, 6, 8])
def test_a_gang_larger_than_the_fair_share_of_its_queue_is_told_so_r13_50(client: Client, pods: int) -> None:
    snapshot = gang_beyond_its_share(pods).snapshot
    found = reason(client, snapshot)
    assert found.code == pb.REASON_CODE_OVER_FAIR_SHARE
    assert f"it would have {pods} of 4 GPUs" in found.detail
    assert "not checked" not in found.message
    text = explain(client, snapshot).explanation.tenant
    assert (
        "because queue b would exceed its fair share, so no pods of other queues are evicted for it" in text
    )
    assert f": it would have {pods} of 4 GPUs." in text


def test_a_gang_as_large_as_its_fair_share_starts(client: Client) -> None:
    (found,) = client.decide(gang_beyond_its_share(4).snapshot).outcomes
    assert found.kind == pb.OUTCOME_KIND_WAITING_FOR_VICTIMS


def test_the_resource_of_a_fair_share_is_named_r13_50(client: Client) -> None:
    found = reason(client, cpu_beyond_its_share().snapshot)
    assert found.code == pb.REASON_CODE_OVER_FAIR_SHARE
    assert "it would have 12 of 8 CPU cores" in found.detail


def test_what_fair_shares_keep_is_not_called_too_little_r13_50(client: Client) -> None:
    snapshot = level_queues().snapshot
    assert reason(client, snapshot).code == pb.REASON_CODE_WITHIN_FAIR_SHARE
    text = explain(client, snapshot).explanation.operator
    assert "not enough" not in text
    assert "Of 8 GPUs on nodes that it may use: 8 " in text


def test_missing_cpu_is_named_r13_50(client: Client) -> None:
    cluster = GpuCluster().node("n1", 4).queue("q").job("cpus", "q", gpus=0, on="n1", preemptibility=FIXED)
    cluster.snapshot.shapes[-1].requests.cpu_milli = cluster.snapshot.nodes[0].allocatable.cpu_milli
    found = reason(client, cluster.job("job", "q", gpus=2).snapshot)
    assert found.detail == (
        "the nodes with enough free GPUs have too little free CPU, and no permitted evictions would free "
        "enough CPU"
    )


def test_too_many_nodes_are_named_where_evictions_would_free_enough_r13_50(client: Client) -> None:
    cluster = GpuCluster().queue("q", quota=8)
    for number in range(2):
        cluster.node(f"n{number}", 4).job(
            f"fixed-{number}", "q", gpus=1, on=f"n{number}", preemptibility=FIXED
        )
        cluster.job(f"low-{number}", "q", gpus=3, on=f"n{number}", priority=10)
    found = reason(client, cluster.job("job", "q", gpus=4, priority=90).snapshot)
    assert found.detail.endswith(", and what permitted evictions would free is on too many nodes")


def test_a_relation_that_evictions_do_not_change_is_named_r13_50(client: Client) -> None:
    cluster = GpuCluster().node("n1", 4).queue("q", quota=4)
    cluster.job("low", "q", on="n1", gpus=1, priority=10).job(
        "own", "q", on="n1", gpus=2, preemptibility=FIXED
    )
    cluster.job("job", "q", gpus=1, priority=90)
    for pod in cluster.snapshot.pods:
        pod.labels["app"] = "x"
    term = cluster.snapshot.shapes[0].pod_anti_affinity.add(topology_key="kubernetes.io/hostname")
    term.match_labels["app"] = "x"
    cluster.snapshot.nodes[0].labels["kubernetes.io/hostname"] = "n1"
    text = reason(client, cluster.snapshot).detail
    assert "anti-affinity" in text
    assert "free enough" not in text


def test_a_pod_group_that_loses_pods_is_not_called_invalid_r13_50(client: Client) -> None:
    cluster = GpuCluster().node("n1", 1).queue("a", quota=1).queue("b").job("gang", "b", on="n1", pods=2)
    cluster.snapshot.pods[1].node = ""
    cluster.snapshot.pods[1].status = POD_STATUS_PENDING
    response = client.decide(cluster.job("first", "a").snapshot)
    kinds = {each.pod_group: (each.kind, each.reason.detail) for each in response.outcomes}
    assert kinds["first"][0] == pb.OUTCOME_KIND_WAITING_FOR_VICTIMS
    assert kinds["gang"][0] == pb.OUTCOME_KIND_WAITING_FOR_CAPACITY
    assert kinds["gang"][1].startswith("pods of it are evicted in this cycle")


def moving() -> GpuCluster:
    """Build a cluster in which `first` gets a whole node by moving a pod, and nothing is left for `job`."""
    cluster = GpuCluster().node("n1", 4).node("n2", 4).queue("q", quota=8)
    cluster.job("small-1", "q", gpus=2, on="n1").job("small-2", "q", gpus=2, on="n2")
    return cluster.job("first", "q", gpus=4, priority=60).job("job", "q", gpus=3)


def replaced() -> GpuCluster:
    """Build a gang of 3 that is evicted for one pod, which takes one of the GPUs, and a pod that waits."""
    cluster = GpuCluster().node("n1", 3).queue("q", quota=3)
    return (
        cluster.job("gang", "q", on="n1", pods=3, priority=40)
        .job("first", "q", priority=90)
        .job("job", "q", gpus=3, priority=30)
    )


@pytest.mark.parametrize("build", [moving, replaced, level_queues, cpu_beyond_its_share])
def test_accounts_add_up_r13_51(client: Client, build: Callable[[], GpuCluster]) -> None:
    text = explain(client, build().snapshot).explanation.operator
    found = re.search(r"Of ([\d.]+) GPUs on nodes that it may use: ([^.]*)\.", text)
    assert found is not None, text
    parts = [float(amount) for amount in re.findall(r"(?:^|, )([\d.]+) ", found[2])]
    assert sum(parts) == float(found[1]), text


def test_capacity_that_this_cycle_gives_is_not_free_r13_51(client: Client) -> None:
    text = explain(client, moving().snapshot).explanation.operator
    assert (
        "Of 8 GPUs on nodes that it may use: 6 given to other pod groups in this cycle, 2 of its queue"
        in text
    )


def test_a_remedy_says_who_then_does_not_start_r13_52(client: Client) -> None:
    cluster = GpuCluster().node("n1", 1).queue("q", quota=1).job("first", "q", priority=60).job("job", "q")
    (remedy,) = [each for each in explain(client, cluster.snapshot).remedies if each.kind == 3]
    text = remedy.explanation
    assert text.operator.endswith("; it starts; pod group first (queue q) then does not start.")
    assert text.tenant.endswith("; it starts; 1 other pod group then does not start.")


def test_a_remedy_says_who_loses_pods_r13_52(client: Client) -> None:
    cluster = GpuCluster().node("n1", 2).queue("q", quota=2)
    cluster.job("one", "q", on="n1").job("two", "q", on="n1").job("job", "q", gpus=2)
    (remedy,) = [each for each in explain(client, cluster.snapshot).remedies if each.kind == 3]
    assert "2 pods of other pod groups are evicted" in remedy.explanation.public
    assert "(1 of pod group one (queue q) and 1 of pod group two (queue q))" in remedy.explanation.operator


def test_no_quota_is_raised_above_what_exists_r13_52(client: Client) -> None:
    cluster = GpuCluster().node("n1", 4).queue("a", quota=3).queue("b", quota=4)
    cluster.job("of-b", "b", on="n1", pods=4, min_member=1).job("job", "a", gpus=4)
    for remedy in explain(client, cluster.snapshot).remedies:
        raised = re.search(r"quota of .* to ([\d.]+) GPUs", remedy.explanation.operator)
        assert raised is None or float(raised[1]) <= 4


def test_the_smallest_priority_that_works_is_told_r13_52(client: Client) -> None:
    """The younger one goes second at equal priority, and a priority from 100 on makes it non-preemptible."""
    cluster = GpuCluster().node("n1", 1).queue("q", quota=0).job("job", "q").job("first", "q", priority=60)
    young = cluster.snapshot.pod_groups[1]
    young.creation_time.FromNanoseconds(young.creation_time.ToNanoseconds() + 10**9)
    (remedy,) = [each for each in explain(client, cluster.snapshot).remedies if each.kind == 3]
    assert "raise its priority from 50 to 60;" in remedy.explanation.operator
