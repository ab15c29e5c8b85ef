"""Warnings about quotas and limits that contradict each other, and about gangs that lack pods (R19.6)."""

from typing import Final

import pytest
from tenure.v1.decide_pb2 import DecideResponse, WarningCode

from tests.requirements.cluster import ClusterText
from tests.requirements.conftest import Decide

CODES: Final = (
    "QUEUE_BOUNDS_CONTRADICT",
    "QUOTAS_ABOVE_CLUSTER",
    "QUEUE_LIMIT_ZERO",
    "GANG_LACKS_PODS",
)


def told(answer: DecideResponse) -> list[tuple[str, str]]:
    """Code and sentence of the warnings of these kinds."""
    named = [(WarningCode.Name(each.code).removeprefix("WARNING_CODE_"), each) for each in answer.warnings]
    return [(name, each.message) for name, each in named if name in CODES]


def two_queues(**parent: int) -> ClusterText:
    """A node with 8 GPUs, and a parent queue with two children whose quotas are 3 GPUs each."""
    cluster = ClusterText().node(gpus=8).queue("top", **parent)  # type: ignore[arg-type]
    return cluster.queue("a", "top", quota=3, limit=4).queue("b", "top", quota=3)


QUEUES: Final[dict[str, tuple[ClusterText, list[tuple[str, str]]]]] = {
    "nothing contradicts": (two_queues(quota=6, limit=8), []),
    "a parent without bounds": (two_queues(), []),
    "children's quotas": (
        two_queues(quota=5),
        [
            (
                "QUEUE_BOUNDS_CONTRADICT",
                "queue top: the GPU quotas of its child queues are 6 GPUs together, more than its own, "
                "5 GPUs",
            )
        ],
    ),
    "a child's limit": (
        two_queues(quota=6, limit=3),
        [
            (
                "QUEUE_BOUNDS_CONTRADICT",
                "queue a: its GPU limit, 4 GPUs, is above that of its parent queue top, 3 GPUs, which counts",
            ),
            (
                "QUEUE_BOUNDS_CONTRADICT",
                "queue top: its GPU quota, 6 GPUs, is above its limit, 3 GPUs, and is never used in full",
            ),
        ],
    ),
    "a child's quota above the limit of its parent": (
        two_queues(quota=6, limit=2),
        [
            (
                "QUEUE_BOUNDS_CONTRADICT",
                "queue a: its GPU limit, 4 GPUs, is above that of its parent queue top, 2 GPUs, which counts",
            ),
            (
                "QUEUE_BOUNDS_CONTRADICT",
                "queue a: its GPU quota, 3 GPUs, is above the limit of its parent queue top, 2 GPUs, and is "
                "never used in full",
            ),
            (
                "QUEUE_BOUNDS_CONTRADICT",
                "queue b: its GPU quota, 3 GPUs, is above the limit of its parent queue top, 2 GPUs, and is "
                "never used in full",
            ),
            (
                "QUEUE_BOUNDS_CONTRADICT",
                "queue top: its GPU quota, 6 GPUs, is above its limit, 2 GPUs, and is never used in full",
            ),
        ],
    ),
    "more than the cluster": (
        ClusterText().node(gpus=4).queue("a", quota=3).queue("b", quota=2),
        [
            (
                "QUOTAS_ABOVE_CLUSTER",
                "the GPU quotas of the top-level queues are 5 GPUs together, more than the nodes have, "
                "4 GPUs: not all of them can be used at once",
            )
        ],
    ),
    "a limit of 0": (
        ClusterText().node(gpus=4).queue("a", quota=0, limit=0).queue("b", quota=4),
        [
            (
                "QUEUE_LIMIT_ZERO",
                "queue a: its GPU limit is 0, so no pods with GPU requests start in it; only -1 means "
                "unlimited",
            )
        ],
    ),
}


@pytest.mark.parametrize("case", QUEUES)
def test_bounds_of_queues_that_contradict_each_other_are_told_r19_6(case: str, decide: Decide) -> None:
    cluster, expected = QUEUES[case]
    assert told(decide(cluster)) == expected


def test_amounts_that_contradict_each_other_can_be_told_apart_r19_6(decide: Decide) -> None:
    """Also large ones: a million cores and a core more."""
    cluster = ClusterText().node(gpus=0).queue("top").queue("a", "top")
    cores = [row.cpu_milli for row in cluster.snapshot.queues]
    cores[0].quota, cores[1].quota = 1_234_567_000, 1_234_568_000
    cluster.snapshot.nodes[0].allocatable.cpu_milli = 2_000_000_000
    assert [sentence for _, sentence in told(decide(cluster))] == [
        "queue top: the CPU quotas of its child queues are 1,234,568 CPU cores together, more than its own, "
        "1,234,567 CPU cores"
    ]
    cores[0].quota = 1_000
    assert "its own, 1 CPU core" in told(decide(cluster))[0][1]


def test_a_running_gang_whose_finished_pods_are_missing_is_told_r19_7(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=4).queue("q", quota=4)
    cluster.runs("gang", "q", pods=2, minimum=3)
    ((code, sentence),) = told(decide(cluster))
    assert code == "GANG_LACKS_PODS"
    assert "fewer pods than the minimum run or wait in the snapshot, and none has succeeded" in sentence
    assert told(decide(cluster.pods("gang", "FAILED"))) == [(code, sentence)]  # that pod is in the snapshot
    assert "evicted" not in sentence
    assert told(decide(cluster.pods("gang", "SUCCEEDED"))) == []


def test_a_gang_that_may_stay_below_its_minimum_for_ever_is_not_told_r19_7(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=4).queue("q", quota=4).runs("gang", "q", pods=2, minimum=3)
    cluster.group("gang").staleness_grace_period.seconds = -1
    assert told(decide(cluster)) == []
    cluster.group("gang").ClearField("staleness_grace_period")
    assert told(decide(cluster, "options: {stalenessGracePeriod: never}\n")) == []


def test_a_running_gang_that_waits_for_a_pod_is_not_told_r19_7(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=2).queue("q", quota=4)
    assert told(decide(cluster.runs("gang", "q", pods=2, minimum=3).pods("gang", "PENDING"))) == [
        (
            "QUOTAS_ABOVE_CLUSTER",
            "the GPU quotas of the top-level queues are 4 GPUs together, more than the nodes have, 2 GPUs: "
            "not all of them can be used at once",
        )
    ]
