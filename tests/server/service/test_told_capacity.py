"""Reasons over a real connection: what would have to change for a pod group that waits for capacity.

Rules R13.40 to R13.45.
"""

from collections.abc import Callable, Iterator

import pytest
from google.protobuf.duration_pb2 import Duration
from tenure.client import Client
from tenure.v1 import decision_pb2 as pb
from tenure.v1.explain_pb2 import ExplainRequest, ExplainResponse
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_NON_PREEMPTIBLE, ClusterSnapshot

from tests.server.servers import run_server
from tests.server.service.gpu_cluster import GpuCluster, time_at

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
    """Build E20.3: `first` takes the 4 GPUs of the only node in this cycle, nothing is left for `job`."""
    cluster = GpuCluster().node("n1", 4).queue("q")
    return cluster.job("first", "q", gpus=4, priority=60).job("job", "q", gpus=2)


def scattered() -> GpuCluster:
    """Build E20.2: three nodes with two free GPUs each; `job` needs four on one node."""
    cluster = GpuCluster().queue("q", quota=6)
    for number in range(3):
        cluster.node(f"n{number}", 4)
        cluster.job(f"fixed-{number}", "q", gpus=2, on=f"n{number}", preemptibility=FIXED)
    return cluster.job("job", "q", gpus=4)


def level_queues() -> GpuCluster:
    """Build E20.4: two queues use their quotas of 4; `job` of one of them wants 2 more."""
    cluster = GpuCluster().node("n1", 8).queue("a", quota=4).queue("b", quota=4)
    return cluster.job("of-a", "a", on="n1", pods=4).job("of-b", "b", on="n1", pods=4).job("job", "b", gpus=2)


def rich_queue() -> GpuCluster:
    """Build E20.4 with 12 GPUs and without weights: `a` has 10, `job` of `b` would exceed its fair share."""
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


def test_fair_share_is_the_reason_where_reclaim_would_help_without_it_e20_4(client: Client) -> None:
    found = outcome(client, rich_queue().snapshot)
    assert found.reason.code == pb.REASON_CODE_OVER_FAIR_SHARE
    assert found.kind == pb.OUTCOME_KIND_WAITING_FOR_QUOTA


def test_who_came_first_is_named_to_operators_only_e20_3(client: Client) -> None:
    text = why_pending(client, second_in_line().snapshot).explanation
    assert "because capacity goes first to pod groups that precede it." in text.tenant
    assert "Those are pod group first (queue q)." in text.operator
    assert "first (queue" not in text.public + text.tenant


def test_position_is_that_among_the_pending_pod_groups_of_the_queue(client: Client) -> None:
    cluster = GpuCluster().node("n1", 1).queue("q", quota=1).job("fixed", "q", on="n1", preemptibility=FIXED)
    cluster.job("ahead", "q", priority=60).job("job", "q").job("behind", "q", priority=40)
    text = why_pending(client, cluster.snapshot).explanation.tenant
    assert "It is number 2 of 3 pending pod groups of its queue." in text
    assert "It is number" not in why_pending(client, cluster.snapshot, "ahead").explanation.tenant


def racks() -> GpuCluster:
    """Build two racks with a node of two free GPUs each; `job` needs two nodes of a rack."""
    cluster = GpuCluster().queue("q")
    cluster.snapshot.topologies.add(name="t", levels=["rack"])
    for rack in ("a", "b"):
        cluster.node(f"n-{rack}", 2)
        cluster.snapshot.nodes[-1].labels["rack"] = rack
    cluster.job("job", "q", gpus=2, pods=2)
    cluster.snapshot.pod_groups[-1].topology_constraint.topology = "t"
    cluster.snapshot.pod_groups[-1].topology_constraint.required_level = "rack"
    return cluster


def similar() -> GpuCluster:
    """Build a full node; `first` and `job` want the same."""
    cluster = GpuCluster().node("n1", 1).queue("q", quota=1).job("fixed", "q", on="n1", preemptibility=FIXED)
    return cluster.job("first", "q", priority=60).job("job", "q", priority=60)


def hoarder() -> GpuCluster:
    """Build a queue without a quota that uses 4 non-preemptible GPUs; `job` of another queue wants 2."""
    cluster = GpuCluster().node("n1", 4).queue("a", quota=0).queue("b", quota=4)
    return cluster.job("fixed", "a", on="n1", pods=4, preemptibility=FIXED).job("job", "b", gpus=2)


def few_cpus() -> GpuCluster:
    """Build a node whose GPUs are free and whose CPUs are not."""
    cluster = GpuCluster().node("n1", 4).queue("q").job("cpus", "q", gpus=0, on="n1", preemptibility=FIXED)
    cluster.snapshot.shapes[-1].requests.cpu_milli = cluster.snapshot.nodes[0].allocatable.cpu_milli
    return cluster.job("job", "q", gpus=2)


CAPACITY = {
    second_in_line: ("QUEUE_ORDER", "it would have fitted, but free capacity went first to first"),
    scattered: (
        "FRAGMENTED",
        "6 GPUs are free on nodes that it may use, at most 2 on one node; each of its pods needs 4",
    ),
    racks: ("TOPOLOGY", "it would fit on the free nodes, but not within its topology constraint"),
    similar: (
        "NO_CAPACITY",
        "it needs 1 GPU; 0 of 1 on nodes that it may use are free, and no permitted evictions would",
    ),
    hoarder: ("NO_CAPACITY", "it needs 2 GPUs; 0 of 4 on nodes that it may use are free"),
    level_queues: ("WITHIN_FAIR_SHARE", "the other queues are within their fair share"),
    few_cpus: ("NO_CAPACITY", "the nodes with enough free GPUs have too little free CPU"),
}


@pytest.mark.parametrize("cluster", CAPACITY, ids=[build.__name__ for build in CAPACITY])
def test_outcome_says_which_capacity_is_missing_or_who_has_it(
    client: Client, cluster: Callable[[], GpuCluster]
) -> None:
    """Rules R13.40, R13.41, R13.42 and R13.43; E20.2, E20.3 and E20.4."""
    code, detail = CAPACITY[cluster]
    found = outcome(client, cluster().snapshot)
    assert pb.ReasonCode.Name(found.reason.code) == f"REASON_CODE_{code}"
    assert found.kind == pb.OUTCOME_KIND_WAITING_FOR_CAPACITY
    assert found.reason.detail.startswith(detail)


def test_reserved_capacity_is_the_reason_until_the_reservation_expires(client: Client) -> None:
    """Rule R13.41. Another queue's pod group is not named (R13.45)."""
    cluster = GpuCluster().node("n1", 4).queue("a", quota=4).queue("b", quota=0)
    cluster.job("old", "b", gpus=4, on="n1").job("holder", "a", gpus=4).job("job", "b", gpus=2)
    group = cluster.snapshot.in_flight_groups.add(id="g", action="reclaim", beneficiary="holder")
    group.evictions.add(pod="old-0", node="n1")
    group.reservations.add(pod="holder-0", node="n1")
    group.expire_time.CopyFrom(time_at("10:39"))
    found = outcome(client, cluster.snapshot)
    assert found.reason.code == pb.REASON_CODE_RESERVED
    assert found.reason.detail == "it would fit, but capacity is reserved for 1 pod group of other queues"
    assert found.reason.until == group.expire_time


def test_reason_does_not_depend_on_an_unrelated_pod_group(client: Client) -> None:
    for cluster in CAPACITY:
        alone, more = cluster(), cluster()
        more.queue("other").job("elsewhere", "other", gpus=0)
        first, second = (outcome(client, each.snapshot) for each in (alone, more))
        assert (first.reason.code, first.reason.detail) == (second.reason.code, second.reason.detail)


def test_number_of_checks_is_limited(client: Client) -> None:
    """Rule R13.44: the 65th kind of pod group is not placed on another state."""
    cluster = GpuCluster().node("n1", 80).queue("q").job("first", "q", gpus=80, priority=90)
    for number in range(65):
        cluster.job(f"job-{number:02}", "q", gpus=1, priority=80 - number)
    codes = [
        outcome.reason.code
        for outcome in client.decide(cluster.snapshot).outcomes
        if outcome.pod_group.startswith("job-")
    ]
    assert codes == [pb.REASON_CODE_QUEUE_ORDER] * 64 + [pb.REASON_CODE_NO_CAPACITY]


def test_fragments_are_stated_in_numbers_e20_2(client: Client) -> None:
    text = why_pending(client, scattered().snapshot).explanation
    assert (
        "6 GPUs are free on nodes that it may use, at most 2 on one node; each of its pods needs 4."
        in text.tenant
    )
    assert "enough GPUs are free, but too few on one node." in text.public
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
        "Of 10 GPUs on nodes that it may use: 1 free, "
        "3 of pod groups that preempt and reclaim never evict for it, "
        "1 protected until 2025-03-03 10:50:00 UTC or later, 1 of its queue at no lower priority, "
        "4 of other queues within their fair share."
    ) in text.operator
    assert "Of 10 GPUs" not in text.public


def test_account_of_queues_within_their_quotas_names_both_e20_4(client: Client) -> None:
    text = why_pending(client, level_queues().snapshot).explanation.tenant
    assert (
        "Of 8 GPUs on nodes that it may use: 4 of its queue at no lower priority, "
        "4 of other queues within their fair share."
    ) in text


@pytest.mark.parametrize("young", [0, 1])
def test_what_evicted_pods_release_is_told_before_a_protection(client: Client, young: int) -> None:
    """Rule R13.40: the gang of three is evicted for one pod, so two more fit, and a third one does not."""
    cluster = GpuCluster().node("n1", 3 + young).queue("q", quota=4, preempt_min_runtime="30m")
    cluster.job("gang", "q", on="n1", pods=3, ran="1h", priority=40).job("first", "q", priority=90)
    if young:
        cluster.job("young", "q", on="n1", ran="15m", priority=30)
    for number in range(3):
        cluster.job(f"behind-{number}", "q", priority=35)
    snapshot = cluster.snapshot
    found = {each.pod_group: each.reason.message for each in client.decide(snapshot).outcomes}
    text = "pods that are being evicted for others release enough for it"
    assert all(text in found[f"behind-{number}"] for number in range(3))
    last = f"{text}, but it goes first to behind-0 and behind-1"
    assert [last in found[f"behind-{number}"] for number in range(3)] == [False, False, True]
    request = SimulateRequest(snapshot=snapshot, cycles=2, interval=Duration(seconds=60))
    later = {each.pod_group: each.kind for each in client.simulate(request).cycles[1].outcomes}
    assert later["behind-0"] == later["behind-1"] == pb.OUTCOME_KIND_BOUND != later["behind-2"]
