"""Reasons of an eviction in a cycle with reservations: searches are repeated with them in force (R14.6)."""

from dataclasses import replace
from typing import Final

from tenure.server.explain.why_victim import why_victim
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.diagnosis.victim_set import check_victim_set
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.testing import ClusterBuilder

from tests.server.explain.pending_cases import index
from tests.solver.reservations.play import Play, profile_with

FIRM: Final = Preemptibility.NON_PREEMPTIBLE
SOFT: Final = Preemptibility.PREEMPTIBLE
PROFILE: Final = replace(profile_with(maxFraction="1"), actions=("allocate", "reservation", "preempt"))


def cycle_with_reserved_gpus() -> CycleReplay:
    """Pod group urgent needs two GPUs. The two free ones of node n are reserved for big, which needs four.

    n:  old old  .  .     old ends after an hour; then big starts
    n2: victim victim     preemptible, for urgent
    """
    builder = ClusterBuilder().node("n", gpus=4).node("n2", gpus=2).queue("q")
    builder.running(
        "old",
        queue="q",
        gpus=2,
        node="n",
        started_ago="1h",
        time_limit="2h",
        preemptibility=FIRM,
        priority=100,
    )
    builder.running(
        "victim", queue="q", gpus=2, node="n2", started_ago="5h", preemptibility=SOFT, priority=40
    )
    builder.pending("big", queue="q", gpus=4, preemptibility=FIRM, priority=100)
    builder.pending("urgent", queue="q", gpus=2, preemptibility=FIRM, priority=75)
    play = Play(builder.build(), PROFILE, absent=["urgent"])
    play.cycle(0)
    play.arrive("urgent")
    return CycleReplay(play.cluster, PROFILE)


def test_no_smaller_set_is_found_on_reserved_capacity() -> None:
    replay = cycle_with_reserved_gpus()
    (group,) = [each for each in replay.result.groups if each.evictions]
    found = check_victim_set(replay, group)
    assert found is not None
    assert found.smaller is None


def test_no_earlier_decision_is_named_where_there_was_none() -> None:
    replay = cycle_with_reserved_gpus()
    text = why_victim(replay, index(replay.cluster, "victim")).text.operator
    assert "earlier decisions release enough" not in text
