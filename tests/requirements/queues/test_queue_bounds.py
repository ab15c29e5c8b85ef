"""Limits per class of nodes, lending limits, and maximum numbers of running pod groups.

Rules R19.1, R19.2, R19.5 and R19.10.
"""

from typing import Final

import pytest
from tenure.v1 import decision_pb2 as decision
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import WARNING_CODE_QUEUE_LIMIT_CUT, DecideResponse

from tests.requirements.answers import bound, evicted, outcome
from tests.requirements.cluster import ClusterText
from tests.requirements.conftest import Decide

NON_PREEMPTIBLE: Final = "NON_PREEMPTIBLE"


def reason(answer: DecideResponse, uid: str) -> decision.Reason:
    return next(each.reason for each in answer.outcomes if each.pod_group == uid)


def nodes_of(answer: DecideResponse) -> dict[str, str]:
    """Nodes by bound pod."""
    binds = [each.bind for group in answer.groups for each in group.decisions if each.HasField("bind")]
    return {bind.pod: bind.node for bind in binds}


def classes(**limit: int) -> ClusterText:
    """Nodes h of class h100 with 8 GPUs and a of class a100 with 4; q is below top."""
    cluster = ClusterText().node("a", gpus=4, zone="a").node("h", gpus=8, zone="h")
    cluster.queue("top", quota=12).queue("q", "top", quota=12)
    for node, name in zip(cluster.snapshot.nodes, ("a100", "h100"), strict=True):
        node.node_class = name
    cluster.snapshot.queues[1].class_limits.add(node_class="h100", **limit)
    return cluster


def test_full_class_is_masked_and_others_are_taken(decide: Decide) -> None:
    """E19.1."""
    cluster = classes(limit_gpu_milli=4_000).runs("old", "q", node="h", gpus=3)
    cluster.waits("any", "q", gpus=2).waits("pinned", "q", gpus=2, zone="h").waits("small", "q", zone="h")
    answer = decide(cluster)
    assert nodes_of(answer) == {"any-0": "a", "small-0": "h"}
    assert (outcome(answer, "pinned"), evicted(answer)) == ("WAITING_FOR_QUOTA", [])
    assert reason(answer, "pinned").code == decision.REASON_CODE_OVER_LIMIT
    assert "queue q would exceed its limit of 4 GPUs of class h100" in reason(answer, "pinned").message


def test_gang_on_one_class_counts_as_a_whole(decide: Decide) -> None:
    cluster = classes(limit_gpu_milli=4_000).waits("gang", "q", pods=5, zone="h")
    assert "4 GPUs of class h100" in reason(decide(cluster), "gang").message
    cluster = classes(limit_gpu_milli=4_000).waits("gang", "q", pods=4, zone="h")
    assert len(bound(decide(cluster))) == 4


def test_limit_of_an_ancestor_counts(decide: Decide) -> None:
    cluster = classes().waits("pinned", "q", gpus=2, zone="h")
    cluster.snapshot.queues[0].class_limits.add(node_class="h100", limit_gpu_milli=1_000)
    answer = decide(cluster)
    assert "queue top would exceed its limit of 1 GPU of class h100" in reason(answer, "pinned").message


def test_quota_of_a_class_is_for_non_preemptible_pods(decide: Decide) -> None:
    cluster = classes(quota_gpu_milli=2_000).runs("old", "q", node="h", gpus=2, mode=NON_PREEMPTIBLE)
    cluster.waits("fixed", "q", zone="h", mode=NON_PREEMPTIBLE).waits("free", "q", zone="h")
    answer = decide(cluster)
    assert bound(answer) == ["free-0"]
    assert reason(answer, "fixed").code == decision.REASON_CODE_NON_PREEMPTIBLE_OVER_QUOTA
    assert "2 GPUs of class h100" in reason(answer, "fixed").message


def test_core_of_a_semi_preemptible_pod_group_counts_in_the_quota_of_a_class(decide: Decide) -> None:
    cluster = classes(quota_gpu_milli=2_000)
    cluster.runs("old", "q", node="h", pods=3, minimum=1, mode="SEMI_PREEMPTIBLE")
    cluster.waits("semi", "q", pods=3, minimum=1, zone="h", mode="SEMI_PREEMPTIBLE")
    cluster.waits("fixed", "q", zone="h", mode=NON_PREEMPTIBLE)
    answer = decide(cluster)
    assert (len(bound(answer)), outcome(answer, "fixed")) == (3, "WAITING_FOR_QUOTA")


def test_nothing_is_evicted_for_a_class_that_is_closed(decide: Decide) -> None:
    """Even though the queue is below its fair share, and the other one above."""
    cluster = classes(limit_gpu_milli=0).queue("rich", quota=0).runs("old", "rich", node="h", gpus=8)
    cluster.waits("pinned", "q", gpus=8, zone="h")
    assert evicted(decide(cluster)) == []
    cluster.snapshot.queues[1].ClearField("class_limits")
    assert evicted(decide(cluster)) == ["old-0"]


def test_own_pod_of_lower_priority_makes_room_in_a_class(decide: Decide) -> None:
    cluster = classes(limit_gpu_milli=4_000).runs("old", "q", node="h", gpus=4)
    cluster.waits("urgent", "q", gpus=4, zone="h", priority=75)
    assert evicted(decide(cluster)) == ["old-0"]


def test_node_without_a_class_is_not_limited(decide: Decide) -> None:
    cluster = classes(limit_gpu_milli=0).waits("pinned", "q", zone="h")
    cluster.snapshot.nodes[1].node_class = ""
    assert bound(decide(cluster)) == ["pinned-0"]


def lenders(quota: int = 6, lent: int = 2, gpus: int = 10) -> ClusterText:
    cluster = ClusterText().node(gpus=gpus).queue("a", quota=quota).queue("b", quota=0)
    cluster.snapshot.queues[0].gpu_milli.lending_limit = lent * 1_000
    return cluster


@pytest.mark.parametrize("running", [0, 3])
def test_guarantee_is_kept_free_while_its_queue_does_not_use_it(decide: Decide, running: int) -> None:
    """E19.2: b gets 6 of 10 GPUs, whether a runs 0 or 3 of the 4 that are kept for it."""
    cluster = lenders()
    if running:
        cluster.runs("mine", "a", pods=running)
    for number in range(8):
        cluster.waits(f"b{number}", "b")
    answer = decide(cluster)
    assert len(bound(answer)) == 6
    assert [queue.kept.gpu_milli for queue in answer.queues] == [4_000 - running * 1_000, 0]
    assert outcome(answer, "b7") == "WAITING_FOR_QUOTA"
    assert reason(answer, "b7").code == decision.REASON_CODE_KEPT_FOR_LENDER
    assert "queue a keeps a part of the GPU quota, which is not lent" in reason(answer, "b7").message


def test_without_a_lending_limit_all_of_a_quota_is_lent(decide: Decide) -> None:
    cluster = lenders()
    cluster.snapshot.queues[0].gpu_milli.ClearField("lending_limit")
    for number in range(10):
        cluster.waits(f"b{number}", "b")
    assert len(bound(decide(cluster))) == 10


def test_lender_starts_within_its_guarantee_at_once_and_evicts_for_the_rest(decide: Decide) -> None:
    cluster = lenders().runs("theirs", "b", pods=6, minimum=1)
    cluster.waits("first", "a", gpus=4)
    answer = decide(cluster)
    assert (bound(answer), evicted(answer)) == (["first-0"], [])
    cluster = lenders().runs("theirs", "b", pods=6, minimum=1).runs("first", "a", gpus=4)
    cluster.waits("second", "a", gpus=2)
    assert len(evicted(decide(cluster))) == 2


def test_lender_starts_although_others_already_use_its_guarantee_elsewhere(decide: Decide) -> None:
    """They started before the limit was set: what it may have of the rest is not refused."""
    cluster = lenders().runs("theirs", "b", pods=8, minimum=1).waits("mine", "a", gpus=2)
    assert bound(decide(cluster)) == ["mine-0"]


def test_parent_with_a_limit_keeps_what_its_children_do_not_lend(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=20).queue("top", quota=8, limit=8)
    cluster.queue("a", "top", quota=4).queue("b", "top", quota=0)
    cluster.snapshot.queues[1].gpu_milli.lending_limit = 0
    for number in range(8):
        cluster.waits(f"b{number}", "b")
    answer = decide(cluster)
    assert (len(bound(answer)), reason(answer, "b7").code) == (4, decision.REASON_CODE_KEPT_FOR_LENDER)


def test_guarantees_beyond_the_cluster_are_kept_in_the_order_of_queues(decide: Decide) -> None:
    """Nodes were lost: a keeps its 6, and 2 are left for b, so c gets nothing."""
    cluster = ClusterText().node(gpus=8).queue("a", quota=6).queue("b", quota=6).queue("c", quota=0)
    for queue in cluster.snapshot.queues[:2]:
        queue.gpu_milli.lending_limit = 0
    cluster.waits("x", "c").waits("y", "b", pods=2)
    assert bound(decide(cluster)) == ["y-0", "y-1"]


def test_maximum_of_running_pod_groups(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=8).queue("top").queue("q", "top").queue("r", "top")
    cluster.snapshot.queues[0].max_running = 3
    cluster.snapshot.queues[1].max_running = 2
    cluster.runs("old", "q", pods=1, minimum=1).pods("old", "PENDING")
    for name in ("q1", "q2", "r1", "r2"):
        cluster.waits(name, name[0])
    answer = decide(cluster)
    assert bound(answer) == ["old-1", "q1-0", "r1-0"]
    assert outcome(answer, "q2") == "WAITING_FOR_QUOTA"
    assert "queue q would exceed its limit of 2 running pod groups" in reason(answer, "q2").message
    assert "queue top would exceed its limit of 3 running pod groups" in reason(answer, "r2").message


def test_preemption_within_the_maximum_takes_the_place_of_its_victim(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=2).queue("q").runs("old", "q").waits("urgent", "q", priority=75)
    cluster.snapshot.queues[0].max_running = 1
    assert evicted(decide(cluster)) == ["old-0"]
    cluster.snapshot.queues[0].max_running = 0
    assert evicted(decide(cluster)) == []


def test_bounds_that_contradict_a_quota_are_cut_and_told(decide: Decide) -> None:
    cluster = classes(quota_gpu_milli=5_000, limit_gpu_milli=1_000)
    cluster.snapshot.queues[1].gpu_milli.lending_limit = 13_000
    cluster.snapshot.queues[0].cpu_milli.quota = -1
    cluster.snapshot.queues[0].cpu_milli.lending_limit = 5
    cluster.waits("one", "q", zone="h", mode=NON_PREEMPTIBLE)
    cluster.waits("two", "q", zone="h", mode=NON_PREEMPTIBLE)
    answer = decide(cluster)
    assert len(bound(answer)) == 1
    told = [each.message for each in answer.warnings if each.code == WARNING_CODE_QUEUE_LIMIT_CUT]
    assert told == [
        "queue q: class_limits of h100: the limit, 1 GPU, is below the quota, 5 GPUs, and counts for both",
        "queue q: gpu_milli.lending_limit: 13000 is above the quota, 12000; all of it is lent",
        "queue top: cpu_milli.lending_limit: the quota is unlimited; nothing is kept free for it",
    ]


NEUTRAL: Final[dict[str, tuple[dict[str, object], dict[str, object]]]] = {
    "lending limit": ({"gpu_milli": {"quota": 2_000, "lending_limit": -1}}, {}),
    "class limit": ({"class_limits": [{"node_class": "none", "limit_gpu_milli": -1}]}, {}),
    "maximum of running pod groups": ({"max_running": 9}, {}),
    "time limit of queues": ({"time_limit": {"seconds": 9_000}, "on_time_limit": pb.FATE_DELETE}, {}),
    "time limit": ({}, {"time_limit": {"seconds": 9_000}, "on_time_limit": pb.FATE_DELETE}),
}
"""Fields of queues and of pod groups that bound nothing here."""


@pytest.mark.parametrize(("of_queues", "of_pod_groups"), NEUTRAL.values(), ids=NEUTRAL)
def test_no_field_costs_nothing(
    decide: Decide, of_queues: dict[str, object], of_pod_groups: dict[str, object]
) -> None:
    """Bounds that nothing reaches change no byte; where time limits count, the next wake time only."""
    cluster = ClusterText().node(gpus=4).queue("a", quota=2).queue("b", quota=2).runs("old", "a")
    for number in range(3):
        cluster.waits(f"a{number}", "a").waits(f"b{number}", "b")
    ending = ("timelimit", "allocate", "reclaim", "preempt")
    plain, plain_ending = decide(cluster), decide(cluster, "", *ending)
    for queue in cluster.snapshot.queues:
        queue.MergeFrom(pb.Queue(**of_queues))  # type: ignore[arg-type]
    for group in cluster.snapshot.pod_groups:
        group.MergeFrom(pb.PodGroup(**of_pod_groups))  # type: ignore[arg-type]
    found, found_ending = decide(cluster), decide(cluster, "", *ending)
    assert found.SerializeToString(deterministic=True) == plain.SerializeToString(deterministic=True)
    found_ending.ClearField("next_wake_time")
    plain_ending.ClearField("next_wake_time")
    assert found_ending == plain_ending
    assert len(bound(found)) == len(bound(found_ending)) == 3
