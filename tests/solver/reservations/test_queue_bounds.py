"""Reservations keep room within limits and quotas of queues too (semantics R17.4, R17.8, P17.2)."""

from typing import Final

import pytest
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode

from tests.solver.reservations.play import Play, profile_with

FIRM: Final = Preemptibility.NON_PREEMPTIBLE
SOFT: Final = Preemptibility.PREEMPTIBLE
SEMI: Final = Preemptibility.SEMI_PREEMPTIBLE
BOUNDS: Final = {
    "limit": {"limit": 4},
    "quota": {"quota": 4},
    "limit of its parent": {},
}


def bounded(kind: str = "limit") -> ClusterBuilder:
    """A queue that may use 4 GPUs of 8; its pod groups of one GPU end 15, 30, 45 and 60 minutes from now."""
    builder = ClusterBuilder().node("n", gpus=8)
    if kind == "limit of its parent":
        builder.queue("p", limit=4).queue("other", parent="p", quota=0)
        builder.queue("q", parent="p", quota=4)
    else:
        builder.queue("q", **BOUNDS[kind])  # type: ignore[arg-type]
    for number in range(4):
        age = f"{45 - 15 * number}m"
        builder.running(
            f"r{number}", queue="q", gpus=1, node="n", started_ago=age, time_limit="1h", preemptibility=FIRM
        )
    return builder.pending("big", queue="q", gpus=4, time_limit="1h", preemptibility=FIRM)


@pytest.mark.parametrize("queue", ["q", "other"])
@pytest.mark.parametrize("kind", BOUNDS)
def test_first_in_a_bounded_queue_starts_within_the_longest_time_limit_p17_2(kind: str, queue: str) -> None:
    builder, small = bounded(kind), [f"s{number}" for number in range(8)]
    if queue == "other" and kind != "limit of its parent":
        builder.queue("other", quota=4)  # pod groups of a queue with bounds of its own take nothing from it
    for name in small:
        builder.pending(
            name, queue=queue, gpus=1, time_limit="1h", preemptibility=FIRM if queue == "q" else SOFT
        )
    play = Play(builder.build(), profile_with(), absent=small)
    play.cycle(0)
    assert play.start("big") == (60, "BOUNDED")
    for number in range(4):
        play.arrive(small[number])
        play.cycle(15 * (number + 1))
    for minute in (61, 62):  # backfills terminate
        play.cycle(minute)
    assert "big" in play.running()


def test_bound_is_lent_to_those_that_end_in_time_and_to_what_yields_r17_8() -> None:
    builder = bounded()
    for name, gpus, mode, limit in (
        ("short", 1, FIRM, "30m"),
        ("long", 1, FIRM, "3h"),
        ("soft", 1, SOFT, None),
    ):
        builder.pending(
            name, queue="q", gpus=gpus, preemptibility=mode, **({"time_limit": limit} if limit else {})
        )
    play = Play(builder.build(), profile_with(), absent=["short", "long", "soft"])
    play.cycle(0)
    play.arrive("short", "long", "soft")
    result = play.cycle(30)
    assert play.running() == ["r2", "r3", "short", "soft"]
    reasons = {play.cluster.pod_groups[o.pod_group].facts.uid: o.reason for o in result.outcomes}
    assert reasons["long"].code is ReasonCode.RESERVED
    soft = next(group for group in play.cluster.pod_groups if group.facts.uid == "soft")
    assert soft.facts.victim.backfill_for == ("big",)
    for minute in (60, 61, 62):
        play.cycle(minute)
    assert play.running() == ["big"]


def test_who_must_wait_for_the_bound_is_told_for_whom_r17_4() -> None:
    builder = bounded().pending("long", queue="q", gpus=1, time_limit="3h", preemptibility=FIRM)
    play = Play(builder.build(), profile_with(), absent=["long"])
    play.cycle(0)
    play.arrive("long")
    result = play.cycle(20)
    reason = next(
        o.reason for o in result.outcomes if play.cluster.pod_groups[o.pod_group].facts.uid == "long"
    )
    assert (reason.code, reason.detail) == (
        ReasonCode.RESERVED,
        "it would fit, but capacity is reserved for big",
    )


@pytest.mark.parametrize(("limit", "starts"), [(4, False), (5, True)])
def test_what_the_bound_leaves_beside_the_reservation_is_free_r17_8(limit: int, starts: bool) -> None:
    builder = ClusterBuilder().node("n", gpus=8).queue("q", limit=limit)
    builder.running("r", queue="q", gpus=3, node="n", started_ago="0m", time_limit="1h", preemptibility=FIRM)
    builder.pending("big", queue="q", gpus=4, preemptibility=FIRM)
    builder.pending("small", queue="q", gpus=1, preemptibility=FIRM)
    play = Play(builder.build(), profile_with(), absent=["small"])
    play.cycle(0)
    play.arrive("small")
    play.cycle(1)
    assert ("small" in play.running()) is starts


@pytest.mark.parametrize(("mode", "starts"), [(SOFT, True), (SEMI, False), (FIRM, False)])
def test_quota_is_kept_from_non_preemptible_pods_only_r17_4(mode: Preemptibility, starts: bool) -> None:
    builder = bounded("quota").pending("more", queue="q", gpus=1, preemptibility=mode)
    play = Play(builder.build(), profile_with(("allocate",)), absent=["more"])
    play.cycle(0)
    play.arrive("more")
    play.cycle(20)
    assert ("more" in play.running()) is starts


def test_those_before_the_owner_need_not_wait_r17_11() -> None:
    builder = bounded().pending("first", queue="q", gpus=1, priority=120, preemptibility=FIRM)
    play = Play(builder.build(), profile_with(), absent=["first"])
    play.cycle(0)
    play.arrive("first")
    play.cycle(15)
    assert "first" in play.running()


def test_second_owner_of_a_bounded_queue_starts_when_the_first_has_ended_r17_5() -> None:
    builder = bounded().pending("next", queue="q", gpus=4, time_limit="1h", preemptibility=FIRM)
    play = Play(builder.build(), profile_with(maxFraction="1", perQueue="2"))
    play.cycle(0)
    assert (play.start("big"), play.start("next")) == ((60, "BOUNDED"), (120, "BOUNDED"))
    for minute in (60, 120):
        play.cycle(minute)
    assert play.running() == ["next"]
