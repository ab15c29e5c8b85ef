"""Rules of reservations one by one (semantics R17.3-R17.15)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.caller_state import (
    PLANNED_STARTS,
    Certainty,
    InFlightGroup,
    PlannedPods,
    PlannedStart,
    StartDelay,
)
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.snapshot_warning import WarningCode
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.plugin_api.traits import Expiry, SameFor, Traits
from tenure.solver.registry import BUILT_IN, check_profile, default_profile
from tenure.solver.testing import ClusterBuilder

from tests.solver.reservations.play import MINUTE, Play, profile_with

FIRM: Final = Preemptibility.NON_PREEMPTIBLE
SOFT: Final = Preemptibility.PREEMPTIBLE


def busy(limit: str = "2h", **options: str) -> ClusterBuilder:
    """A node of 4 GPUs on which one pod group of 2 runs since an hour."""
    builder = ClusterBuilder().node("n", gpus=4).queue("q")
    return builder.running(
        "r", queue="q", gpus=2, node="n", started_ago="1h", time_limit=limit, preemptibility=FIRM, **options
    )


def test_device_is_whole_again_after_its_last_part_r17_5() -> None:
    builder = ClusterBuilder().node("n", gpus=2).queue("q")
    for name, limit in (("r0", "90m"), ("r1", "2h")):
        device = {"gpu_groups": (f"n/{name}",), "started_ago": "1h", "time_limit": limit}
        builder.running(name, queue="q", gpus=0.5, node="n", preemptibility=FIRM, **device)  # type: ignore[arg-type]
    builder.pending("big", queue="q", gpus=2, preemptibility=FIRM)
    play = Play(builder.build(), profile_with(maxFraction="1"))
    play.cycle(0)
    assert play.start("big") == (60, "BOUNDED")


@pytest.mark.parametrize("resolution", ["0s", "1m"])
def test_known_plan_is_kept_at_its_own_time_r17_6(resolution: str) -> None:
    builder = busy().pending("big", queue="q", gpus=4, preemptibility=FIRM)
    play = Play(builder.build(), profile_with(maxFraction="1", resolution=resolution))
    for minutes in (0, 1):
        play.cycle(minutes)
        assert play.start("big") == (60, "BOUNDED")


def test_fair_shares_at_the_planned_start_decide_r17_11_e17_4() -> None:
    builder = ClusterBuilder().queue("a", quota=0).queue("b", quota=0)
    for name in ("n1", "n2", "n3", "n4"):
        builder.node(name, gpus=4)
    builder.running("r1", queue="a", gpus=4, node="n1", preemptibility=SOFT)
    for name, node in (("r2", "n2"), ("r3", "n3")):
        limit = {"started_ago": "1h", "time_limit": "3h"}
        builder.running(name, queue="a", gpus=2, node=node, preemptibility=SOFT, **limit)  # type: ignore[arg-type]
    builder.pending("big", queue="a", gpus=4, count=3, preemptibility=SOFT)
    builder.pending("b", queue="b", gpus=4, preemptibility=SOFT)
    play = Play(builder.build(), profile_with(maxFraction="1"), absent=["b"])
    play.cycle(0)
    assert (play.start("big"), set(play.nodes("big"))) == ((120, "BOUNDED"), {"n2", "n3", "n4"})
    play.arrive("b")
    play.cycle(1)
    assert "b" in play.running()
    assert play.start("big") is None


STREAMS: Final[Mapping[str, tuple[bool, dict[str, str], Preemptibility, int, int]]] = {
    "nobody reserves": (False, {"time_limit": "1h"}, FIRM, 100, 0),
    "1h": (True, {"time_limit": "1h"}, FIRM, 60, 210),
    "20m": (True, {"time_limit": "20m"}, FIRM, 60, 90),
    "preemptible": (True, {}, SOFT, 61, 0),  # one cycle may start more, one evicts, one binds
}
"""With reservations or not, what arrives, when the large one runs at the latest, and idle GPU-minutes."""


@pytest.mark.parametrize(("reserves", "limit", "mode", "latest", "idle"), STREAMS.values(), ids=STREAMS)
def test_stream_of_small_pod_groups_does_not_starve_a_large_one_e17_2(
    reserves: bool, limit: dict[str, str], mode: Preemptibility, latest: int, idle: int
) -> None:
    builder = ClusterBuilder().node("n", gpus=8).queue("q")
    ends = [7.5 * number for number in range(1, 9)]
    for end in ends:
        options = {"started_ago": f"{60 - end}m", "time_limit": "1h"}
        builder.running(f"r{end}", queue="q", gpus=1, node="n", preemptibility=FIRM, **options)  # type: ignore[arg-type]
    builder.pending("big", queue="q", gpus=8, preemptibility=FIRM)
    arrivals = {6.0 * number: f"s{number:02}" for number in range(1, 11)}
    for name in arrivals.values():
        builder.pending(name, queue="q", gpus=1, preemptibility=mode, **limit)  # type: ignore[arg-type]
    profile = profile_with() if reserves else default_profile()
    play = Play(builder.build(), profile, absent=list(arrivals.values()))
    events = {time + more for time in (0, *ends, *arrivals) for more in (0, 20, 40)}
    free, found, last = 0, 0.0, 0.0
    for minute in sorted({60.5, 61, *events}):
        found, last = found + free * (minute - last), minute
        if minute in arrivals:
            play.arrive(arrivals[minute])
        play.cycle(minute)
        if "big" in play.running() or minute == latest:
            break
        free = 8 - len(play.running()) if minute < 60 else 0
    assert ("big" in play.running(), found) == (reserves, idle)


def test_pod_group_waits_before_it_gets_a_reservation_r17_3() -> None:
    builder = busy().pending("big", queue="q", gpus=4, created_ago="2m", preemptibility=FIRM)
    play = Play(builder.build(), profile_with(minWait="5m"))
    result = play.cycle(0)
    assert play.start("big") is None
    assert result.next_wake_time == play.cluster.now + 3 * 60 * 10**9
    play.cycle(3)
    assert play.start("big") == (60, "BOUNDED")


def test_wait_is_no_event_while_all_reservations_are_taken_r17_3() -> None:
    builder = busy().pending("first", queue="q", gpus=4, created_ago="1h", preemptibility=FIRM)
    builder.pending("second", queue="q", gpus=4, created_ago="2m", preemptibility=FIRM)
    for total, wake_time in (("2", 3), ("1", 60)):
        play = Play(builder.build(), profile_with(minWait="5m", total=total, perQueue="2"))
        play.cycle(0)
        result = play.cycle(0)
        assert play.start("first") == (60, "BOUNDED")
        assert result.next_wake_time == play.cluster.now + wake_time * MINUTE


def test_number_of_reservations_is_limited_by_queue_and_in_all_r17_3() -> None:
    builder = ClusterBuilder().node("n", gpus=4).queue("q").queue("p")
    builder.running("r", queue="q", gpus=4, node="n", started_ago="1h", time_limit="2h", preemptibility=SOFT)
    for name in ("a", "b"):
        for queue in ("q", "p"):
            builder.pending(f"{queue}{name}", queue=queue, gpus=1, time_limit="1h", preemptibility=SOFT)
    for arguments, expected in (({}, 2), ({"total": "1"}, 1), ({"perQueue": "2", "maxFraction": "1"}, 4)):
        play = Play(builder.build(), profile_with(**arguments))
        play.cycle(0)
        assert len(play.cluster.carried.rows(PLANNED_STARTS)) == expected


def test_rows_beyond_the_number_in_all_are_released_r17_3() -> None:
    builder = busy()
    for name in ("a", "b"):
        builder.pending(name, queue="q", gpus=4, time_limit="1h", preemptibility=FIRM)
    play = Play(builder.build(), profile_with(perQueue="2", maxFraction="1"))
    play.cycle(0)
    assert [row.pod_group for row in play.cluster.carried.rows(PLANNED_STARTS)] == ["a", "b"]
    fewer = Play(play.cluster, profile_with(perQueue="2", maxFraction="1", total="1"))
    fewer.cycle(0)
    assert [row.pod_group for row in fewer.cluster.carried.rows(PLANNED_STARTS)] == ["a"]


def test_reservations_but_the_oldest_take_a_part_of_the_gpus_r17_7() -> None:
    builder = busy().node("m", gpus=4)
    builder.running("s", queue="q", gpus=4, node="m", started_ago="1h", time_limit="2h", preemptibility=FIRM)
    builder.pending("big", queue="q", gpus=4, preemptibility=FIRM)
    builder.pending("next", queue="q", gpus=4, preemptibility=FIRM)
    for fraction, expected in (("0.25", ["big"]), ("0.5", ["big", "next"])):
        play = Play(builder.build(), profile_with(perQueue="2", maxFraction=fraction))
        play.cycle(0)
        assert [row.pod_group for row in play.cluster.carried.rows(PLANNED_STARTS)] == expected


def test_plan_is_kept_until_it_is_not_feasible_and_then_says_why_r17_6() -> None:
    play = Play(busy().pending("big", queue="q", gpus=4, preemptibility=FIRM).build(), profile_with())
    play.cycle(0)
    first = play.planned_start("big")
    play.cycle(10)
    assert play.planned_start("big") == first
    play.cycle(60, ends_by_limits=False)
    row = play.planned_start("big")
    assert row is not None
    assert (row.certainty, row.delayed_by) == (Certainty.ASSUMED, StartDelay.OVERRUN)
    play.cycle(61)
    assert play.running() == ["big"]


def test_lost_node_is_the_reason_of_a_later_start_r17_6() -> None:
    play = Play(busy().pending("big", queue="q", gpus=4, preemptibility=FIRM).build(), profile_with())
    play.cycle(0)
    (row,) = play.cluster.carried.rows(PLANNED_STARTS)
    lost = row._replace(places=(row.places[0]._replace(node=NOWHERE),), start=play.cluster.now + 1)
    play.cluster = play.cluster.carrying(PLANNED_STARTS, (lost,))
    result = play.cycle(0)
    assert [each.code for each in result.warnings if each.code is WarningCode.INVALID_PLANNED_START]
    assert play.start("big") == (60, "BOUNDED")
    assert play.cluster.carried.rows(PLANNED_STARTS)[0].delayed_by is StartDelay.NODE_LOST


def test_owner_that_precedes_in_its_queue_need_not_give_way_r17_11() -> None:
    builder = busy().pending("big", queue="q", gpus=4, preemptibility=FIRM)
    builder.pending("urgent", queue="q", gpus=2, priority=90, preemptibility=FIRM)
    builder.pending("late", queue="q", gpus=2, preemptibility=FIRM)
    play = Play(builder.build(), profile_with(), absent=["urgent", "late"])
    play.cycle(0)
    play.arrive("urgent", "late")
    play.cycle(1)
    assert play.running() == ["r", "urgent"]


def test_capacity_is_lent_only_if_a_guard_lets_the_pod_group_go_in_time_r17_8() -> None:
    builder = ClusterBuilder().node("n", gpus=4)
    builder.queue("q", preempt_min_runtime="90m").queue("p", preempt_min_runtime="30m")
    builder.running("r", queue="q", gpus=2, node="n", started_ago="1h", time_limit="2h", preemptibility=FIRM)
    builder.pending("big", queue="q", gpus=4, preemptibility=SOFT)
    builder.pending("guarded", queue="q", gpus=1, preemptibility=SOFT)
    builder.pending("free", queue="p", gpus=1, preemptibility=SOFT)
    play = Play(builder.build(), profile_with(), absent=["guarded", "free"])
    play.cycle(0)
    assert play.start("big") == (60, "BOUNDED")
    play.arrive("guarded", "free")
    play.cycle(1)
    assert play.running() == ["free", "r"]


class KeepByName:
    """A guard of a stranger, who reads what no built-in guard reads."""

    TRAITS = Traits(verdicts=SameFor.ANY, expiry=Expiry.NEVER)

    def __init__(self, context: PluginContext, _: Mapping[str, str]) -> None:
        self._groups = context.cluster.pod_groups

    def guard(self, _: Action, __: int, victim: int) -> GuardVerdict:
        is_kept = self._groups[victim].facts.name.startswith("keep")
        return GuardVerdict(ProtectionScope.ALL if is_kept else ProtectionScope.NOTHING, "its name")


@pytest.mark.parametrize("order", [("free", "keep"), ("keep", "free")])
def test_guard_of_another_package_is_asked_about_each_pod_group_r17_8(order: tuple[str, ...]) -> None:
    builder = ClusterBuilder().node("n", gpus=4).queue("q")
    builder.running("r", queue="q", gpus=2, node="n", started_ago="1h")
    builder.pending("owner", queue="q", gpus=4, created_ago="5h", priority=60)
    for place, name in enumerate(order):
        builder.pending(name, queue="q", gpus=1, created_ago=f"{3 - place}h")
    registry = Registry(actions=BUILT_IN.actions, plugins={**BUILT_IN.plugins, "names": KeepByName})
    plain = profile_with(maxFraction="1")
    profile = replace(plain, plugins=(*plain.plugins, PluginConfig("names")))
    cluster = builder.build()
    made = answer(cluster, replace(profile, actions=("reservation",)), registry=registry)
    cluster = cluster.carrying(PLANNED_STARTS, made.planned_starts or ())
    decision = answer(cluster, profile, registry=registry)
    bound = {each.task for group in decision.groups for each in group.bindings}
    names = {cluster.pod_groups[cluster.tasks[task].pod_group].facts.name for task in bound}
    assert (len(cluster.carried.rows(PLANNED_STARTS)), names) == (1, {"free"})


def test_nothing_is_lent_without_the_action_that_takes_it_back_r17_13() -> None:
    builder = busy().pending("big", queue="q", gpus=4, preemptibility=FIRM)
    builder.pending("small", queue="q", gpus=1, preemptibility=SOFT)
    for actions, expected in ((("allocate",), ["r"]), (("allocate", "reservation"), ["r", "small"])):
        play = Play(builder.build(), profile_with(actions), absent=["small"])
        play.cycle(0)
        play.arrive("small")
        play.cycle(1)
        assert play.running() == expected


def test_patient_pod_group_evicts_no_others_r17_14() -> None:
    builder = busy()
    builder.running("low", queue="q", gpus=2, node="n", priority=10, preemptibility=SOFT)
    builder.pending("high", queue="q", gpus=2, priority=90, preemptibility=FIRM)
    for patience, evicted in (("0s", True), ("2h", False)):
        profile = profile_with(("allocate", "reservation", "preempt"), patience=patience)
        play = Play(builder.build(), profile)
        row = PlannedStart(
            "high",
            play.cluster.now,
            play.cluster.now,
            0,
            play.cluster.now + 3_600 * 10**9,
            Certainty.BOUNDED,
            (PlannedPods(0, play.cluster.tasks[0].shape.index, 1),),
        )
        play.cluster = play.cluster.carrying(PLANNED_STARTS, (row,))
        result = play.cycle(0)
        assert any(group.evictions for group in result.groups) is evicted


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (PlannedStart("gone", 0, 0), "pod_group"),
        (PlannedStart("big", 0, 0, places=(PlannedPods(NOWHERE, 0, 1),)), "pods.node"),
        (PlannedStart("big", 0, 0, places=(PlannedPods(0, NOWHERE, 1),)), "pods.shape"),
    ],
)
def test_invalid_planned_start_is_ignored_with_a_warning_r17_7(row: PlannedStart, field: str) -> None:
    cluster = busy().pending("big", queue="q", gpus=4, preemptibility=FIRM).build()
    good = PlannedStart("big", cluster.now, cluster.now)
    rows = (row,) if row.pod_group == "big" else (good, row)
    result = answer(cluster.carrying(PLANNED_STARTS, rows), profile_with())
    (warning,) = [each for each in result.warnings if each.code is WarningCode.INVALID_PLANNED_START]
    assert warning.detail.startswith(f"planned_starts.{field}: ignored 1 planned start ")
    assert [each.pod_group for each in result.planned_starts or ()] == ["big"]


def test_second_planned_start_of_a_pod_group_is_ignored_with_a_warning_r17_7() -> None:
    cluster = busy().pending("big", queue="q", gpus=4, preemptibility=FIRM).build()
    row = PlannedStart("big", cluster.now - 5, cluster.now)
    result = answer(cluster.carrying(PLANNED_STARTS, (row, row._replace(since=1))), profile_with())
    assert [each.since for each in result.planned_starts or ()] == [cluster.now - 5]
    assert any("that has another one" in each.detail for each in result.warnings)


@pytest.mark.parametrize(
    ("argument", "text"),
    [("perQueue", "0"), ("total", "many"), ("maxFraction", "1.5"), ("horizon", "0s"), ("maxHold", "-1h")],
)
def test_invalid_argument_is_a_violation_r17_3(argument: str, text: str) -> None:
    profile = default_profile()
    plugins = (*profile.plugins, PluginConfig("reservation", {argument: text}))
    ((path, _),) = check_profile(replace(profile, plugins=plugins))
    assert path == f"plugins[{len(profile.plugins)}].arguments.{argument}"


def test_profile_without_the_plugin_plans_nothing_and_ignores_rows() -> None:
    cluster = busy().pending("big", queue="q", gpus=4, preemptibility=FIRM).build()
    row = PlannedStart("big", cluster.now, cluster.now, places=(PlannedPods(0, 0, 1),))
    assert answer(cluster, default_profile()).planned_starts is None
    assert answer(cluster.carrying(PLANNED_STARTS, (row,)), default_profile()).groups == ()


def test_owner_starts_earlier_than_planned_and_before_others_r17_12() -> None:
    builder = busy().queue("p").pending("big", queue="q", gpus=4, preemptibility=FIRM)
    builder.pending("other", queue="p", gpus=4, time_limit="1h", preemptibility=FIRM)
    play = Play(builder.build(), profile_with(), absent=["other"])
    play.cycle(0)
    assert play.start("big") == (60, "BOUNDED")
    play.end("r")
    play.arrive("other")
    play.cycle(5)
    assert play.running() == ["big"]


def test_only_the_minimum_is_reserved_r17_4() -> None:
    builder = busy().pending("elastic", queue="q", gpus=4, count=3, min_member=1, preemptibility=SOFT)
    play = Play(builder.build(), profile_with())
    play.cycle(0)
    assert play.nodes("elastic") == {"n": 1}


@pytest.mark.parametrize(("horizon", "expected"), [("2h", (60, "BOUNDED")), ("30m", None)])
def test_ends_behind_the_horizon_are_not_planned_on_r17_5(
    horizon: str, expected: tuple[float, str] | None
) -> None:
    builder = busy().pending("big", queue="q", gpus=4, preemptibility=FIRM)
    play = Play(builder.build(), profile_with(horizon=horizon))
    play.cycle(0)
    assert play.start("big") == expected


def test_later_plans_leave_earlier_ones_their_places_r17_5() -> None:
    builder = busy().pending("first", queue="q", gpus=4, time_limit="3h", preemptibility=FIRM)
    builder.pending("second", queue="q", gpus=4, preemptibility=FIRM)
    play = Play(builder.build(), profile_with(perQueue="2", maxFraction="1"))
    play.cycle(0)
    assert (play.start("first"), play.start("second")) == ((60, "BOUNDED"), (240, "BOUNDED"))


def test_certainty_is_the_worst_of_the_ends_that_are_needed_r17_2() -> None:
    for expected, certainty in ((None, "BOUNDED"), ("90m", "EXPECTED")):
        options = {} if expected is None else {"expected_runtime": expected}
        builder = busy("2h", **options).pending("big", queue="q", gpus=4, preemptibility=FIRM)
        play = Play(builder.build(), profile_with())
        play.cycle(0)
        assert play.start("big") == (60 if expected is None else 30, certainty)


def test_beneficiary_of_a_lapsed_group_gets_a_reservation_at_once_r17_15() -> None:
    builder = busy().pending("big", queue="q", gpus=4, created_ago="1m", preemptibility=FIRM)
    for has_group in (True, False):
        play = Play(builder.build(), profile_with(minWait="1h"))
        big = next(group.index for group in play.cluster.pod_groups if group.facts.uid == "big")
        group = InFlightGroup("g", "reclaim", big, play.cluster.now - 1)
        play.cluster = replace(play.cluster, in_flight=(group,) if has_group else ())
        play.cycle(0)
        assert (play.start("big") is not None) is has_group


@pytest.mark.parametrize("has_reservation", [True, False])
def test_free_capacity_that_is_reserved_counts_in_the_order_of_queues_r17_4(has_reservation: bool) -> None:
    builder = ClusterBuilder().queue("a", quota=0).queue("b", quota=0)
    builder.node("n1", gpus=4).node("n2", gpus=2, labels={"kind": "small"})
    builder.running("r", queue="a", gpus=1, node="n1", time_limit="2h", preemptibility=SOFT)
    builder.running("other", queue="b", gpus=1, node="n2", preemptibility=SOFT)
    builder.pending("big", queue="a", gpus=4, preemptibility=SOFT)
    for queue in ("a", "b"):  # both queues use one GPU, and one is left
        builder.pending(
            f"small-{queue}",
            queue=queue,
            gpus=1,
            priority=120,
            preemptibility=SOFT,
            node_selector={"kind": "small"},
        )
    minimum = "0s" if has_reservation else "1000h"
    play = Play(builder.build(), profile_with(minWait=minimum), absent=["small-a", "small-b"])
    play.cycle(0)
    assert (play.start("big") is not None) is has_reservation
    play.arrive("small-a", "small-b")
    play.cycle(1)
    assert play.running() == ["other", "r", "small-b" if has_reservation else "small-a"]
