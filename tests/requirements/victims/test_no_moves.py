"""Pod groups that must not move: opt-outs of consolidation, also where a reclaim moves them (R8.50)."""

from typing import Final

import pytest

from tests.checker.checker import verify
from tests.requirements.answers import evicted, evicting_actions, outcome, reserved
from tests.requirements.cluster import ClusterText
from tests.requirements.conftest import Decide, DecideFile

ALLOCATE: Final = ("allocate", "reclaim")
"""Without consolidation, which would come first."""


def scattered(*staying: str) -> ClusterText:
    """a on node x and b on node y, each with one of two GPUs; c asks for two on one node."""
    cluster = ClusterText().node("x", gpus=2).node("y", gpus=2).queue("q")
    cluster.runs("a", "q", node="x").runs("b", "q", node="y").waits("c", "q", gpus=2)
    return staying_put(cluster, *staying)


def staying_put(cluster: ClusterText, *names: str) -> ClusterText:
    for name in names:
        cluster.group(name).opt_out_actions.append("consolidation")
    return cluster


@pytest.mark.parametrize(
    ("staying", "moved"),
    [((), 1), (("a",), "b-0"), (("b",), "a-0"), (("a", "b"), None)],
    ids=["none", "a stays", "b stays", "both stay"],
)
def test_consolidation_moves_others_r8_50(
    staying: tuple[str, ...], moved: str | int | None, decide: Decide
) -> None:
    answer = decide(scattered(*staying))
    if moved == 1:
        assert len(evicted(answer)) == 1
    else:
        assert evicted(answer) == ([moved] if moved else [])
    assert evicting_actions(answer) == (["consolidation"] if moved else [])
    assert verify(scattered(*staying).snapshot, answer) == []


def test_it_can_be_reclaimed_r8_50(decide: Decide) -> None:
    """Its queue is over its quota of 0."""
    cluster = ClusterText().node("x", gpus=2).queue("rich", quota=0).queue("poor", quota=2)
    cluster.runs("a", "rich", node="x", gpus=2).waits("c", "poor", gpus=2)
    answer = decide(staying_put(cluster, "a"))
    assert (evicted(answer), evicting_actions(answer)) == (["a-0"], ["reclaim"])


def test_others_may_be_moved_for_it_r8_50(decide: Decide) -> None:
    assert evicting_actions(decide(staying_put(scattered(), "c"))) == ["consolidation"]


def within_quota(*, quota: int = 1) -> ClusterText:
    """v uses the quota of its queue on x, and y has one free GPU; c, of a starved queue, needs all of x."""
    cluster = ClusterText().node("x", gpus=2).node("y", gpus=2).queue("full", quota=quota)
    cluster.queue("poor", quota=3).runs("other", "poor", node="y", mode="NON_PREEMPTIBLE")
    return cluster.runs("v", "full", node="x").waits("c", "poor", gpus=2)


def test_reclaim_that_moves_a_pod_counts_nothing_without_an_opt_out_r4_51(decide: Decide) -> None:
    answer = decide(within_quota(), "", *ALLOCATE)
    assert (evicted(answer), reserved(answer)) == (["v-0"], ["c-0", "v-0"])
    assert verify(within_quota().snapshot, answer) == []


def test_reclaim_that_moves_what_must_stay_counts_as_a_loss_r8_50(decide: Decide) -> None:
    """Its queue would keep its share, and a restart takes it."""
    answer = decide(staying_put(within_quota(), "v"), "", *ALLOCATE)
    assert (evicted(answer), outcome(answer, "c")) == ([], "WAITING_FOR_CAPACITY")


def test_reclaim_may_move_it_if_its_queue_may_lose_it_r8_50(decide: Decide) -> None:
    cluster = staying_put(within_quota(quota=0), "v")
    answer = decide(cluster, "", *ALLOCATE)
    assert evicted(answer) == ["v-0"]
    assert verify(cluster.snapshot, answer) == []


def test_from_a_file_r8_50(decide_file: DecideFile) -> None:
    assert evicted(decide_file(scattered("a", "b"))) == []
    assert evicted(decide_file(scattered("a"))) == ["b-0"]
