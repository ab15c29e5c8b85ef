"""Evictions and bindings that are not visible in the snapshot yet, and the end of in-flight groups."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.in_flight.in_flight_groups import MAX_ATTEMPTS
from tenure.solver.model.constraints import PodAffinityTerm
from tenure.solver.model.decision import Atomicity, InFlightGroupState, OutcomeKind
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugin_api import Idle, PluginConfig, PluginContext, Registry
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.solver.testing import NOW, ClusterBuilder
from tenure.terms.reasons import ReasonCode

from tests.solver.assertions import run_in_flight_cycle

IN_FLIGHT, COMPLETED = (
    (InFlightGroupState.IN_FLIGHT, ReasonCode.IN_PROGRESS),
    (InFlightGroupState.COMPLETED, ReasonCode.COMPLETED),
)
EXPIRED = (InFlightGroupState.EXPIRED, ReasonCode.EXPIRED)
CANCELLED, SUPERSEDED = InFlightGroupState.CANCELLED, InFlightGroupState.SUPERSEDED
RUNNING, RELEASING, PENDING = TaskStatus.RUNNING, TaskStatus.RELEASING, TaskStatus.PENDING


def one_node(gpus: int = 1) -> ClusterBuilder:
    return ClusterBuilder().node("n", gpus=gpus).queue("q")


def victim(status: TaskStatus = RUNNING, node: str = "n") -> ClusterBuilder:
    where = node if status.is_active_used else ""
    return one_node().node("m", gpus=1).pods("old", status, node=where, queue="q", gpus=1, started_ago="1h")


EVICTIONS: dict[str, tuple[ClusterBuilder, tuple[InFlightGroupState, ReasonCode]]] = {
    "it still runs": (victim(), IN_FLIGHT),
    "it terminates": (victim(RELEASING), COMPLETED),
    "it runs elsewhere": (victim(node="m"), COMPLETED),
    "it waits again": (victim(PENDING), COMPLETED),
    "it has ended": (victim(TaskStatus.SUCCEEDED), COMPLETED),
    "it is gone": (one_node().pod_group("old", queue="q"), COMPLETED),
}


@pytest.mark.parametrize("case", EVICTIONS)
def test_eviction_is_in_flight_until_the_pod_terminates(case: str) -> None:
    builder, expected = EVICTIONS[case]
    builder.in_flight("f", beneficiary="old", action="stalegangeviction", evicts={"old-0": "n"})
    assert run_in_flight_cycle(builder).results == {"f": expected}


def test_no_pod_is_evicted_twice() -> None:
    builder = victim().running("mine", node="m", queue="q", gpus=1, started_ago="1h")
    builder.pending("new", queue="q", gpus=1, priority=75).pending("next", queue="q", gpus=1, priority=75)
    builder.in_flight("f", beneficiary="new", evicts={"old-0": "n"}, reserves={"new-0": "n"})
    found = run_in_flight_cycle(builder)
    assert (found.evicted, found.kept_reservations, found.reserved) == (
        ["mine-0"],
        {"new-0": "n"},
        {"next-0": "m"},
    )


def test_capacity_of_in_flight_evictions_is_reserved_before_further_evictions() -> None:
    builder = victim().running("mine", node="m", queue="q", gpus=1, started_ago="1h")
    builder.pending("next", queue="q", gpus=1, priority=75)
    found = run_in_flight_cycle(
        builder.in_flight("f", beneficiary="old", action="stalegangeviction", evicts={"old-0": "n"})
    )
    assert (found.evicted, found.reserved) == ([], {"next-0": "n"})


BINDINGS: dict[str, tuple[ClusterBuilder, tuple[InFlightGroupState, ReasonCode]]] = {
    "it waits": (one_node().pending("new", queue="q", gpus=1), IN_FLIGHT),
    "it is bound": (one_node().pods("new", TaskStatus.BOUND, node="n", queue="q", gpus=1), COMPLETED),
    "it runs": (one_node().running("new", node="n", queue="q", gpus=1), COMPLETED),
    "it is held back again": (one_node().pods("new", TaskStatus.GATED, queue="q", gpus=1), COMPLETED),
    "it is gone": (one_node().pod_group("new", queue="q"), COMPLETED),
    "its node is gone": (
        ClusterBuilder().node("m", gpus=1).queue("q").pending("new", queue="q", gpus=1),
        (CANCELLED, ReasonCode.GONE),
    ),
    "its node is full": (
        one_node().pending("new", queue="q", gpus=1).running("third", node="n", queue="q", gpus=1),
        (CANCELLED, ReasonCode.INSUFFICIENT_RESOURCES),
    ),
    "it does not say which device": (
        one_node().pending("new", queue="q", gpus=0.5),
        (CANCELLED, ReasonCode.NO_NODE_MATCHES),
    ),
}


@pytest.mark.parametrize("case", BINDINGS)
def test_binding_is_in_flight_until_visible(case: str) -> None:
    builder, expected = BINDINGS[case]
    assert run_in_flight_cycle(builder.in_flight("f", beneficiary="new", binds={"new-0": "n"})).results == {
        "f": expected
    }


def test_binding_in_flight_is_not_decided_again() -> None:
    builder = one_node().node("m", gpus=2).pending("new", queue="q", gpus=1)
    found = run_in_flight_cycle(builder.in_flight("f", beneficiary="new", binds={"new-0": "n"}))
    assert (found.bound, found.decision.outcomes) == ({}, ())


def test_capacity_of_a_binding_in_flight_is_occupied_and_its_pod_not_evicted() -> None:
    builder = one_node().pending("new", queue="q", gpus=1, started_ago="1h")
    builder.pending("other", queue="q", gpus=1, priority=90)
    found = run_in_flight_cycle(builder.in_flight("f", beneficiary="new", binds={"new-0": "n"}))
    assert (found.bound, found.reserved, found.evicted) == ({}, {}, [])


@pytest.mark.parametrize(
    ("expires_in", "priorities", "kept"),
    [
        (("2m", "1m"), (90, 50), "2"),
        (("1m", "1m"), (50, 90), "2"),
        (("1m", "1m"), (50, 50), "1"),
    ],
    ids=["that expires first", "of the same cycle, of higher priority", "then of the older pod group"],
)
def test_of_conflicting_bindings_one_is_kept(
    expires_in: tuple[str, str], priorities: tuple[int, int], kept: str
) -> None:
    builder = one_node()
    for name, priority in zip("za", priorities, strict=True):
        builder.pending(name, queue="q", gpus=1, priority=priority)
    for id, name, expires in zip("12", "za", expires_in, strict=True):
        builder.in_flight(id, beneficiary=name, binds={f"{name}-0": "n"}, expires_in=expires)
    results = run_in_flight_cycle(builder).results
    assert results[kept] == IN_FLIGHT
    assert results["12".replace(kept, "")] == (CANCELLED, ReasonCode.INSUFFICIENT_RESOURCES)


def test_shared_device_that_is_full_cancels_a_binding() -> None:
    builder = one_node().running("third", node="n", queue="q", gpus=0.7, gpu_groups=["g"])
    builder.pending("new", queue="q", gpus=0.5)
    builder.in_flight("f", beneficiary="new", binds={"new-0": "n"}, gpu_groups={"new-0": ["g"]})
    assert run_in_flight_cycle(builder).results == {"f": (CANCELLED, ReasonCode.INSUFFICIENT_RESOURCES)}


EXPIRIES: dict[str, Callable[[ClusterBuilder], ClusterBuilder]] = {
    "an eviction": lambda b: b.in_flight("f", beneficiary="new", evicts={"old-0": "n"}, expires_in="0s"),
    "a promise": lambda b: b.in_flight("f", beneficiary="new", reserves={"new-0": "m"}, expires_in="0s"),
    "a binding": lambda b: b.in_flight("f", beneficiary="new", binds={"new-0": "m"}, expires_in="0s"),
}


@pytest.mark.parametrize("case", EXPIRIES)
def test_expired_group_has_no_effect(case: str) -> None:
    builder = victim().pending("new", queue="q", gpus=1, priority=20)
    plain = run_in_flight_cycle(builder)
    found = run_in_flight_cycle(EXPIRIES[case](builder))
    assert found.results == {"f": EXPIRED}
    assert found.decision == replace(plain.decision, in_flight=found.decision.in_flight)


def test_group_counts_until_its_expiry() -> None:
    builder = victim().in_flight(
        "f", beneficiary="old", action="stalegangeviction", evicts={"old-0": "n"}, expires_in="1ns"
    )
    assert run_in_flight_cycle(builder).results == {"f": IN_FLIGHT}


NEEDS_NONE: dict[str, ClusterBuilder] = {
    "they run elsewhere": victim().running("new", node="m", queue="q", gpus=1),
    "they have ended": victim().pods("new", TaskStatus.SUCCEEDED, queue="q", gpus=1),
    "they are held back": victim().pods("new", TaskStatus.GATED, queue="q", gpus=1),
    "they are gone": victim().pod_group("new", queue="q"),
    "they are gone with their pod group": victim(),
}


@pytest.mark.parametrize("case", NEEDS_NONE)
def test_in_flight_evictions_for_satisfied_pods_are_cancelled(case: str) -> None:
    builder = NEEDS_NONE[case]
    used = run_in_flight_cycle(builder).decision.queues[0].allocated_before
    found = run_in_flight_cycle(
        builder.in_flight("f", beneficiary="new", evicts={"old-0": "n"}, reserves={"new-0": "n"})
    )
    assert found.results == {"f": (CANCELLED, ReasonCode.GONE)}
    assert found.decision.queues[0].allocated_before == used


def test_eviction_stays_in_flight_when_another_pod_frees_the_capacity() -> None:
    """Another pod left the node before `old`. The freed capacity may be reserved for other pods."""
    builder = one_node(2).running("old", node="n", queue="q", gpus=1, started_ago="1h")
    builder.pending("new", queue="q", gpus=1, priority=75)
    builder.in_flight("f", beneficiary="new", evicts={"old-0": "n"}, reserves={"new-0": "n"})
    found = run_in_flight_cycle(builder)
    assert found.bound == {"new-0": "n"}
    assert found.results == {"f": IN_FLIGHT}
    assert found.decision.queues[0].allocated_before[2] == 0


def test_reservation_without_open_victims_is_fulfilled_first() -> None:
    """One GPU is free. `a` expires first, but only the victim of `b` has terminated."""
    builder = one_node(2).pods("old", RELEASING, node="n", queue="q", gpus=1)
    builder.pending("a", queue="q", gpus=1).pending("b", queue="q", gpus=1)
    builder.in_flight("1", beneficiary="a", evicts={"old-0": "n"}, reserves={"a-0": "n"}, expires_in="1m")
    builder.in_flight("2", beneficiary="b", evicts={"gone-0": "n"}, reserves={"b-0": "n"}, expires_in="2m")
    found = run_in_flight_cycle(builder)
    assert (found.bound, found.kept_reservations) == ({"b-0": "n"}, {"a-0": "n"})


def test_endless_chain_of_dependent_groups_is_cancelled() -> None:
    """Each group reserves capacity that the next one frees, and the reservation of the last does not fit."""
    count = MAX_ATTEMPTS + 3
    builder = ClusterBuilder().queue("q").node("full", gpus=1)
    builder.running("third", node="full", queue="q", gpus=1, priority=120)
    for i in range(count):
        builder.node(f"n{i}", gpus=1).running(f"old{i}", node=f"n{i}", queue="q", gpus=1, priority=120)
        builder.pending(f"new{i}", queue="q", gpus=1, priority=20)
    for i in range(count):
        node = f"n{i + 1}" if i + 1 < count else "full"
        builder.in_flight(
            f"f{i}",
            beneficiary=f"new{i}",
            evicts={f"old{i}-0": f"n{i}"},
            reserves={f"new{i}-0": node},
            expires_in=f"{i + 1}m",
        )
    found = run_in_flight_cycle(builder)
    assert {result for result, _ in found.results.values()} == {CANCELLED}
    assert (found.kept_reservations, found.reserved, found.bound) == ({}, {}, {})


def test_groups_are_unchanged_when_the_cycle_stops_immediately() -> None:
    builder = victim().pending("new", queue="q", gpus=1, priority=75)
    cluster = builder.in_flight(
        "f", beneficiary="new", evicts={"old-0": "n"}, reserves={"new-0": "n"}
    ).build()
    decision = answer(cluster, default_profile(), lambda: True)
    (status,) = decision.in_flight
    assert (status.state, status.reason.code) == (InFlightGroupState.IN_FLIGHT, ReasonCode.BUDGET_EXHAUSTED)
    assert decision.stopped_early
    assert not any(group.evictions or group.reservations or group.bindings for group in decision.groups)


@pytest.mark.parametrize("asked", [0, 1])
def test_cycle_that_stops_while_it_places_reservations_leaves_none_behind(asked: int) -> None:
    """A stop is asked for once in many steps. Pods with so many different labels are counted in so many."""
    builder = ClusterBuilder().node("n", gpus=1, labels={"host": "n"}).queue("q")
    builder.pods("old", RELEASING, node="n", queue="q", gpus=1)
    for number in range(40):
        labels = {"app": "db", "number": str(number)}
        builder.running(f"db{number}", node="n", queue="q", cpus=1, labels=labels, priority=125)
    builder.pending("new", queue="q", gpus=1, pod_affinity=[PodAffinityTerm((("app", "db"),), "host")])
    builder.in_flight("f", beneficiary="new", evicts={"old-0": "n"}, reserves={"new-0": "n"})
    answers = iter([False] * asked)
    decision = answer(builder.build(), default_profile(), lambda: next(answers, True))
    (outcome,), (status,) = decision.outcomes, decision.in_flight
    assert (outcome.kind, status.reason.code) == (OutcomeKind.BUDGET_EXHAUSTED, ReasonCode.BUDGET_EXHAUSTED)
    assert status.reservations == ()


def test_nothing_is_decided_without_in_flight_groups_when_their_session_cannot_be_opened_in_time() -> None:
    """A stop while a plugin is constructed: a session without the groups would decide on stale pods."""

    def slow(context: PluginContext, arguments: Mapping[str, str]) -> object:
        context.check_stop()
        return Idle()

    stops = iter((True,))
    builder = victim().pending("new", queue="q", gpus=1, priority=75)
    builder.in_flight("f", beneficiary="new", evicts={"old-0": "n"}, reserves={"new-0": "n"})
    registry = Registry(actions=BUILT_IN.actions, plugins={**BUILT_IN.plugins, "slow": slow})
    default = default_profile()
    profile = replace(default, plugins=(*default.plugins, PluginConfig("slow")))
    with pytest.raises(CycleStopped):
        answer(builder.build(), profile, lambda: next(stops, False), registry=registry)


def test_stale_gang_retains_its_bindings_in_flight() -> None:
    """Only pods in the snapshot can be evicted. A pending binding is left to a later cycle."""
    builder = one_node(3).pod_group("gang", queue="q", min_member=3, stale_ago="1h")
    builder.running("gang", node="n", gpus=1).pending("gang", gpus=1)
    found = run_in_flight_cycle(builder.in_flight("f", beneficiary="gang", binds={"gang-1": "n"}))
    assert (found.evicted, found.results) == (["gang-0"], {"f": IN_FLIGHT})


GROUPS: dict[str, tuple[ClusterBuilder, Atomicity]] = {
    "a gang starts": (one_node(2).pending("new", queue="q", gpus=1, count=2, min_member=2), Atomicity.ALL),
    "a single pod starts": (one_node().pending("new", queue="q", gpus=1), Atomicity.ALL),
    "surplus joins": (
        one_node(2).running("new", node="n", queue="q", gpus=1, min_member=1).pending("new", gpus=1),
        Atomicity.BEST_EFFORT,
    ),
    "somebody yields": (
        victim()
        .running("mine", node="m", queue="q", gpus=1, priority=90)
        .pending("new", queue="q", gpus=1, priority=75),
        Atomicity.ALL,
    ),
    "a stale gang goes": (
        one_node().pod_group("new", queue="q", min_member=2, stale_ago="1h").running("new", node="n", gpus=1),
        Atomicity.BEST_EFFORT,
    ),
}


@pytest.mark.parametrize("case", GROUPS)
def test_group_is_atomic_when_its_decisions_depend_on_each_other(case: str) -> None:
    builder, expected = GROUPS[case]
    groups = run_in_flight_cycle(builder).decision.groups
    moved = [group for group in groups if group.evictions or group.bindings]
    assert [group.atomicity for group in moved] == [expected]
    assert {group.expire_time for group in groups} == {NOW + default_profile().options.decision_group_timeout}
