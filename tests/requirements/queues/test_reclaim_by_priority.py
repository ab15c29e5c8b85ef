"""Reclaim within quota by queue priority: an argument of `proportion`, off by default (R4.71-R4.73)."""

from collections.abc import Callable
from typing import Final

import pytest
from tenure.v1 import decision_pb2 as decision

from tests.checker.checker import verify
from tests.checker.rules.reclaims import ReclaimRights
from tests.requirements.answers import bound, evicted, evicting_actions, outcome, reserved
from tests.requirements.cluster import ClusterText
from tests.requirements.conftest import Decide, DecideFile

ON: Final = "plugins:\n  proportion: {queuePriorityInQuotaReclaim: true}\n"


def two(first: int = 90, second: int = 80, *, gpus: int = 12, quota: int = 8) -> ClusterText:
    """Queues a and b with these priorities and equal quotas, and one node."""
    return with_priorities(
        ClusterText().node(gpus=gpus).queue("a", quota=quota).queue("b", quota=quota), a=first, b=second
    )


def with_priorities(cluster: ClusterText, **priorities: int) -> ClusterText:
    for queue in cluster.snapshot.queues:
        queue.priority = priorities[queue.name]
    return cluster


def waits_for_eight(cluster: ClusterText, gpus: int = 8, mode: str = "UNSPECIFIED") -> ClusterText:
    return cluster.runs("b1", "b", gpus=8, mode=mode).waits("a1", "a", gpus=gpus)


def same_priority() -> ClusterText:
    return waits_for_eight(two(80, 80))


def above_its_quota() -> ClusterText:
    return waits_for_eight(two(), gpus=10)


def over_quota_victim() -> ClusterText:
    cluster = two()
    for name in ("a1", "a2", "a3"):
        cluster.runs(name, "a", gpus=4)
    return cluster.waits("b1", "b", gpus=4)


def firm_victim() -> ClusterText:
    return waits_for_eight(two(), mode="NON_PREEMPTIBLE")


def parents() -> ClusterText:
    """The priorities of the leaves are the reverse of those of their parents."""
    cluster = ClusterText().node(gpus=12).queue("p", quota=8).queue("q", quota=8)
    cluster.queue("a", "p", quota=8).queue("b", "q", quota=8)
    return waits_for_eight(with_priorities(cluster, p=90, a=10, q=80, b=99))


def below_its_quota() -> ClusterText:
    """b has 2 of its quota of 8, and may go down to nothing."""
    cluster = two(gpus=4).runs("b1", "b", gpus=2).runs("x1", "a", gpus=2)
    return cluster.waits("a1", "a", gpus=2)


def ancestor_beyond_its_quota() -> ClusterText:
    """Leaf a stays within its quota, but p, which is compared, does not."""
    cluster = ClusterText().node(gpus=12).queue("p", quota=4).queue("q", quota=8)
    cluster.queue("a", "p", quota=8).queue("b", "q", quota=8)
    return waits_for_eight(with_priorities(cluster, p=90, a=90, q=80, b=80))


def lower_priority() -> ClusterText:
    return waits_for_eight(two(70, 80))


CASES: Final[dict[str, tuple[Callable[[], ClusterText], list[str], list[str]]]] = {
    "within quota, of higher priority": (lambda: waits_for_eight(two()), [], ["b1-0"]),
    "queues of one priority": (same_priority, [], []),
    "of lower priority": (lower_priority, [], []),
    "above its quota": (above_its_quota, [], []),
    "a victim over its quota, of higher priority": (over_quota_victim, ["a3-0"], ["a3-0"]),
    "a non-preemptible victim": (firm_victim, [], []),
    "parents are compared": (parents, [], ["b1-0"]),
    "what the victim's queue has left does not matter": (below_its_quota, [], ["b1-0"]),
    "the parent would exceed its quota": (ancestor_beyond_its_quota, [], []),
}
"""Cluster, evicted pods without the argument, and with it."""


@pytest.mark.parametrize(("cluster", "off", "on"), CASES.values(), ids=CASES)
def test_victims_r4_71(
    cluster: Callable[[], ClusterText], off: list[str], on: list[str], decide: Decide
) -> None:
    for configuration, victims in (("", off), (ON, on)):
        answer = decide(cluster(), configuration)
        assert evicted(answer) == victims
        assert verify(cluster().snapshot, answer, rights=ReclaimRights(by_priority=configuration == ON)) == []
        assert evicting_actions(answer) == (["reclaim"] if victims else [])
        assert (reserved(answer) != []) is (victims != []), "the reclaimer waits for what is released"


def test_worked_example_from_a_file_r4_71(decide_file: DecideFile) -> None:
    answer = decide_file(waits_for_eight(two()), ON)
    assert (evicted(answer), reserved(answer), evicting_actions(answer)) == (["b1-0"], ["a1-0"], ["reclaim"])


def test_queue_does_not_reclaim_back_r4_72(decide: Decide) -> None:
    """b has its whole quota pending, and a is within quota."""
    cluster = two().runs("a1", "a", gpus=8).waits("b1", "b", gpus=8)
    answer = decide(cluster, ON)
    assert (evicted(answer), outcome(answer, "b1")) == ([], "WAITING_FOR_CAPACITY")


def test_queues_over_quota_give_first_r4_72(decide: Decide) -> None:
    """c is over its quota of 0; b, of the same lower priority, keeps its quota."""
    cluster = ClusterText().node(gpus=12).queue("a", quota=4).queue("b", quota=6).queue("c", quota=0)
    with_priorities(cluster, a=90, b=80, c=80)
    cluster.runs("b1", "b", gpus=6).runs("c1", "c", gpus=6).waits("a1", "a", gpus=4)
    assert evicted(decide(cluster, ON)) == ["c1-0"]


def test_consolidation_does_not_change_r4_72(decide: Decide) -> None:
    """A move is enough, so nothing is evicted for good."""
    cluster = ClusterText().node("x", gpus=4).node("y", gpus=4).queue("a", quota=4).queue("b", quota=4)
    with_priorities(cluster, a=90, b=80)
    cluster.runs("b1", "b", node="x", gpus=2).runs("b2", "b", node="y", gpus=2).waits("a1", "a", gpus=4)
    for configuration in ("", ON):
        answer = decide(cluster, configuration)
        assert evicting_actions(answer) == ["consolidation"]


def test_queue_within_quota_is_ordered_by_priority_r4_73(decide: Decide) -> None:
    cluster = two(80, 90, gpus=8).waits("a1", "a", gpus=8).waits("b1", "b", gpus=8)
    for configuration in ("", ON):
        assert bound(decide(cluster, configuration)) == ["b1-0"]


def test_reason_of_a_pod_group_above_its_quota_r4_71(decide: Decide) -> None:
    answer = decide(above_its_quota(), ON)
    (found,) = [each.reason for each in answer.outcomes if each.pod_group == "a1"]
    assert found.code == decision.REASON_CODE_WITHIN_FAIR_SHARE
