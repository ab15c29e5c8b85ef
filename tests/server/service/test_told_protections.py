"""Protections and victims over a real connection: every protection is reported, also of who is evicted."""

from collections.abc import Callable, Iterator

import pytest
from google.protobuf.duration_pb2 import Duration
from tenure.client import Client
from tenure.v1.decision_pb2 import (
    MINIMALITY_HEURISTIC,
    MINIMALITY_LEAST,
    MINIMALITY_PROVEN,
    VictimSet,
)
from tenure.v1.explain_pb2 import ExplainRequest, Explanation
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.servers import run_server
from tests.server.service.gpu_cluster import GpuCluster


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=20) as client:
        yield client


def protected_until(client: Client, snapshot: ClusterSnapshot, uid: str) -> Explanation:
    asked = ExplainRequest(snapshot=snapshot, protected_until={"pod_group": uid})
    return client.explain(asked).explanation


def why_victim(client: Client, snapshot: ClusterSnapshot, uid: str) -> Explanation:
    return client.explain(ExplainRequest(snapshot=snapshot, why_victim={"pod_group": uid})).explanation


def overdue() -> GpuCluster:
    """Build a full node: `old` opts out of everything but requeue and is past its expected runtime."""
    cluster = GpuCluster().node("n1", 1).queue("q", quota=1)
    out = ["preempt", "reclaim", "consolidation"]
    hour = Duration(seconds=3600)
    cluster.job("old", "q", on="n1", ran="2h", priority=40, opt_out_actions=out, expected_runtime=hour)
    return cluster.job("job", "q", priority=90)


def test_requeued_pod_group_is_not_called_protected_and_its_opt_outs_are_reported(client: Client) -> None:
    text = protected_until(client, overdue().snapshot, "old")
    end = "by requeue in this cycle. Its protections do not prevent that."
    assert text.operator.startswith(
        f"1 pod of pod group old (queue q) is evicted for pod group job (queue q) {end}"
    )
    assert text.public.startswith(
        f"1 pod of pod group old is evicted for another workload of its queue {end}"
    )
    assert "is protected." not in text.operator
    assert "all pods while running (preemptibility, its own opt-out)" in text.operator


def test_pod_group_that_an_earlier_decision_evicts_is_not_called_protected(client: Client) -> None:
    cluster = GpuCluster().node("n1", 2).queue("q", quota=2, preempt_min_runtime="1h")
    cluster.job("old", "q", on="n1", pods=2, min_member=1, ran="30m", priority=40)
    cluster.job("job", "q", priority=90)
    group = cluster.snapshot.in_flight_groups.add(id="g", action="preempt", beneficiary="job")
    group.evictions.add(pod="old-0", node="n1")
    group.reservations.add(pod="job-0", node="n1")
    group.expire_time.FromJsonString("2025-03-03T10:39:00Z")
    text = protected_until(client, cluster.snapshot, "old").operator
    assert text.startswith(
        "1 pod of pod group old (queue q) is evicted for pod group job (queue q) "
        "by an earlier decision that is being applied. Its protections do not prevent that."
    )


def large_before_small() -> GpuCluster:
    """Build a full node: the youngest victim is a gang of three pods, the older one a single pod."""
    cluster = GpuCluster().node("n1", 4).queue("q", quota=4)
    cluster.job("gang", "q", on="n1", pods=3, priority=40).job("single", "q", on="n1", priority=45)
    return cluster.job("job", "q", priority=90)


def two_of_one_pod() -> GpuCluster:
    """Build a full node of two pods, and a job that needs both places."""
    cluster = GpuCluster().node("n1", 2).queue("q", quota=2)
    cluster.job("old", "q", on="n1", priority=40).job("older", "q", on="n1", priority=40)
    return cluster.job("job", "q", gpus=2, priority=90)


def test_explanation_names_a_smaller_set_of_victims(client: Client) -> None:
    text = why_victim(client, large_before_small().snapshot, "gang")
    assert (
        "3 pods are disrupted. No victim can be left out, but "
        "1 pod of pod group single (queue q) would have been enough."
    ) in text.operator
    assert "1 pod of another workload of its queue would have been enough." in text.tenant


@pytest.mark.parametrize(
    ("wanted", "size"),
    [
        (1, "1 pod is disrupted. No fewer are possible."),
        (2, "2 pods are disrupted. No fewer are possible."),
    ],
)
def test_explanation_says_that_no_victim_can_be_left_out(client: Client, wanted: int, size: str) -> None:
    cluster = GpuCluster().node("n1", 2).queue("q", quota=2)
    cluster.job("old", "q", on="n1", priority=40).job("older", "q", on="n1", priority=40)
    cluster.job("job", "q", gpus=wanted, priority=90)
    snapshot = cluster.snapshot
    evicted = [d.evict.pod for g in client.decide(snapshot).groups for d in g.decisions if d.evict.pod]
    assert size in why_victim(client, snapshot, evicted[0].removesuffix("-0")).operator


def moved_gang() -> GpuCluster:
    """Build a node with a gang of five and a single pod, and an empty one on which the gang fits.

    `job` must run on the first node: consolidation relocates a pod of the gang, and evicting the single pod
    would do.
    """
    cluster = GpuCluster().node("n1", 6).node("n2", 5).queue("q", quota=11)
    cluster.job("gang", "q", on="n1", pods=5, priority=40).job("single", "q", on="n1")
    cluster.snapshot.nodes[0].labels["first"] = "yes"
    cluster.job("job", "q", priority=90)
    cluster.snapshot.shapes.add().CopyFrom(cluster.snapshot.shapes[0])
    cluster.snapshot.shapes[-1].id, cluster.snapshot.pods[-1].shape = "first", "first"
    cluster.snapshot.shapes[-1].node_selector["first"] = "yes"
    return cluster


def two_moves() -> GpuCluster:
    """Build a full node, and two others with a free GPU each.

    `job` must run on the first node, with two GPUs: consolidation moves a pod of the pair to each of the
    others.
    """
    cluster = GpuCluster().node("n1", 4).node("n2", 1).node("n3", 1).queue("q", quota=6)
    cluster.job("pair", "q", on="n1", pods=2, priority=40).job("single", "q", on="n1", gpus=2)
    cluster.snapshot.nodes[0].labels["first"] = "yes"
    cluster.job("job", "q", gpus=2, priority=90)
    cluster.snapshot.shapes.add().CopyFrom(cluster.snapshot.shapes[1])
    cluster.snapshot.shapes[-1].id, cluster.snapshot.pods[-1].shape = "first", "first"
    cluster.snapshot.shapes[-1].node_selector["first"] = "yes"
    return cluster


def test_explanation_names_the_next_best_set_and_why_it_lost_r14_8(client: Client) -> None:
    text = why_victim(client, large_before_small().snapshot, "gang").operator
    assert (
        "2 GPUs more than requested are released. The next best set of victims disrupts 1 pod of pod group "
        "single (queue q), and lost because it has a victim of a higher priority."
    ) in text


def test_relocated_pods_count_as_disrupted(client: Client) -> None:
    text = why_victim(client, two_moves().snapshot, "pair").operator
    assert "2 pods" in text
    assert "2 of them restart on other nodes" in text


def test_of_a_gang_in_the_way_one_pod_moves(client: Client) -> None:
    text = why_victim(client, moved_gang().snapshot, "gang").operator
    assert "1 pod is disrupted; it restarts on another node." in text


def limited() -> GpuCluster:
    """Build a queue at its limit, and a free node: without two victims, the limit would be exceeded."""
    cluster = GpuCluster().node("n1", 2).node("n2", 2).queue("q", quota=2)
    cluster.snapshot.queues[0].gpu_milli.limit = 2000
    cluster.job("old", "q", on="n1", priority=40).job("older", "q", on="n1", priority=40)
    return cluster.job("job", "q", gpus=2, priority=90)


@pytest.mark.parametrize(
    ("cluster", "decided", "sufficient"),
    [
        (
            large_before_small,
            VictimSet(minimality=MINIMALITY_PROVEN, disrupted_pods=3, excess_gpu_milli=2000),
            1,
        ),
        (moved_gang, VictimSet(minimality=MINIMALITY_LEAST, disrupted_pods=1), None),
        (two_moves, VictimSet(minimality=MINIMALITY_PROVEN, disrupted_pods=2), None),
        (two_of_one_pod, VictimSet(minimality=MINIMALITY_LEAST, disrupted_pods=2), None),
        (limited, VictimSet(minimality=MINIMALITY_HEURISTIC, disrupted_pods=2, tried=2), None),
    ],
)
def test_decision_says_whether_a_victim_can_be_left_out_and_the_explanation_tries_other_sets(
    client: Client, cluster: Callable[[], GpuCluster], decided: VictimSet, sufficient: int | None
) -> None:
    """Rules R13.47, R14.6."""
    snapshot = cluster().snapshot
    (told,) = (group.victim_set for group in client.decide(snapshot).groups if group.HasField("victim_set"))
    assert told == decided
    question = ExplainRequest(snapshot=snapshot, why_victim={"pod_group": snapshot.pods[0].pod_group})
    (tried,) = client.explain(question).victim_sets
    assert (tried.minimality, tried.disrupted_pods) == (decided.minimality, decided.disrupted_pods)
    assert tried.tried > 0
    assert tried.HasField("sufficient_pods") == (sufficient is not None)
    assert tried.sufficient_pods == (sufficient or 0)


def test_nobody_is_evicted_where_earlier_decisions_release_enough(client: Client) -> None:
    cluster = GpuCluster().node("n1", 4).node("n2", 1).queue("q", quota=5)
    cluster.job("big", "q", gpus=4, on="n1", priority=30).job("small", "q", on="n2", priority=35)
    snapshot = cluster.job("first", "q", priority=90).job("second", "q", priority=80).snapshot
    evicted = [d.evict.pod for group in client.decide(snapshot).groups for d in group.decisions]
    assert list(filter(None, evicted)) == ["big-0"]
    found = client.explain(ExplainRequest(snapshot=snapshot, why_victim={"pod_group": "small"}))
    assert found.explanation.operator == "Pod group small (queue q) is not evicted."


def test_one_evicted_pod_is_the_least_possible(client: Client) -> None:
    cluster = GpuCluster().node("n1", 1).queue("q", quota=1).job("old", "q", on="n1", priority=40)
    snapshot = cluster.job("job", "q", priority=90).snapshot
    found = client.explain(ExplainRequest(snapshot=snapshot, why_victim={"pod_group": "old"}))
    assert list(found.victim_sets) == [VictimSet(minimality=MINIMALITY_LEAST, disrupted_pods=1, tried=1)]


def test_later_action_does_not_blame_a_pod_group_that_was_not_needed(client: Client) -> None:
    question = {"pod_group": "single", "preemptor": "job"}
    text = client.explain(ExplainRequest(snapshot=moved_gang().snapshot, why_not_victim=question)).explanation
    assert "not evicted by preempt, which ran after consolidation had found capacity for" in text.operator
    assert "would not free enough" not in text.operator
