"""Capacity is gathered for large pod groups where nothing says when others end (semantics R17.5, R17.7)."""

from typing import Final

import pytest
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode

from tests.solver.reservations.play import Play, profile_with

FIRM: Final = Preemptibility.NON_PREEMPTIBLE
SOFT: Final = Preemptibility.PREEMPTIBLE


def full_nodes(nodes: int = 1) -> ClusterBuilder:
    """Nodes of 4 GPUs, full of pods of 1 GPU without an end; `big`, which came first, wants whole nodes."""
    builder = ClusterBuilder().queue("q")
    builder.pending("big", queue="q", gpus=4, count=nodes, preemptibility=FIRM)
    for node in range(nodes):
        builder.node(f"n{node}", gpus=4)
        for number in range(4):
            builder.running(f"r{node}{number}", queue="q", gpus=1, node=f"n{node}", preemptibility=FIRM)
    return builder


@pytest.mark.parametrize("mode", [FIRM, SOFT])
@pytest.mark.parametrize("nodes", [1, 2])
def test_stream_without_runtimes_does_not_starve_a_large_one_r17_5(nodes: int, mode: Preemptibility) -> None:
    small = [f"s{number}" for number in range(4 * nodes)]
    builder = full_nodes(nodes)
    for name in small:
        builder.pending(name, queue="q", gpus=1, preemptibility=mode)
    for profile, starts in ((profile_with(), True), (default_profile(), False)):
        play = Play(builder.build(), profile, absent=small)
        play.cycle(0)
        for number, name in enumerate(small):
            play.arrive(name)
            play.end(f"r{number // 4}{number % 4}")
            play.cycle(10 * number + 10)
        for minute in (1, 2):
            play.cycle(10 * len(small) + minute)
        assert ("big" in play.running()) is starts
        if starts:
            assert not set(small) & set(play.running())


def test_small_ones_use_what_is_gathered_until_it_suffices_r17_9() -> None:
    builder = full_nodes().pending("s", queue="q", gpus=1, preemptibility=SOFT)
    play = Play(builder.build(), profile_with(), absent=["s"])
    play.cycle(0)
    assert (play.start("big"), play.nodes("big")) == ((None, "UNKNOWN"), {"n0": 1})
    play.arrive("s")
    play.end("r00")
    play.cycle(1)
    assert "s" in play.running()
    play.end("r01", "r02", "r03")
    play.cycle(2)
    play.cycle(3)
    assert play.running() == ["big"]


def test_nodes_with_the_least_without_an_end_are_chosen_and_kept_r17_5() -> None:
    builder = ClusterBuilder().queue("q")
    builder.pending("big", queue="q", gpus=4, preemptibility=FIRM)
    for node, (firm, soft) in enumerate(((2, 2), (0, 4), (1, 3))):
        builder.node(f"n{node}", gpus=4)
        for number in range(firm + soft):
            mode = FIRM if number < firm else SOFT
            builder.running(f"r{node}{number}", queue="q", gpus=1, node=f"n{node}", preemptibility=mode)
    play = Play(builder.build(), profile_with())
    play.cycle(0)
    assert play.nodes("big") == {"n1": 1}
    play.end("r01", "r02", "r03")
    play.cycle(1)
    assert play.nodes("big") == {"n1": 1}


def test_two_large_ones_gather_on_different_nodes_r17_5() -> None:
    builder = ClusterBuilder().queue("p", quota=0).queue("q", quota=0).queue("z", quota=0)
    for node in range(4):
        builder.node(f"n{node}", gpus=4)
        builder.running(f"r{node}", queue="z", gpus=4, node=f"n{node}", preemptibility=SOFT)
    for queue in ("p", "q"):
        builder.pending(f"big-{queue}", queue=queue, gpus=4, preemptibility=SOFT)
    play = Play(builder.build(), profile_with(maxFraction="1"))
    play.cycle(0)
    assert {*play.nodes("big-p"), *play.nodes("big-q")} == {"n0", "n1"}


def test_those_behind_it_do_not_make_its_queue_too_large_r17_3() -> None:
    for is_behind in (True, False):
        builder = ClusterBuilder().node("n0", gpus=4).node("n1", gpus=4).queue("q", quota=4, limit=4)
        if is_behind:
            builder.pending("big", queue="q", gpus=4, preemptibility=FIRM)
        builder.running("small", queue="q", gpus=1, node="n0", preemptibility=SOFT)
        if not is_behind:
            builder.pending("big", queue="q", gpus=4, preemptibility=FIRM)
        play = Play(builder.build(), profile_with())
        play.cycle(0)
        assert (play.start("big") is not None) is is_behind


def test_pods_that_start_when_others_have_terminated_are_backfills_too_r17_8() -> None:
    builder = ClusterBuilder().node("n", gpus=4).queue("q")
    builder.running("r", queue="q", gpus=3, node="n", started_ago="1h", time_limit="2h", preemptibility=FIRM)
    builder.running("low", queue="q", gpus=1, node="n", priority=40, preemptibility=SOFT)
    builder.pending("big", queue="q", gpus=4, priority=70, preemptibility=FIRM)
    builder.pending("high", queue="q", gpus=1, priority=60, preemptibility=SOFT)
    play = Play(builder.build(), profile_with(("allocate", "reservation", "preempt")), absent=["high"])
    play.cycle(0)
    play.arrive("high")
    play.cycle(1)
    play.cycle(2)
    assert play.running() == ["high", "r"]
    high = next(group for group in play.cluster.pod_groups if group.facts.uid == "high")
    assert high.facts.victim.backfill_for == ("big",)
    for minute in (60, 61, 62):
        play.cycle(minute)
    assert play.running() == ["big"]


def test_what_ended_backfills_leave_over_is_not_told_as_reserved_p17_3() -> None:
    """A gang of two yields to `big`, which needs one of its places: one of those behind fits on the other."""
    builder = ClusterBuilder().node("n0", gpus=4).node("n1", gpus=4).queue("q", preempt_min_runtime="1m")
    times = {"started_ago": "0m", "time_limit": "60m"}
    builder.running("ends", queue="q", gpus=2, node="n0", preemptibility=FIRM, **times)  # type: ignore[arg-type]
    builder.running("stays", queue="q", gpus=2, node="n1", preemptibility=FIRM)
    builder.pending("big", queue="q", gpus=4, preemptibility=FIRM)
    builder.pending("fill", queue="q", gpus=2, count=2, preemptibility=SOFT)
    builder.pending("plug", queue="q", gpus=2, preemptibility=SOFT)
    for name in ("next", "last"):
        builder.pending(name, queue="q", gpus=2, preemptibility=FIRM)
    play = Play(builder.build(), profile_with(), absent=["fill", "plug", "next", "last"])
    play.cycle(0)
    play.arrive("fill")
    play.cycle(1)
    play.end("ends")
    play.arrive("plug")
    play.cycle(1.5)
    assert play.running() == ["fill", "plug", "stays"]
    play.arrive("next", "last")
    result = play.cycle(3)
    reasons = {play.cluster.pod_groups[each.pod_group].facts.uid: each.reason for each in result.outcomes}
    assert (reasons["next"].code, reasons["next"].source) == (ReasonCode.NO_CAPACITY, "release")
    assert reasons["last"].code is not ReasonCode.RESERVED
    play.cycle(4)
    assert play.running() == ["big", "next", "stays"]
