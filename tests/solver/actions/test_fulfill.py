"""Fulfillment of reservations: which pods are bound, when, and what cancels a reservation."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework.statement import Statement
from tenure.solver.model.constraints import TopologySpread
from tenure.solver.model.decision import InFlightGroupState, OutcomeKind, PatchKind
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.registry import default_profile
from tenure.solver.search.placer import Placer
from tenure.solver.testing import NOW, ClusterBuilder
from tenure.solver.testing.options import PodOptions
from tenure.terms.durations import parse_duration
from tenure.terms.reasons import ReasonCode

from tests.solver.assertions import run_in_flight_cycle

IN_FLIGHT, SUPERSEDED = InFlightGroupState.IN_FLIGHT, InFlightGroupState.SUPERSEDED
CANCELLED = InFlightGroupState.CANCELLED
RELEASING = TaskStatus.RELEASING


def one_node(gpus: int = 1) -> ClusterBuilder:
    return ClusterBuilder().node("n", gpus=gpus).queue("q")


def with_reservation(builder: ClusterBuilder, **options: str) -> ClusterBuilder:
    """`new` has a reservation for the capacity of `old` on the node."""
    builder.pending("new", queue="q", gpus=1, priority=75)
    return builder.in_flight(
        "f",
        beneficiary="new",
        evicts={"old-0": "n"},
        reserves={"new-0": "n"},
        expires_in=options.get("expires_in", "5m"),
    )


def test_reservation_stays_while_the_victim_is_terminating() -> None:
    found = run_in_flight_cycle(
        with_reservation(one_node().pods("old", RELEASING, node="n", queue="q", gpus=1))
    )
    assert found.results == {"f": (IN_FLIGHT, ReasonCode.VICTIMS_EVICTED)}
    assert (found.kept_reservations, found.reserved, found.bound, found.evicted) == (
        {"new-0": "n"},
        {},
        {},
        [],
    )


def test_pod_under_eviction_that_still_runs_counts_as_terminating() -> None:
    found = run_in_flight_cycle(
        with_reservation(one_node().running("old", node="n", queue="q", gpus=1, started_ago="1h"))
    )
    assert found.results == {"f": (IN_FLIGHT, ReasonCode.VICTIMS_EVICTED)}
    assert (found.kept_reservations, found.evicted) == ({"new-0": "n"}, [])


def test_free_reserved_capacity_is_bound_to_its_pod() -> None:
    builder = with_reservation(one_node()).pending("other", queue="q", gpus=1, priority=90, created_ago="9h")
    found = run_in_flight_cycle(builder)
    assert found.results == {"f": (SUPERSEDED, ReasonCode.ALLOCATED)}
    assert (found.bound, found.kept_reservations) == ({"new-0": "n"}, {})
    (group,) = (group for group in found.decision.groups if group.bindings)
    assert (group.action, group.fulfills_group) == ("fulfill", "f")
    assert PatchKind.LAST_START_TIME in [patch.kind for patch in group.patches]


def test_capacity_without_reservation_is_bound_to_another_pod() -> None:
    builder = one_node().pending("new", queue="q", gpus=1, priority=75)
    found = run_in_flight_cycle(builder.pending("other", queue="q", gpus=1, priority=90))
    assert found.bound == {"other-0": "n"}


def test_open_reservation_is_not_a_victim_and_has_an_outcome() -> None:
    builder = with_reservation(one_node().pods("old", RELEASING, node="n", queue="q", gpus=1))
    found = run_in_flight_cycle(builder.pending("other", queue="q", gpus=1, priority=90))
    assert found.kept_reservations == {"new-0": "n"}
    kinds = {each.pod_group: (each.kind, each.reserved) for each in found.decision.outcomes}
    assert kinds[0] == (OutcomeKind.WAITING_FOR_VICTIMS, 1)
    assert found.decision.next_wake_time == NOW + parse_duration("5m")


@pytest.mark.parametrize("revoke", [False, True])
def test_reservation_in_flight_is_not_revoked_by_any_profile(revoke: bool) -> None:
    profile = default_profile()
    profile = replace(profile, options=replace(profile.options, allow_same_cycle_eviction=revoke))
    builder = with_reservation(one_node()).pending("other", queue="q", gpus=1, priority=90)
    found = run_in_flight_cycle(builder, profile)
    assert (found.bound, found.evicted) == ({"new-0": "n"}, [])


GONE: dict[str, tuple[Callable[[], ClusterBuilder], ReasonCode]] = {
    "somebody is there whom nobody asked to leave": (
        lambda: with_reservation(one_node().running("third", node="n", queue="q", gpus=1, priority=90)),
        ReasonCode.INSUFFICIENT_RESOURCES,
    ),
    "its node is cordoned": (
        lambda: with_reservation(ClusterBuilder().node("n", gpus=1, unready="cordoned").queue("q")),
        ReasonCode.NO_NODE_MATCHES,
    ),
    "its node is gone": (
        lambda: with_reservation(ClusterBuilder().node("m", gpus=1).queue("q")),
        ReasonCode.GONE,
    ),
    "its queue would exceed its limit": (
        lambda: with_reservation(
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
            .in_flight("f", beneficiary="new", reserves={"new-0": "n", "new-1": "n"})
        ),
        ReasonCode.NOT_READY,
    ),
    "its pod group is gone": (
        lambda: one_node().in_flight("f", beneficiary="new", reserves={"new-0": "n"}),
        ReasonCode.GONE,
    ),
    "its queue is gone": (
        lambda: (
            one_node()
            .pending("new", queue="gone", gpus=1)
            .in_flight("f", beneficiary="new", reserves={"new-0": "n"})
        ),
        ReasonCode.INVALID_QUEUE,
    ),
    "its pod is held back": (
        lambda: (
            one_node()
            .pending("new", queue="q", gpus=1, blocked_reason="its volume does not exist")
            .in_flight("f", beneficiary="new", reserves={"new-0": "n"})
        ),
        ReasonCode.BLOCKED,
    ),
}


@pytest.mark.parametrize("case", GONE)
def test_reservation_is_cancelled_when_its_target_is_gone(case: str) -> None:
    build, code = GONE[case]
    found = run_in_flight_cycle(build())
    assert found.results == {"f": (CANCELLED, code)}
    assert found.kept_reservations == {}


def test_victims_of_a_cancelled_group_are_not_evicted() -> None:
    """The reservation on n1 does not fit, so the group is cancelled and `old` stays on n2."""
    builder = ClusterBuilder().node("n1", gpus=1).node("n2", gpus=1).queue("q")
    builder.running("third", node="n1", queue="q", gpus=1, priority=90)
    builder.running("old", node="n2", queue="q", gpus=1, priority=90)
    builder.pending("new", queue="q", gpus=1, count=2, min_member=2, priority=75)
    builder.in_flight("f", beneficiary="new", evicts={"old-0": "n2"}, reserves={"new-0": "n1", "new-1": "n2"})
    found = run_in_flight_cycle(builder)
    assert found.results == {"f": (CANCELLED, ReasonCode.INSUFFICIENT_RESOURCES)}
    assert found.decision.queues[0].allocated_before[2] == 2000
    assert (found.kept_reservations, found.reserved) == ({}, {})


def test_group_that_depends_on_a_cancelled_group_is_cancelled() -> None:
    """`b` reserves capacity that `a` frees. When `a` is cancelled, `old` stays and nothing is free."""
    builder = ClusterBuilder().node("n1", gpus=1).node("n2", gpus=2).queue("q")
    builder.running("third", node="n1", queue="q", gpus=1, priority=90)
    builder.running("old", node="n2", queue="q", gpus=2, priority=90)
    builder.pending("one", queue="q", gpus=1, count=2, min_member=2, priority=75)
    builder.pending("two", queue="q", gpus=1, priority=75)
    builder.in_flight("a", beneficiary="one", evicts={"old-0": "n2"}, reserves={"one-0": "n1", "one-1": "n2"})
    builder.in_flight("b", beneficiary="two", reserves={"two-0": "n2"}, expires_in="4m")
    found = run_in_flight_cycle(builder)
    assert found.results == {
        "a": (CANCELLED, ReasonCode.INSUFFICIENT_RESOURCES),
        "b": (CANCELLED, ReasonCode.INSUFFICIENT_RESOURCES),
    }


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a")])
def test_of_two_reservations_of_one_capacity_the_one_that_expires_first_is_fulfilled(
    first: str, second: str
) -> None:
    builder = one_node().pending("a", queue="q", gpus=1).pending("b", queue="q", gpus=1)
    for name in (first, second):
        builder.in_flight(
            f"f-{name}",
            beneficiary=name,
            reserves={f"{name}-0": "n"},
            expires_in="1m" if name == first else "2m",
        )
    found = run_in_flight_cycle(builder)
    assert found.bound == {f"{first}-0": "n"}
    assert found.results == {
        f"f-{first}": (SUPERSEDED, ReasonCode.ALLOCATED),
        f"f-{second}": (CANCELLED, ReasonCode.INSUFFICIENT_RESOURCES),
    }


@pytest.mark.parametrize("priority", [pytest.param(50, id="older"), pytest.param(60, id="more important")])
def test_of_two_reservations_that_expire_together_the_more_important_one_is_fulfilled(priority: int) -> None:
    """Whatever the ids of the groups are."""
    builder = one_node().pending("a", queue="q", gpus=1, created_ago="2h")
    builder.pending("b", queue="q", gpus=1, created_ago="1h", priority=priority)
    builder.in_flight("1", beneficiary="b", reserves={"b-0": "n"}).in_flight(
        "2", beneficiary="a", reserves={"a-0": "n"}
    )
    expected = "a-0" if priority == 50 else "b-0"
    assert run_in_flight_cycle(builder).bound == {expected: "n"}


def test_pod_has_one_reservation() -> None:
    builder = one_node().node("m", gpus=1).pending("a", queue="q", gpus=1)
    builder.in_flight("1", beneficiary="a", reserves={"a-0": "n"}).in_flight(
        "2", beneficiary="a", reserves={"a-0": "m"}
    )
    found = run_in_flight_cycle(builder)
    assert found.bound == {"a-0": "n"}
    assert found.results["2"] == (CANCELLED, ReasonCode.INSUFFICIENT_RESOURCES)


def reserved_gang(minimum: int) -> ClusterBuilder:
    """Two pods with reservations: the capacity of one is free, that of the other is not."""
    builder = one_node().node("m", gpus=1).pods("old", RELEASING, node="n", queue="q", gpus=1)
    builder.pending("new", queue="q", gpus=1, count=2, min_member=minimum, priority=75)
    return builder.in_flight(
        "f", beneficiary="new", evicts={"old-0": "n"}, reserves={"new-0": "n", "new-1": "m"}
    )


def test_gang_starts_completely_r3_32() -> None:
    found = run_in_flight_cycle(reserved_gang(minimum=2))
    assert (found.bound, found.kept_reservations) == ({}, {"new-0": "n", "new-1": "m"})
    assert found.results == {"f": (IN_FLIGHT, ReasonCode.VICTIMS_EVICTED)}


def test_minimum_starts_and_surplus_stays_reserved_r3_32() -> None:
    found = run_in_flight_cycle(reserved_gang(minimum=1))
    assert (found.bound, found.kept_reservations) == ({"new-1": "m"}, {"new-0": "n"})
    assert found.results == {"f": (IN_FLIGHT, ReasonCode.VICTIMS_EVICTED)}


def test_gang_reserved_by_two_groups_starts_completely() -> None:
    """Neither group may wait for the other, because then both would wait forever."""
    builder = one_node(2).pending("new", queue="q", gpus=1, count=2, min_member=2)
    builder.in_flight("1", beneficiary="new", reserves={"new-0": "n"})
    found = run_in_flight_cycle(builder.in_flight("2", beneficiary="new", reserves={"new-1": "n"}))
    assert found.bound == {"new-0": "n", "new-1": "n"}
    starts = [p for g in found.decision.groups for p in g.patches if p.kind is PatchKind.LAST_START_TIME]
    assert len(starts) == 1


def test_reserved_half_of_a_gang_is_not_bound_before_the_rest() -> None:
    builder = one_node(1).pending("new", queue="q", gpus=1, count=2, min_member=2)
    found = run_in_flight_cycle(builder.in_flight("f", beneficiary="new", reserves={"new-0": "n"}))
    assert (found.bound, found.kept_reservations) == ({}, {"new-0": "n"})


def relocating(builder: ClusterBuilder, pod: str = "mover-0") -> ClusterBuilder:
    """A pod of `mover` is relocated from n to m, to free capacity for `big`."""
    builder.node("m", gpus=1).pending("big", queue="q", gpus=2)
    return builder.in_flight(
        "f",
        beneficiary="big",
        action="consolidation",
        evicts={pod: "n"},
        reserves={"big-0": "n", pod: "m"},
    )


@pytest.mark.parametrize("status", [TaskStatus.RUNNING, RELEASING])
def test_relocated_pod_has_a_reservation_while_it_terminates(status: TaskStatus) -> None:
    found = run_in_flight_cycle(
        relocating(one_node(2).pods("mover", status, node="n", queue="q", gpus=1, started_ago="1h"))
    )
    assert found.kept_reservations == {"big-0": "n", "mover-0": "m"}
    assert found.evicted == []
    assert found.results == {"f": (IN_FLIGHT, ReasonCode.VICTIMS_EVICTED)}


def test_successor_of_a_relocated_pod_gets_its_reserved_capacity() -> None:
    builder = one_node(2).pending("mover", queue="q", gpus=1, nominated_node="n")
    found = run_in_flight_cycle(relocating(builder, "mover-9"))
    assert found.bound == {"big-0": "n", "mover-0": "m"}
    assert found.results == {"f": (SUPERSEDED, ReasonCode.ALLOCATED)}


def test_pod_that_replaces_another_is_named_also_when_it_is_bound() -> None:
    """Else a further pod would get the same reservation in the next cycle."""
    builder = one_node(2).pods("leaves", RELEASING, node="n", queue="q", gpus=2)
    cluster = relocating(
        builder.pending("mover", queue="q", gpus=1, count=2, min_member=1), "mover-9"
    ).build()
    (status,) = answer(cluster, default_profile()).in_flight
    assert [(pod, cluster.tasks[task].facts.uid) for pod, task in status.replaced] == [("mover-9", "mover-0")]


def test_successor_with_its_own_reservation_leaves_that_of_the_relocated_pod() -> None:
    builder = relocating(one_node(2).pending("mover", queue="q", gpus=1, count=2, min_member=1), "mover-9")
    found = run_in_flight_cycle(
        builder.node("k", gpus=1).in_flight("g", beneficiary="mover", reserves={"mover-0": "k"})
    )
    assert found.bound == {"big-0": "n", "mover-0": "k", "mover-1": "m"}


@pytest.mark.parametrize(("waiting", "bound"), [("a", {}), ("ab", {"mover-1": "n"})])
def test_successor_starts_only_in_an_inner_subgroup_that_can_reach_its_minimum_r3_20(
    waiting: str, bound: dict[str, str]
) -> None:
    """The inner subgroup needs a pod of a and of b, and the pod group does not need it."""
    builder = one_node(2).node("m", gpus=1).pod_group("mover", queue="q", min_sub_groups=1)
    builder.sub_group("mover", "lone", min_member=1).sub_group("mover", "inner", min_sub_groups=2)
    for name in "ab":
        builder.sub_group("mover", name, parent="inner", min_member=1)
    builder.running("mover", gpus=1, node="m", sub_group="lone")
    for name in waiting:
        builder.pending("mover", gpus=1, sub_group=name)
    builder.pending("big", queue="q", gpus=1, priority=90)
    builder.in_flight(
        "f", beneficiary="big", evicts={"mover-9": "n"}, reserves={"big-0": "n", "mover-9": "n"}
    )
    assert run_in_flight_cycle(builder).bound == {"big-0": "n", **bound}


def test_pods_of_a_gang_lose_their_reservations_together_r3_74() -> None:
    """On node a, `v-0` would cost the beneficiary its reservation there."""
    zones = TopologySpread("zone", match_labels=(("app", "x"),))
    x: PodOptions = {"gpus": 1, "labels": {"app": "x"}}
    builder = ClusterBuilder().queue("q").node("a", gpus=2, labels={"zone": "a"})
    builder.node("b", labels={"zone": "b"}).node("c", gpus=1)
    builder.pods("old", RELEASING, queue="q", gpus=2, node="a")
    builder.pod_group("v", queue="q", priority=40, min_member=2).pending("v", count=2, **x)
    builder.pending("new", queue="q", priority=90, topology_spread=[zones], **x)
    builder.in_flight(
        "f", beneficiary="new", evicts={"old-0": "a"}, reserves={"new-0": "a", "v-0": "a", "v-1": "c"}
    )
    assert run_in_flight_cycle(builder).kept_reservations == {"new-0": "a"}


@pytest.mark.parametrize("seen", ["runs", "terminates", "is gone", "is pending again"])
@pytest.mark.parametrize("node", ["m", "k"])
def test_reservation_ends_with_the_start_of_its_pod(seen: str, node: str) -> None:
    """The pod has started on the node meanwhile, and a later decision evicts it there for `next`."""
    pod = "mover-9" if seen == "is gone" else "mover-0"
    builder = one_node(2).node("k", gpus=1).pods("leaves", RELEASING, node="n", queue="q", gpus=2)
    relocating(builder, pod).pending("next", queue="q", gpus=1, priority=90)
    builder.in_flight("g", beneficiary="next", evicts={pod: node}, reserves={"next-0": node}, expires_in="9m")
    if seen in ("runs", "terminates"):
        status = TaskStatus.RUNNING if seen == "runs" else RELEASING
        builder.pods("mover", status, node=node, queue="q", gpus=1, started_ago="1m")
    else:
        builder.pending("mover", queue="q", gpus=1)
    found = run_in_flight_cycle(builder)
    assert CANCELLED not in [state for state, _ in found.results.values()]
    assert {**found.kept_reservations, **found.bound}["next-0"] == node
    assert "mover-0" not in found.kept_reservations


def test_group_stays_in_flight_until_the_successor_exists() -> None:
    found = run_in_flight_cycle(relocating(one_node(2).pod_group("mover", queue="q"), "mover-9"))
    assert found.bound == {"big-0": "n"}
    assert found.results == {"f": (IN_FLIGHT, ReasonCode.PIPELINED)}


def test_terminated_pod_without_new_capacity_does_not_cancel_its_group() -> None:
    builder = relocating(one_node(2).pending("mover", queue="q", gpus=1), "mover-9")
    found = run_in_flight_cycle(builder.running("third", node="m", queue="q", gpus=1))
    assert found.bound == {"big-0": "n"}
    assert found.results == {"f": (SUPERSEDED, ReasonCode.ALLOCATED)}


def test_pod_is_not_relocated_when_its_new_capacity_is_occupied() -> None:
    builder = relocating(one_node(2).running("mover", node="n", queue="q", gpus=1, started_ago="0s"))
    found = run_in_flight_cycle(builder.running("third", node="m", queue="q", gpus=1, priority=90))
    assert found.results == {"f": (CANCELLED, ReasonCode.INSUFFICIENT_RESOURCES)}
    assert found.kept_reservations == {}


def test_reserved_device_is_bound_to_its_pod() -> None:
    builder = one_node(2).running("a", node="n", queue="q", gpus=0.5, gpu_groups=["g1"])
    builder.running("b", node="n", queue="q", gpus=0.5, gpu_groups=["g2"]).pending("new", queue="q", gpus=0.5)
    builder.in_flight("f", beneficiary="new", reserves={"new-0": "n"}, gpu_groups={"new-0": ["g2"]})
    (group,) = (group for group in run_in_flight_cycle(builder).decision.groups if group.bindings)
    assert group.bindings[0].gpu_groups == ("g2",)


def test_other_devices_of_the_node_replace_occupied_reserved_ones() -> None:
    builder = one_node(2).running("a", node="n", queue="q", gpus=0.5, gpu_groups=["g1"])
    builder.running("b", node="n", queue="q", gpus=0.9, gpu_groups=["g2"]).pending("new", queue="q", gpus=0.5)
    builder.in_flight("f", beneficiary="new", reserves={"new-0": "n"}, gpu_groups={"new-0": ["g2"]})
    (group,) = (group for group in run_in_flight_cycle(builder).decision.groups if group.bindings)
    assert group.bindings[0].gpu_groups == ("g1",)


@pytest.mark.interpreted
def test_equal_pods_are_not_tried_one_by_one_where_none_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, place_reserved = Counter[int](), Placer.place_reserved

    def counted(placer: Placer, statement: Statement, task: int, *where: Any, **how: Any) -> Rejection | None:
        tried[task] += 1
        return place_reserved(placer, statement, task, *where, **how)

    monkeypatch.setattr(Placer, "place_reserved", counted)
    builder = (
        one_node().running("other", node="n", queue="q", gpus=1).pending("moved", queue="q", gpus=1, count=9)
    )
    run_in_flight_cycle(builder.in_flight("f", beneficiary="other", reserves={"moved-before": "n"}))
    assert 0 < tried.total() <= 2, "once in the simulation, once for good"
