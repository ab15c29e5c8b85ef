"""Promises of groups in flight: who gets the room, when, and what ends a promise."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tenure.solver.framework.statement import Statement
from tenure.solver.model.decision import InFlightResult, OutcomeKind, PatchKind
from tenure.solver.model.duration import parse_duration
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.reason import ReasonCode, Rejection
from tenure.solver.registry import default_profile
from tenure.solver.search.place import Placer
from tenure.solver.testing import NOW, ClusterBuilder

from tests.unit.in_flight.told import told

KEPT, REDEEMED = InFlightResult.KEPT, InFlightResult.REDEEMED
CANCELLED = InFlightResult.CANCELLED
RELEASING = TaskStatus.RELEASING


def one_node(gpus: int = 1) -> ClusterBuilder:
    return ClusterBuilder().node("n", gpus=gpus).queue("q")


def promised(builder: ClusterBuilder, **options: str) -> ClusterBuilder:
    """`new` waits for the room of `old` on the node."""
    builder.pending("new", queue="q", gpus=1, priority=75)
    return builder.in_flight(
        "f",
        beneficiary="new",
        evicts={"old-0": "n"},
        holds={"new-0": "n"},
        ends_in=options.get("ends_in", "5m"),
    )


def test_room_is_kept_while_the_victim_is_seen_to_terminate() -> None:
    found = told(promised(one_node().pods("old", RELEASING, node="n", queue="q", gpus=1)))
    assert found.results == {"f": (KEPT, ReasonCode.VICTIMS_EVICTED)}
    assert (found.kept, found.held, found.bound, found.evicted) == ({"new-0": "n"}, {}, {}, [])


def test_pod_under_eviction_that_still_runs_counts_as_terminating() -> None:
    found = told(promised(one_node().running("old", node="n", queue="q", gpus=1, started_ago="1h")))
    assert found.results == {"f": (KEPT, ReasonCode.VICTIMS_EVICTED)}
    assert (found.kept, found.evicted) == ({"new-0": "n"}, [])


def test_room_that_is_free_is_given_to_whom_it_was_promised() -> None:
    builder = promised(one_node()).pending("other", queue="q", gpus=1, priority=90, created_ago="9h")
    found = told(builder)
    assert found.results == {"f": (REDEEMED, ReasonCode.ALLOCATED)}
    assert (found.bound, found.kept) == ({"new-0": "n"}, {})
    (group,) = (group for group in found.decision.groups if group.bindings)
    assert (group.action, group.in_flight) == ("redeem", "f")
    assert PatchKind.LAST_START_TIME in [patch.kind for patch in group.patches]


def test_without_the_promise_it_goes_to_another() -> None:
    builder = one_node().pending("new", queue="q", gpus=1, priority=75)
    found = told(builder.pending("other", queue="q", gpus=1, priority=90))
    assert found.bound == {"other-0": "n"}


def test_kept_promise_is_no_victim_and_has_an_outcome() -> None:
    builder = promised(one_node().pods("old", RELEASING, node="n", queue="q", gpus=1))
    found = told(builder.pending("other", queue="q", gpus=1, priority=90))
    assert found.kept == {"new-0": "n"}
    kinds = {each.pod_group: (each.kind, each.held) for each in found.decision.outcomes}
    assert kinds[0] == (OutcomeKind.WAITING_FOR_VICTIMS, 1)
    assert found.decision.next_wake == NOW + parse_duration("5m")


@pytest.mark.parametrize("revoke", [False, True])
def test_promise_in_flight_is_not_taken_back_whatever_the_profile_says(revoke: bool) -> None:
    profile = default_profile()
    profile = replace(profile, options=replace(profile.options, revoke_promises=revoke))
    builder = promised(one_node()).pending("other", queue="q", gpus=1, priority=90)
    found = told(builder, profile)
    assert (found.bound, found.evicted) == ({"new-0": "n"}, [])


GONE: dict[str, tuple[Callable[[], ClusterBuilder], ReasonCode]] = {
    "somebody is there whom nobody asked to leave": (
        lambda: promised(one_node().running("third", node="n", queue="q", gpus=1, priority=90)),
        ReasonCode.NO_ROOM,
    ),
    "its node is cordoned": (
        lambda: promised(ClusterBuilder().node("n", gpus=1, unready="cordoned").queue("q")),
        ReasonCode.NO_NODE_MATCHES,
    ),
    "its node is gone": (
        lambda: promised(ClusterBuilder().node("m", gpus=1).queue("q")),
        ReasonCode.GONE,
    ),
    "its queue would exceed its limit": (
        lambda: promised(
            ClusterBuilder()
            .node("n", gpus=1)
            .node("m", gpus=1)
            .queue("q", limit=1)
            .running("third", node="m", queue="q", gpus=1, priority=90)
        ),
        ReasonCode.OVER_LIMIT,
    ),
    "a part of its gang is gone": (
        lambda: (
            one_node(2)
            .pending("new", queue="q", gpus=1, min_member=2)
            .in_flight("f", beneficiary="new", holds={"new-0": "n", "new-1": "n"})
        ),
        ReasonCode.NOT_READY,
    ),
    "its pod group is gone": (
        lambda: one_node().in_flight("f", beneficiary="new", holds={"new-0": "n"}),
        ReasonCode.GONE,
    ),
    "its queue is gone": (
        lambda: (
            one_node()
            .pending("new", queue="gone", gpus=1)
            .in_flight("f", beneficiary="new", holds={"new-0": "n"})
        ),
        ReasonCode.INVALID_QUEUE,
    ),
    "its pod is held back": (
        lambda: (
            one_node()
            .pending("new", queue="q", gpus=1, blocked_by="its volume does not exist")
            .in_flight("f", beneficiary="new", holds={"new-0": "n"})
        ),
        ReasonCode.BLOCKED,
    ),
}


@pytest.mark.parametrize("case", GONE)
def test_promise_ends_when(case: str) -> None:
    build, code = GONE[case]
    found = told(build())
    assert found.results == {"f": (CANCELLED, code)}
    assert found.kept == {}


def test_victims_of_a_cancelled_group_stay() -> None:
    """The group's promise on n1 has no room, so `old` need not leave n2 for it."""
    builder = ClusterBuilder().node("n1", gpus=1).node("n2", gpus=1).queue("q")
    builder.running("third", node="n1", queue="q", gpus=1, priority=90)
    builder.running("old", node="n2", queue="q", gpus=1, priority=90)
    builder.pending("new", queue="q", gpus=1, count=2, min_member=2, priority=75)
    builder.in_flight("f", beneficiary="new", evicts={"old-0": "n2"}, holds={"new-0": "n1", "new-1": "n2"})
    found = told(builder)
    assert found.results == {"f": (CANCELLED, ReasonCode.NO_ROOM)}
    assert found.decision.queues[0].allocated_before[2] == 2000
    assert (found.kept, found.held) == ({}, {})


def test_who_rests_on_a_cancelled_group_is_cancelled_too() -> None:
    """`b` was promised what `a` makes free; with `a` cancelled, `old` stays, and nothing is free."""
    builder = ClusterBuilder().node("n1", gpus=1).node("n2", gpus=2).queue("q")
    builder.running("third", node="n1", queue="q", gpus=1, priority=90)
    builder.running("old", node="n2", queue="q", gpus=2, priority=90)
    builder.pending("one", queue="q", gpus=1, count=2, min_member=2, priority=75)
    builder.pending("two", queue="q", gpus=1, priority=75)
    builder.in_flight("a", beneficiary="one", evicts={"old-0": "n2"}, holds={"one-0": "n1", "one-1": "n2"})
    builder.in_flight("b", beneficiary="two", holds={"two-0": "n2"}, ends_in="4m")
    found = told(builder)
    assert found.results == {"a": (CANCELLED, ReasonCode.NO_ROOM), "b": (CANCELLED, ReasonCode.NO_ROOM)}


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a")])
def test_of_two_that_claim_the_same_room_the_one_that_ends_first_wins(first: str, second: str) -> None:
    builder = one_node().pending("a", queue="q", gpus=1).pending("b", queue="q", gpus=1)
    for name in (first, second):
        builder.in_flight(
            f"f-{name}", beneficiary=name, holds={f"{name}-0": "n"}, ends_in="1m" if name == first else "2m"
        )
    found = told(builder)
    assert found.bound == {f"{first}-0": "n"}
    assert found.results == {
        f"f-{first}": (REDEEMED, ReasonCode.ALLOCATED),
        f"f-{second}": (CANCELLED, ReasonCode.NO_ROOM),
    }


def test_of_two_that_end_together_the_one_with_the_smaller_id_wins() -> None:
    builder = one_node().pending("a", queue="q", gpus=1).pending("b", queue="q", gpus=1)
    builder.in_flight("1", beneficiary="b", holds={"b-0": "n"}).in_flight(
        "2", beneficiary="a", holds={"a-0": "n"}
    )
    assert told(builder).bound == {"b-0": "n"}


def test_pod_is_promised_room_once() -> None:
    builder = one_node().node("m", gpus=1).pending("a", queue="q", gpus=1)
    builder.in_flight("1", beneficiary="a", holds={"a-0": "n"}).in_flight(
        "2", beneficiary="a", holds={"a-0": "m"}
    )
    found = told(builder)
    assert found.bound == {"a-0": "n"}
    assert found.results["2"] == (CANCELLED, ReasonCode.NO_ROOM)


def gang(minimum: int) -> ClusterBuilder:
    """Two pods: one was promised room that is free, one room that is not."""
    builder = one_node().node("m", gpus=1).pods("old", RELEASING, node="n", queue="q", gpus=1)
    builder.pending("new", queue="q", gpus=1, count=2, min_member=minimum, priority=75)
    return builder.in_flight(
        "f", beneficiary="new", evicts={"old-0": "n"}, holds={"new-0": "n", "new-1": "m"}
    )


def test_gang_starts_as_a_whole_r3_32() -> None:
    found = told(gang(minimum=2))
    assert (found.bound, found.kept) == ({}, {"new-0": "n", "new-1": "m"})
    assert found.results == {"f": (KEPT, ReasonCode.VICTIMS_EVICTED)}


def test_minimum_starts_and_surplus_waits_r3_32() -> None:
    found = told(gang(minimum=1))
    assert (found.bound, found.kept) == ({"new-1": "m"}, {"new-0": "n"})
    assert found.results == {"f": (KEPT, ReasonCode.VICTIMS_EVICTED)}


def test_gang_in_two_groups_starts_as_a_whole() -> None:
    """Each group alone would do; each of them would wait for the other without an end."""
    builder = one_node(2).pending("new", queue="q", gpus=1, count=2, min_member=2)
    builder.in_flight("1", beneficiary="new", holds={"new-0": "n"})
    found = told(builder.in_flight("2", beneficiary="new", holds={"new-1": "n"}))
    assert found.bound == {"new-0": "n", "new-1": "n"}
    starts = [p for g in found.decision.groups for p in g.patches if p.kind is PatchKind.LAST_START_TIME]
    assert len(starts) == 1


def test_half_of_a_gang_is_promised_its_room_until_the_rest_has_some() -> None:
    builder = one_node(1).pending("new", queue="q", gpus=1, count=2, min_member=2)
    found = told(builder.in_flight("f", beneficiary="new", holds={"new-0": "n"}))
    assert (found.bound, found.kept) == ({}, {"new-0": "n"})


def moving(builder: ClusterBuilder, pod: str = "mover-0") -> ClusterBuilder:
    """A pod of `mover` makes way on n for `big`, and goes to m."""
    builder.node("m", gpus=1).pending("big", queue="q", gpus=2)
    return builder.in_flight(
        "f",
        beneficiary="big",
        action="consolidation",
        evicts={pod: "n"},
        holds={"big-0": "n", pod: "m"},
    )


@pytest.mark.parametrize("status", [TaskStatus.RUNNING, RELEASING])
def test_pod_that_moves_is_promised_its_new_room_while_it_leaves(status: TaskStatus) -> None:
    found = told(moving(one_node(2).pods("mover", status, node="n", queue="q", gpus=1, started_ago="1h")))
    assert found.kept == {"big-0": "n", "mover-0": "m"}
    assert found.evicted == []
    assert found.results == {"f": (KEPT, ReasonCode.VICTIMS_EVICTED)}


def test_successor_of_a_pod_that_moved_gets_the_room_it_was_promised() -> None:
    builder = one_node(2).pending("mover", queue="q", gpus=1, nominated_node="n")
    found = told(moving(builder, "mover-9"))
    assert found.bound == {"big-0": "n", "mover-0": "m"}
    assert found.results == {"f": (REDEEMED, ReasonCode.ALLOCATED)}


def test_successor_has_no_promise_of_its_own() -> None:
    builder = moving(one_node(2).pending("mover", queue="q", gpus=1, count=2, min_member=1), "mover-9")
    found = told(builder.node("k", gpus=1).in_flight("g", beneficiary="mover", holds={"mover-0": "k"}))
    assert found.bound == {"big-0": "n", "mover-0": "k", "mover-1": "m"}


def test_group_waits_for_a_successor_that_is_not_there_yet() -> None:
    found = told(moving(one_node(2).pod_group("mover", queue="q"), "mover-9"))
    assert found.bound == {"big-0": "n"}
    assert found.results == {"f": (KEPT, ReasonCode.PIPELINED)}


def test_pod_that_left_and_finds_its_new_room_taken_does_not_take_others_down() -> None:
    builder = moving(one_node(2).pending("mover", queue="q", gpus=1), "mover-9")
    found = told(builder.running("third", node="m", queue="q", gpus=1))
    assert found.bound == {"big-0": "n"}
    assert found.results == {"f": (REDEEMED, ReasonCode.ALLOCATED)}


def test_pod_does_not_leave_when_its_new_room_is_taken() -> None:
    builder = moving(one_node(2).running("mover", node="n", queue="q", gpus=1, started_ago="0s"))
    found = told(builder.running("third", node="m", queue="q", gpus=1, priority=90))
    assert found.results == {"f": (CANCELLED, ReasonCode.NO_ROOM)}
    assert found.kept == {}


def test_promised_device_is_kept_for_its_pod() -> None:
    builder = one_node(2).running("a", node="n", queue="q", gpus=0.5, gpu_groups=["g1"])
    builder.running("b", node="n", queue="q", gpus=0.5, gpu_groups=["g2"]).pending("new", queue="q", gpus=0.5)
    builder.in_flight("f", beneficiary="new", holds={"new-0": "n"}, gpu_groups={"new-0": ["g2"]})
    (group,) = (group for group in told(builder).decision.groups if group.bindings)
    assert group.bindings[0].gpu_groups == ("g2",)


def test_other_devices_of_the_node_do_when_the_promised_ones_are_taken() -> None:
    builder = one_node(2).running("a", node="n", queue="q", gpus=0.5, gpu_groups=["g1"])
    builder.running("b", node="n", queue="q", gpus=0.9, gpu_groups=["g2"]).pending("new", queue="q", gpus=0.5)
    builder.in_flight("f", beneficiary="new", holds={"new-0": "n"}, gpu_groups={"new-0": ["g2"]})
    (group,) = (group for group in told(builder).decision.groups if group.bindings)
    assert group.bindings[0].gpu_groups == ("g1",)


def test_pods_alike_are_not_tried_one_by_one_where_none_of_them_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, place_again = Counter[int](), Placer.place_again

    def counted(placer: Placer, statement: Statement, task: int, *where: Any) -> Rejection | None:
        tried[task] += 1
        return place_again(placer, statement, task, *where)

    monkeypatch.setattr(Placer, "place_again", counted)
    builder = (
        one_node().running("other", node="n", queue="q", gpus=1).pending("moved", queue="q", gpus=1, count=9)
    )
    told(builder.in_flight("f", beneficiary="other", holds={"moved-before": "n"}))
    assert 0 < tried.total() <= 2, "once in the simulation, once for good"
