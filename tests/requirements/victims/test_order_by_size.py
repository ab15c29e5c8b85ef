"""Victims of equal priority by their GPUs: the plugin `gpujoborder`, off by default (R14.36-R14.38)."""

from typing import Any, Final

import pytest

from tests.checker.checker import verify
from tests.requirements.answers import bound, evicted
from tests.requirements.cluster import ClusterText
from tests.requirements.conftest import Decide, DecideFile

IN_ORDER: Final = "options: {victimChoice: inOrder}\n"
DEFAULT_MODE: Final = "plugins: {gpujoborder: true}\n"
LARGER: Final = "plugins: {gpujoborder: {mode: evict-larger-first}}\n"
SMALLER: Final = "plugins: {gpujoborder: {mode: evict-smaller-first}}\n"

Job = tuple[str, int, dict[str, Any]]
"""Name, GPUs of its one pod, and more."""


def over_quota(needed: int, *jobs: Job, node: int = 8) -> ClusterText:
    """Queue b, over its quota of 0, has these jobs on one full node; the oldest comes first. a needs GPUs."""
    cluster = ClusterText().node(gpus=node).queue("a", quota=node).queue("b", quota=0)
    for name, gpus, more in jobs:
        cluster.runs(name, "b", gpus=gpus, **more)
    return cluster.waits("needs", "a", gpus=needed)


def one_large() -> ClusterText:
    return over_quota(4, ("b1", 4, {}), *((f"b{number}", 1, {}) for number in range(2, 6)))


def one_needed() -> ClusterText:
    return over_quota(1, ("b1", 4, {}), ("b2", 1, {}), node=5)


def by_priority() -> ClusterText:
    return over_quota(4, ("b1", 4, {"priority": 60}), ("b2", 2, {}), ("b3", 2, {}))


def of_equal_size() -> ClusterText:
    return over_quota(2, ("b1", 2, {}), ("b2", 2, {}), node=4)


CASES: Final = {
    "one large or four small ones": (
        one_large,
        ["b2-0", "b3-0", "b4-0", "b5-0"],
        ["b1-0"],
        ["b2-0", "b3-0", "b4-0", "b5-0"],
    ),
    "one GPU is needed": (one_needed, ["b2-0"], ["b1-0"], ["b2-0"]),
    "priority first": (by_priority, ["b2-0", "b3-0"], ["b2-0", "b3-0"], ["b2-0", "b3-0"]),
    "equal sizes: the newest": (of_equal_size, ["b2-0"], ["b2-0"], ["b2-0"]),
}
"""Cluster, and victims in the default order, larger ones first, and smaller ones first."""


@pytest.mark.parametrize("case", CASES)
def test_victims_by_size_r14_36(case: str, decide: Decide) -> None:
    build, default, larger, smaller = CASES[case]
    for file, victims in ((IN_ORDER, default), (DEFAULT_MODE, larger), (LARGER, larger), (SMALLER, smaller)):
        answer = decide(build(), file)
        assert (evicted(answer), verify(build().snapshot, answer)) == (victims, []), file


def test_least_harm_stays_the_default_r14_38(decide: Decide) -> None:
    """One pod instead of four, and one GPU instead of four."""
    assert evicted(decide(one_large())) == ["b1-0"]
    assert evicted(decide(one_needed())) == ["b2-0"]


def test_from_a_file_r14_38(decide_file: DecideFile) -> None:
    assert evicted(decide_file(one_needed(), LARGER)) == ["b1-0"]
    assert evicted(decide_file(one_large(), SMALLER)) == ["b2-0", "b3-0", "b4-0", "b5-0"]


def test_size_precedes_surplus_and_shrinks_with_it_r14_37(decide: Decide) -> None:
    """`wide` has 4 GPUs and gives one pod after the other until `gang`, with 3, has more."""
    cluster = over_quota(3, node=7)
    cluster.runs("wide", "b", pods=4, minimum=1).runs("gang", "b", pods=3)
    assert evicted(decide(cluster, LARGER)) == ["gang-0", "gang-1", "gang-2"]


def test_pending_pods_count_r14_37(decide: Decide) -> None:
    """`grows` has 2 GPUs and waits for 5 more, `whole` has 4: the first is larger."""
    cluster = over_quota(2, node=6).runs("grows", "b", pods=2, minimum=1).pods("grows", "PENDING", pods=5)
    cluster.runs("whole", "b", gpus=4)
    assert evicted(decide(cluster, LARGER)) == ["grows-0", "grows-1"]


def test_no_size_counts_more_than_the_priority_r14_36(decide: Decide) -> None:
    """`old` waits for 1.2 billion GPUs, which no cluster has."""
    cluster = ClusterText().node(gpus=8).queue("a").runs("old", "a", gpus=4, minimum=1, priority=50)
    cluster.pods("old", "PENDING", pods=120_000, gpus=10_000).runs("other", "a", gpus=4, priority=51)
    cluster.waits("urgent", "a", gpus=4, priority=90)
    assert evicted(decide(cluster, SMALLER)) == ["old-0"]


def test_order_of_pending_pod_groups_does_not_change_r14_37(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=4).queue("a").waits("small", "a", gpus=1).waits("large", "a", gpus=4)
    for file in ("", LARGER, SMALLER):
        assert bound(decide(cluster, file)) == ["small-0"]


def test_victims_of_preempt_are_ordered_too_r14_36(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=5).queue("a").runs("large", "a", gpus=4).runs("small", "a", gpus=1)
    cluster.waits("urgent", "a", gpus=1, priority=75)
    assert [evicted(decide(cluster, file)) for file in (LARGER, SMALLER)] == [["large-0"], ["small-0"]]


def test_another_mode_is_an_error_r14_36(decide: Decide) -> None:
    with pytest.raises(Exception, match="'largest' is neither evict-larger-first nor evict-smaller-first"):
        decide(one_needed(), "plugins: {gpujoborder: {mode: largest}}\n")
