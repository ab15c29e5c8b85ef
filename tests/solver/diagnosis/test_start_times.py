"""When pending pod groups start if nothing new arrives (semantics R17.20, R17.22)."""

from collections.abc import Callable
from typing import Final, NamedTuple

import pytest
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.caller_state import Certainty
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.fate import HoldReason
from tenure.solver.play import played_cluster
from tenure.solver.play.played_cluster import PlayedCluster
from tenure.solver.play.start_times import (
    HORIZON,
    MAX_AWAITED,
    MAX_CYCLES,
    RESOLUTION,
    FirstCycle,
    Place,
    Played,
    StartPlayer,
    estimate_starts,
    hard_end,
    likely_end,
)
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.cancellation import never
from tenure.terms.durations import SECOND

MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
BOUNDED, EXPECTED, ASSUMED = Certainty.BOUNDED, Certainty.EXPECTED, Certainty.ASSUMED
FIRM: Final = {"priority": 100}
"""Non-preemptible by priority, so that nobody is evicted for those that wait."""


class Expected(NamedTuple):
    """Start in minutes from now; None: it does not start."""

    by: float | None
    certainty: Certainty = Certainty.UNKNOWN
    awaited: tuple[str, ...] = ()


def builder(nodes: int = 1) -> ClusterBuilder:
    made = ClusterBuilder().queue("q", quota=4 * nodes)
    for number in range(nodes):
        made.node(f"n{number}", gpus=4)
    return made


def full(**run: str) -> ClusterBuilder:
    """One node of 4 GPUs on which `r` runs since an hour ago."""
    return builder().running("r", queue="q", node="n0", gpus=4, started_ago="1h", **FIRM, **run)  # type: ignore[arg-type]


def waits(made: ClusterBuilder, uid: str, gpus: int = 4, **options: object) -> ClusterBuilder:
    return made.pending(uid, queue="q", gpus=gpus, **FIRM | options)  # type: ignore[arg-type]


def first_cycle(cluster: Cluster, *asked: str) -> FirstCycle:
    played = PlayedCluster(cluster, default_profile(), BUILT_IN, never)
    return FirstCycle(played, [index(cluster, uid) for uid in asked])


def play(cluster: Cluster, *asked: str, hard: bool = False) -> Played:
    return StartPlayer(first_cycle(cluster, *asked), hard_end if hard else likely_end).play()


def index(cluster: Cluster, uid: str) -> int:
    return next(group.index for group in cluster.pod_groups if group.facts.uid == uid)


def found(cluster: Cluster, played: Played, uid: str) -> Expected:
    start = played.starts.get(index(cluster, uid))
    if start is None:
        return Expected(None)
    names = tuple(cluster.pod_groups[end.pod_group].facts.uid for end in start.awaited)
    return Expected((start.by - cluster.now) / MINUTE, start.certainty, names)


TWO_NODES: Final = (
    builder(2)
    .running("r1", queue="q", node="n0", gpus=4, started_ago="1h", expected_runtime="2h", **FIRM)
    .running("r2", queue="q", node="n1", gpus=4, started_ago="1h", time_limit="3h", **FIRM)
)


@pytest.mark.parametrize(
    ("made", "hard", "expected"),
    [
        pytest.param(waits(builder(), "p"), False, {"p": Expected(0, BOUNDED)}, id="it fits now"),
        pytest.param(
            waits(full(time_limit="3h"), "p"), False, {"p": Expected(120, BOUNDED, ("r",))}, id="time limit"
        ),
        pytest.param(
            waits(full(expected_runtime="2h"), "p"),
            False,
            {"p": Expected(60, EXPECTED, ("r",))},
            id="expected",
        ),
        pytest.param(
            waits(full(expected_runtime="40m"), "p"),
            False,
            {"p": Expected(20, ASSUMED, ("r",))},
            id="overdue",
        ),
        pytest.param(waits(full(), "p"), False, {"p": Expected(None)}, id="no end is known"),
        pytest.param(
            waits(full(expected_runtime="2h", time_limit="3h"), "p"),
            True,
            {"p": Expected(120, BOUNDED, ("r",))},
            id="at the latest by the time limit",
        ),
        pytest.param(
            waits(full(expected_runtime="2h"), "p"),
            True,
            {"p": Expected(None)},
            id="no latest without a limit",
        ),
        pytest.param(
            waits(waits(full(expected_runtime="2h"), "p", expected_runtime="1h"), "then"),
            False,
            {"p": Expected(60, EXPECTED, ("r",)), "then": Expected(120, EXPECTED, ("p", "r"))},
            id="what starts ends too",
        ),
        pytest.param(
            waits(TWO_NODES, "gang", count=2),
            False,
            {"gang": Expected(120, EXPECTED, ("r2", "r1"))},
            id="a gang waits for the last node and has the worst certainty",
        ),
    ],
)
def test_start_is_the_first_cycle_after_the_ends_that_it_needs(
    made: ClusterBuilder, hard: bool, expected: dict[str, Expected]
) -> None:
    cluster = made.build()
    played = play(cluster, *expected, hard=hard)
    assert {uid: found(cluster, played, uid) for uid in expected} == expected
    assert played.is_complete


def test_what_never_ends_is_named() -> None:
    cluster = waits(full(), "p").build()
    assert play(cluster, "p").endless == (index(cluster, "r"),)


def test_place_counts_what_is_ahead_in_its_queue() -> None:
    made = waits(waits(waits(full(), "a", 2), "b", 1), "c", 4)
    made.queue("other").pending("x", queue="other", gpus=3)
    cluster = made.build()
    found = first_cycle(cluster).places
    places = {cluster.pod_groups[pod_group].facts.uid: place for pod_group, place in found.items()}
    a, b = index(cluster, "a"), index(cluster, "b")
    assert places == {
        "a": Place(1, 0),
        "b": Place(2, 2_000, (a,)),
        "c": Place(3, 3_000, (b, a)),
        "x": Place(1, 0),
    }


def test_held_pod_groups_have_no_place() -> None:
    made = waits(full(), "p")
    cluster = waits(made, "kept", held_by=HoldReason.USER).build()
    first = first_cycle(cluster)
    assert first.held == {index(cluster, "kept")}
    assert first.places.keys() == {index(cluster, "p")}


def test_without_names_all_that_wait_are_asked_for() -> None:
    cluster = waits(waits(full(expected_runtime="2h"), "p", expected_runtime="1h"), "then").build()
    assert play(cluster).starts.keys() == {index(cluster, "p"), index(cluster, "then")}


def many(count: int) -> Cluster:
    """Pod groups of one GPU that end one after the other, and one that needs all of their nodes."""
    made = builder(nodes=count // 4)
    for number in range(count):
        options = {"node": f"n{number // 4}", "gpus": 1, "started_ago": "1h", **FIRM}
        made.running(f"r{number:03}", queue="q", expected_runtime=f"{61 + number}m", **options)  # type: ignore[arg-type]
    return waits(made, "p", count=count // 4).build()


def test_later_cycles_are_further_apart_so_that_few_reach_far() -> None:
    cluster = many(200)
    start = play(cluster, "p").starts[index(cluster, "p")]
    last = cluster.now + 200 * MINUTE
    assert start.after <= last <= start.by
    assert (start.by - start.after) * RESOLUTION <= start.by - cluster.now
    assert len(start.awaited) == MAX_AWAITED


@pytest.mark.parametrize(
    ("gpus", "priority", "cycles"),
    [(2, 100, 1), (2, 60, 2), (4, 100, 2)],
    ids=["bound", "bound, and may be evicted", "evicts first"],
)
def test_no_cycle_is_played_after_bindings_alone_r17_22(gpus: int, priority: int, cycles: int) -> None:
    """Unless a cycle could evict what was bound: not the one that bound it."""
    made = builder().running("r", queue="q", node="n0", gpus=2, priority=40, started_ago="1h")
    cluster = waits(made.pending("p", queue="q", gpus=gpus, priority=priority), "never", gpus=8).build()
    played = play(cluster)
    assert played.work.cycles == cycles
    assert played.starts.keys() == {index(cluster, "p")}


def test_cycles_are_bounded() -> None:
    made = full(expected_runtime="2h")
    for number in range(MAX_CYCLES + 1):
        waits(made, f"p{number:02}", expected_runtime="3h")
    cluster = made.build()
    played = play(cluster)
    assert not played.is_complete
    assert 0 < len(played.starts) <= MAX_CYCLES
    assert played.until <= cluster.now + HORIZON


def test_a_stop_ends_the_play() -> None:
    with pytest.raises(CycleStopped):
        estimate_starts(waits(full(), "p").build(), default_profile(), BUILT_IN, stop=lambda: True)


def crowd(count: int) -> Cluster:
    """A quarter of these pod groups can run at a time; all run equally long."""
    made = ClusterBuilder().queue("q", quota=count // 4)
    for number in range(count // 16):
        made.node(f"n{number}", gpus=4)
    for number in range(count):
        waits(made, f"p{number:04}", gpus=1, expected_runtime="1h")
    return made.build()


def test_work_of_a_play_doubles_with_those_that_wait_r17_22() -> None:
    few, many = play(crowd(64)).work, play(crowd(128)).work
    assert few.cycles == many.cycles
    assert many.moved == 2 * few.moved
    assert few.placements < many.placements <= 2 * few.placements


def contested() -> Cluster:
    """Queue `a` has taken what is due to `b`, whose pod groups wait."""
    made = ClusterBuilder().queue("a", quota=0).queue("b", quota=16)
    for number in range(4):
        made.node(f"n{number}", gpus=4)
    for number in range(16):
        options = {"node": f"n{number // 4}", "gpus": 1, "started_ago": "1h", "expected_runtime": "9h"}
        made.running(f"r{number:02}", queue="a", **options)  # type: ignore[arg-type]
    for number in range(8):
        made.pending(f"p{number}", queue="b", gpus=1 + number % 2, expected_runtime="2h")
    return made.build()


@pytest.mark.parametrize("made", [contested, lambda: many(60), lambda: crowd(32)])
def test_cycles_on_kept_data_decide_as_cold_ones_r17_22(
    made: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    warm = play(made())
    run = played_cluster.decide
    monkeypatch.setattr(
        played_cluster, "decide", lambda *args, **options: run(*args, **options | {"warm_start": None})
    )
    assert play(made()) == warm
    assert warm.starts


@pytest.mark.interpreted
def test_searches_of_a_play_are_bounded_and_that_is_told_r17_22(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = contested()
    free = play(cluster)
    assert free.searches_end is None
    assert free.work.simulations > 1
    monkeypatch.setattr(played_cluster, "MAX_PLAYED_SIMULATIONS", 1)
    bounded = play(cluster)
    assert bounded.searches_end == cluster.now + MINUTE


@pytest.mark.parametrize(("priority", "is_played"), [(50, False), (60, True)])
def test_requeue_is_played_if_somebody_may_be_requeued_r17_22(priority: int, is_played: bool) -> None:
    made = builder().running("r", queue="q", node="n0", gpus=4, started_ago="1h", expected_runtime="2h")
    cluster = made.pending("p", queue="q", gpus=4, priority=priority).build()
    played = PlayedCluster(cluster, default_profile(), BUILT_IN, never)
    assert ("requeue" in played._profile.actions) == is_played
