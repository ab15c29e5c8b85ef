"""The checker reports reclaims from queues that may keep what they have."""

import pytest
from tenure.v1 import snapshot_pb2

from tests.checker.checker import verify
from tests.checker.detection import sound_response
from tests.checker.rules.reclaims import ReclaimRights

PROBLEM = "reclaim: queue b loses pods to new, and may keep them"


def find(quota: int, priorities: tuple[int, int], by_priority: bool, fair: int = 8000) -> list[str]:
    """Problems if `b`, which uses 6 GPUs, has this quota, and `a` and `b` have these priorities."""
    snapshot, response = sound_response.snapshot(), sound_response.response()
    queues: dict[str, snapshot_pb2.Queue] = {queue.name: queue for queue in snapshot.queues}
    queues["b"].gpu_milli.quota = quota
    queues["a"].priority, queues["b"].priority = priorities
    for name, used in (("org", 6000), ("a", 0), ("b", 6000)):
        status = response.queues.add(name=name)
        status.allocated_before.gpu_milli, status.fair_share.gpu_milli = used, fair
    found = verify(snapshot, response, rights=ReclaimRights(by_priority))
    return [problem for problem in found if problem.startswith("reclaim:")]


@pytest.mark.parametrize(
    ("quota", "priorities", "by_priority", "is_wrong"),
    [
        (2000, (90, 80), False, False),
        (6000, (90, 80), False, True),
        (6000, (90, 80), True, False),
        (6000, (80, 80), True, True),
        (6000, (80, 90), True, True),
    ],
    ids=["over quota", "within quota", "of higher priority", "of one priority", "of lower priority"],
)
def test_reclaim_needs_a_right_r4_52_r4_71(
    quota: int, priorities: tuple[int, int], by_priority: bool, is_wrong: bool
) -> None:
    assert find(quota, priorities, by_priority) == ([PROBLEM] if is_wrong else [])


def test_queue_above_its_share_may_lose_r4_52() -> None:
    assert find(quota=3000, priorities=(80, 80), by_priority=False, fair=5000) == []
