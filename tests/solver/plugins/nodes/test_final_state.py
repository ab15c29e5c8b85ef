"""A decision is valid in its final state, and reservations are kept jointly (R3.70 to R3.74, R3.76)."""

from dataclasses import replace
from typing import Any

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import HostPort, PodAffinityTerm, TopologySpread
from tenure.solver.model.decision import CycleResult, InFlightGroupState, OutcomeKind
from tenure.solver.model.placement import TaskStatus
from tenure.solver.play.next_cluster import INTERVAL, apply_decisions
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, TaskState, statuses
from tenure.terms.durations import SECOND

DB, X = {"app": "db"}, {"app": "x"}
ON_HOST = PodAffinityTerm((("app", "db"),), "host")
IN_ZONE = PodAffinityTerm((("app", "db"),), "zone")
NOT_X = PodAffinityTerm((("app", "x"),), "host")
EVEN = TopologySpread("zone", match_labels=(("app", "x"),))
PIPELINED, RELEASING = TaskStatus.PIPELINED, TaskStatus.RELEASING
KEPT = (InFlightGroupState.IN_FLIGHT, InFlightGroupState.SUPERSEDED)


def decided(builder: ClusterBuilder, profile: Profile | None = None) -> tuple[Cluster, CycleResult]:
    built = builder.build()
    return built, answer(built, profile or default_profile())


def after(builder: ClusterBuilder) -> dict[str, TaskState]:
    return statuses(*decided(builder))


def states(builder: ClusterBuilder) -> dict[str, InFlightGroupState]:
    cluster, result = decided(builder)
    return {cluster.in_flight[each.group].id: each.state for each in result.in_flight}


@pytest.mark.parametrize("priority", [5, 100], ids=["it is a victim as well", "it is none"])
def test_no_pod_moves_away_from_one_that_needs_it(priority: int) -> None:
    builder = ClusterBuilder().queue("q")
    for name in ("n", "m"):
        builder.node(name, gpus=2, cpus=8, labels={"host": name})
    builder.running("db", queue="q", gpus=2, cpus=1, node="n", labels=DB, priority=10)
    builder.running("web", queue="q", gpus=0, cpus=1, node="n", pod_affinity=[ON_HOST], priority=priority)
    builder.pending("p", queue="q", gpus=2, cpus=1, priority=90, node_selector={"host": "n"})
    found = after(builder)
    assert found["p-0"] == TaskState(PIPELINED, "n")
    assert found["db-0"].status is RELEASING or found["web-0"].node == found["db-0"].node


@pytest.mark.parametrize("nodes", ["n", "nm"], ids=["one node", "an empty second node"])
@pytest.mark.parametrize("labels", [{}, DB], ids=["of another kind", "of the same kind"])
def test_pod_that_another_needs_leaves_and_does_not_move_away_r3_74(
    labels: dict[str, str], nodes: str
) -> None:
    """Not even from one that its own affinity selects: a pod does not provide for itself."""
    builder = ClusterBuilder().queue("q")
    for name in nodes:
        builder.node(name, gpus=1, labels={"host": name})
    builder.running("web", queue="q", node="n", labels=labels, pod_affinity=[ON_HOST], priority=125)
    builder.running("db", queue="q", gpus=1, node="n", labels=DB, priority=10)
    found = after(builder.pending("p", queue="q", gpus=1, priority=90, node_selector={"host": "n"}))
    assert (found["p-0"], found["db-0"].status) == (TaskState(PIPELINED, "n"), RELEASING)


def reserved_with_spread() -> ClusterBuilder:
    """`new` waits on node a until `old` has left; its spread permits no second pod in that zone."""
    builder = ClusterBuilder().queue("q").node("a", gpus=1, cpus=16, labels={"zone": "a", "h": "a"})
    builder.node("b", gpus=0, cpus=16, labels={"zone": "b", "h": "b"}).node("z", gpus=1, labels={"h": "z"})
    builder.pods("old", RELEASING, queue="q", gpus=1, node="a")
    builder.pending("new", queue="q", gpus=1, priority=75, labels=X, topology_spread=[EVEN])
    return builder.in_flight("f", beneficiary="new", evicts={"old-0": "a"}, reserves={"new-0": "a"})


def test_no_pod_takes_what_the_spread_of_a_reservation_needs() -> None:
    builder = reserved_with_spread()
    builder.pending("other", queue="q", gpus=0, cpus=1, labels=X, node_selector={"h": "a"}, priority=60)
    assert after(builder)["other-0"].status is TaskStatus.PENDING
    assert states(builder) == {"f": InFlightGroupState.IN_FLIGHT}


def test_reservation_that_is_violated_stops_no_other_decision() -> None:
    """Node a has a pod of the app already: that reservation is given up."""
    builder = reserved_with_spread().running("more", queue="q", node="a", cpus=1, labels=X, priority=100)
    builder.running("low", queue="q", gpus=1, node="z", priority=10)
    builder.pending("urgent", queue="q", gpus=1, priority=90, node_selector={"h": "z"})
    assert after(builder)["urgent-0"].status is PIPELINED


@pytest.mark.parametrize("affinity", [(), (IN_ZONE,)], ids=["spread only", "affinity as well"])
def test_spread_of_a_reservation_ends_with_its_binding_r3_73(affinity: tuple[PodAffinityTerm, ...]) -> None:
    builder = ClusterBuilder().queue("q").node("a", gpus=2, labels={"zone": "a", "h": "a"})
    builder.node("b", labels={"zone": "b"}).running("db", queue="q", node="a", labels=DB, priority=125)
    web: dict[str, Any] = {"queue": "q", "gpus": 1, "labels": X}
    builder.pending("new", priority=90, topology_spread=[EVEN], pod_affinity=affinity, **web)
    builder.pending("other", node_selector={"h": "a"}, **web)
    found = after(builder.in_flight("f", beneficiary="new", reserves={"new-0": "a"}))
    binding = TaskState(TaskStatus.BINDING, "a")
    assert (found["new-0"], found["other-0"]) == (binding, binding)


def test_node_without_the_key_is_far_from_no_first_pod_r3_71() -> None:
    """`first` may start without another pod of its app: nothing of that may start in another zone."""
    first = PodAffinityTerm((("app", "x"),), "zone")
    builder = ClusterBuilder().queue("q").node("a", gpus=1, labels={"zone": "a"})
    builder.node("z", gpus=1, labels={"h": "z"}).node("b", gpus=1, labels={"zone": "b", "h": "b"})
    builder.pods("old", RELEASING, queue="q", gpus=1, node="a")
    builder.pending("first", queue="q", gpus=1, priority=90, labels=X, pod_affinity=[first])
    for name in "zb":
        builder.pending(name, queue="q", gpus=1, labels=X, node_selector={"h": name})
    builder.in_flight("f", beneficiary="first", evicts={"old-0": "a"}, reserves={"first-0": "a"})
    found = after(builder)
    assert (found["z-0"].status, found["b-0"].status) == (TaskStatus.BINDING, TaskStatus.PENDING)


@pytest.mark.parametrize("is_client_first", [True, False])
@pytest.mark.parametrize("is_free", [True, False])
def test_gang_starts_whichever_of_its_pods_needs_the_other(is_client_first: bool, is_free: bool) -> None:
    builder = ClusterBuilder().queue("q").node("n", gpus=2, labels={"host": "n"})
    if not is_free:
        builder.running("low", queue="q", gpus=2, node="n", priority=10)
    builder.pod_group("g", queue="q", min_member=2, priority=90)
    for is_client in (is_client_first, not is_client_first):
        if is_client:
            builder.pending("g", gpus=1, pod_affinity=[ON_HOST])
        else:
            builder.pending("g", gpus=1, labels=DB)
    found = after(builder)
    status = TaskStatus.BINDING if is_free else PIPELINED
    assert [found[uid].status for uid in ("g-0", "g-1")] == [status, status]


@pytest.mark.parametrize("priority", [50, 90, 95])
def test_provider_is_placed_again_before_the_pod_that_needs_it(priority: int) -> None:
    builder = ClusterBuilder().queue("q")
    builder.node("n1", gpus=2, labels={"zone": "a"}).node("n2", gpus=1, labels={"zone": "a"})
    builder.running("db", queue="q", gpus=1, node="n1", labels=DB, priority=priority)
    builder.pending("p", queue="q", gpus=2, priority=90, pod_affinity=[IN_ZONE])
    found = after(builder)
    assert (found["p-0"], found["db-0"]) == (TaskState(PIPELINED, "n1"), TaskState(PIPELINED, "n2"))


def test_reservation_is_kept_until_the_provider_that_moves_is_back() -> None:
    builder = ClusterBuilder().queue("q")
    builder.node("n1", gpus=2, labels={"zone": "a"}).node("n2", gpus=1, labels={"zone": "a"})
    builder.pod_group("db", queue="q", priority=95, min_member=1)
    builder.pending("p", queue="q", gpus=2, priority=90, pod_affinity=[IN_ZONE])
    builder.in_flight("f", beneficiary="p", evicts={"db-0": "n1"}, reserves={"p-0": "n1", "db-0": "n2"})
    assert states(builder) == {"f": InFlightGroupState.IN_FLIGHT}


def test_victim_does_not_return_if_that_costs_the_beneficiary_its_reservation() -> None:
    builder = ClusterBuilder().queue("q").node("a", gpus=2, labels={"zone": "a"})
    builder.node("b", gpus=1, labels={"zone": "b"})
    builder.pod_group("v", queue="q", priority=40)
    builder.pending("v", gpus=1, labels=X)
    builder.running("w", queue="q", gpus=1, node="b", priority=100)
    builder.pods("s", RELEASING, queue="q", gpus=1, node="a", priority=40)
    builder.pending("p", queue="q", gpus=1, priority=90, labels=X, topology_spread=[EVEN])
    builder.in_flight("f", beneficiary="p", evicts={"s-0": "a"}, reserves={"p-0": "a", "v-0": "a"})
    assert states(builder)["f"] in KEPT


def test_group_is_given_up_with_the_one_that_provides_for_it() -> None:
    builder = ClusterBuilder().queue("q").node("n", gpus=2, labels={"host": "n"})
    builder.running("x", queue="q", gpus=0, node="n", labels=X, priority=100)
    builder.pods("old", RELEASING, queue="q", gpus=2, node="n")
    builder.pending("db", queue="q", gpus=1, priority=95, labels=DB, pod_anti_affinity=[NOT_X])
    builder.pending("app", queue="q", gpus=1, priority=90, pod_affinity=[ON_HOST])
    builder.in_flight("1", beneficiary="db", evicts={"old-0": "n"}, reserves={"db-0": "n"})
    builder.in_flight("2", beneficiary="app", reserves={"app-0": "n"})
    assert set(states(builder).values()) == {InFlightGroupState.CANCELLED}


@pytest.mark.parametrize("status", [RELEASING, TaskStatus.STUCK_IN_RELEASING])
@pytest.mark.parametrize(
    ("of_other", "of_new"),
    [
        pytest.param({"labels": X}, {"pod_anti_affinity": [NOT_X]}, id="anti-affinity"),
        pytest.param({"pod_anti_affinity": [NOT_X]}, {"labels": X}, id="anti-affinity of the other"),
        pytest.param({"host_ports": [HostPort(80)]}, {"host_ports": [HostPort(80)]}, id="host port"),
    ],
)
def test_reservation_waits_for_a_pod_that_its_group_does_not_evict_r3_72(
    of_other: dict[str, Any], of_new: dict[str, Any], status: TaskStatus
) -> None:
    builder = ClusterBuilder().queue("q").node("n", gpus=2, labels={"host": "n"})
    builder.pods("v", status, queue="q", gpus=1, node="n", **of_other)
    builder.pods("w", RELEASING, queue="q", gpus=1, node="n")
    builder.pending("b", queue="q", gpus=1, priority=90, **of_new)
    builder.in_flight("f", beneficiary="b", evicts={"w-0": "n"}, reserves={"b-0": "n"})
    assert states(builder) == {"f": InFlightGroupState.IN_FLIGHT}


def running_after_notices(builder: ClusterBuilder) -> set[str]:
    """Uids of the pods that run after ten cycles."""
    options = replace(default_profile().options, max_notice=600 * SECOND)
    profile = replace(default_profile(), options=options)
    cluster = builder.build()
    for _ in range(10):
        cluster = apply_decisions(cluster, answer(cluster, profile), INTERVAL)
    return {each.facts.uid for each in cluster.tasks if each.placement.is_allocated}


def test_beneficiary_of_a_notice_starts_beside_the_victim_that_moves() -> None:
    builder = ClusterBuilder().queue("q")
    builder.node("n1", gpus=2, labels={"zone": "a"}).node("n2", gpus=1, labels={"zone": "a"})
    builder.running("db", queue="q", gpus=1, node="n1", labels=DB, priority=95, notice="5m")
    builder.pending("p", queue="q", gpus=2, priority=90, pod_affinity=[IN_ZONE])
    assert "p-0" in running_after_notices(builder)


def test_notice_is_carried_out_beside_a_violated_reservation_r3_74() -> None:
    """`far` waits for the provider of its affinity, which is to be placed again."""
    builder = ClusterBuilder().queue("q").node("m", gpus=1, labels={"h": "m"})
    builder.node("n1", gpus=2, labels={"zone": "a"}).node("n2", gpus=1, labels={"zone": "a"})
    builder.running("low", queue="q", gpus=1, node="m", priority=10, notice="3m")
    builder.pending("p", queue="q", gpus=1, priority=90, node_selector={"h": "m"})
    builder.pod_group("db", queue="q", priority=95, min_member=1)
    builder.pending("far", queue="q", gpus=2, priority=90, pod_affinity=[IN_ZONE])
    reserved = {"far-0": "n1", "db-0": "n2"}
    builder.in_flight("f", beneficiary="far", evicts={"db-0": "n1"}, reserves=reserved, expires_in="30m")
    assert "p-0" in running_after_notices(builder)


def test_victim_may_go_where_the_spread_does_not_count_it() -> None:
    """Node a2 is not selected by the beneficiary, so it is in none of the domains of its spread."""
    builder = ClusterBuilder().queue("q")
    builder.node("a1", gpus=1, labels={"zone": "a", "pool": "x"})
    builder.node("a2", gpus=1, labels={"zone": "a", "pool": "y"})
    builder.node("b1", gpus=0, labels={"zone": "b", "pool": "x"})
    builder.running("v", queue="q", gpus=1, node="a1", labels=X, priority=10)
    web = {"labels": X, "topology_spread": [EVEN], "node_selector": {"pool": "x"}}
    found = after(builder.pending("p", queue="q", gpus=1, priority=90, **web))
    assert (found["p-0"], found["v-0"]) == (TaskState(PIPELINED, "a1"), TaskState(PIPELINED, "a2"))


def test_reason_names_a_relation_only_if_nothing_else_is_missing() -> None:
    builder = ClusterBuilder().queue("q").node("n", gpus=2, labels={"host": "n"})
    builder.pod_group("g", queue="q", min_member=2, priority=90)
    builder.pending("g", gpus=1, pod_affinity=[ON_HOST]).pending("g", gpus=2, labels=DB)
    _, result = decided(builder)
    (outcome,) = result.outcomes
    assert outcome.kind is OutcomeKind.WAITING_FOR_CAPACITY
    assert "affinity" not in outcome.reason.detail


@pytest.mark.parametrize(("zones", "nodes"), [("ab", {"g-0": "a", "g-1": "b2"}), ("b", {})])
def test_gang_that_waits_is_permitted_as_one_that_is_reserved_r3_32(
    zones: str, nodes: dict[str, str]
) -> None:
    """`g-0` could be bound on b1 before `g-1` joins its zone. Both wait for node b2, so it must not."""
    builder = ClusterBuilder().queue("q")
    builder.node("a", gpus=0, cpus=8 * ("a" in zones), labels={"zone": "a", "h": "a"})
    builder.node("b1", gpus=0, cpus=4, labels={"zone": "b"}).node("b2", gpus=1, labels={"zone": "b"})
    builder.running("x", queue="q", gpus=0, cpus=1, node="b1", labels=X, priority=125)
    builder.pods("old", RELEASING, queue="q", gpus=1, node="b2")
    builder.pod_group("g", queue="q", min_member=2, priority=90)
    builder.pending("g", gpus=0, cpus=1, topology_spread=[EVEN]).pending("g", gpus=1, labels=X)
    found = after(builder)
    reserved = {uid: found[uid].node for uid in ("g-0", "g-1") if found[uid].status is PIPELINED}
    assert reserved == nodes
    assert TaskStatus.BINDING not in {found["g-0"].status, found["g-1"].status}


@pytest.mark.parametrize(
    ("of_new", "of_urgent", "beside", "starts"),
    [
        pytest.param({}, DB, "", False, id="it would wait for the beneficiary"),
        pytest.param({}, DB, "runs", True, id="another one runs there"),
        pytest.param({}, DB, "moves", True, id="it waits for one that moves already"),
        pytest.param(DB, {}, "", True, id="it may be the first then"),
        pytest.param(DB, DB, "", True, id="it may be the first, before the beneficiary"),
        pytest.param(DB, DB, "far", False, id="one far from it may be the first"),
        pytest.param(DB, DB, "far of another app", True, id="one of another app may start before it"),
    ],
)
def test_no_reservation_comes_to_wait_for_a_pod_of_a_later_decision_r3_74(
    of_new: dict[str, str], of_urgent: dict[str, str], beside: str, starts: bool
) -> None:
    """`new` has a reservation beside `low`, which must leave if `urgent` is to start."""
    builder = ClusterBuilder().queue("q").node("n", gpus=4, labels={"host": "n"})
    gpus = 2 if beside == "moves" else 1
    builder.pods("old", RELEASING, queue="q", gpus=gpus, node="n")
    builder.running("stays", queue="q", gpus=3 - gpus, node="n", priority=125)
    builder.running("low", queue="q", gpus=1, node="n", labels={} if beside == "moves" else DB, priority=10)
    if beside == "runs":
        builder.running("more", queue="q", gpus=0, node="n", labels=DB, priority=125)
    if beside == "moves":
        builder.pending("back", queue="q", gpus=1, labels=DB, priority=95)
    if beside.startswith("far"):
        builder.node("m", gpus=1, labels={"host": "m"}).pods("gone", RELEASING, queue="q", gpus=1, node="m")
        builder.pending("far", queue="q", gpus=1, labels=DB if beside == "far" else X, priority=95)
        builder.in_flight("g", beneficiary="far", evicts={"gone-0": "m"}, reserves={"far-0": "m"})
    builder.pending("new", queue="q", gpus=1, priority=75, labels=of_new, pod_affinity=[ON_HOST])
    builder.pending("urgent", queue="q", gpus=1, priority=90, labels=of_urgent)
    reserved = {"new-0": "n", **({"back-0": "n"} if beside == "moves" else {})}
    builder.in_flight("f", beneficiary="new", evicts={"old-0": "n"}, reserves=reserved)
    found = after(builder)
    assert found["urgent-0"].status is (PIPELINED if starts else TaskStatus.PENDING)
    assert set(states(builder).values()) == {InFlightGroupState.IN_FLIGHT}


@pytest.mark.parametrize(
    ("labels", "node", "starts"),
    [
        pytest.param(DB, "a2", True, id="near one of them"),
        pytest.param(DB, "b", False, id="far from both"),
        pytest.param(DB, "z", True, id="in no zone, and on no host"),
        pytest.param(X, "b", True, id="of another app"),
    ],
)
def test_no_pod_precedes_reservations_that_need_each_other_r3_71(
    labels: dict[str, str], node: str, starts: bool
) -> None:
    """`one` and `two` are near each other. Either may be the first, unless another pod is before."""
    builder = ClusterBuilder().queue("q").node("a", gpus=2, labels={"zone": "a", "host": "a"})
    for name in ("a2", "b"):
        builder.node(name, gpus=1, labels={"zone": name[0], "host": name, "node": name})
    builder.node("z", gpus=1, labels={"node": "z"})
    builder.pods("old", RELEASING, queue="q", gpus=2, node="a")
    builder.pending("one", queue="q", gpus=1, priority=90, labels=DB, pod_affinity=[ON_HOST])
    builder.pending("two", queue="q", gpus=1, priority=90, labels=DB, pod_affinity=[IN_ZONE])
    builder.in_flight("f", beneficiary="one", evicts={"old-0": "a"}, reserves={"one-0": "a"})
    builder.in_flight("g", beneficiary="two", reserves={"two-0": "a"})
    builder.pending("new", queue="q", gpus=1, labels=labels, node_selector={"node": node})
    assert after(builder)["new-0"].status is (TaskStatus.BINDING if starts else TaskStatus.PENDING)


@pytest.mark.parametrize(("of_third", "waits"), [(DB, False), (X, True)], ids=["same app", "another app"])
def test_gang_that_waits_can_start_in_some_order_r3_32(of_third: dict[str, str], waits: bool) -> None:
    """Two of its pods need each other, and so must come before the third."""
    builder = ClusterBuilder().queue("q").node("a", gpus=2, labels={"zone": "a", "host": "a"})
    builder.node("b", gpus=1, labels={"zone": "b", "host": "b"})
    builder.pods("old", RELEASING, queue="q", gpus=1, node="b")
    builder.pod_group("g", queue="q", min_member=3, priority=90)
    for affinity in (ON_HOST, IN_ZONE):
        builder.pending("g", gpus=1, labels=DB, pod_affinity=[affinity], node_selector={"host": "a"})
    builder.pending("g", gpus=1, labels=of_third, node_selector={"host": "b"})
    found = after(builder)
    assert {found[f"g-{i}"].status for i in range(3)} == {PIPELINED if waits else TaskStatus.PENDING}


def test_reservation_on_a_node_that_lost_its_label_stops_no_other_decision() -> None:
    """It stays until the victim that returns is there, which might bring what is missing."""
    builder = ClusterBuilder().queue("q").node("n", gpus=2).node("m", gpus=1, labels={"host": "m"})
    builder.pods("old", RELEASING, queue="q", gpus=1, node="n")
    builder.running("low", queue="q", gpus=1, node="m", labels=DB, priority=10)
    builder.pending("new", queue="q", gpus=1, priority=75, labels=DB, pod_affinity=[ON_HOST])
    holds = {"new-0": "n", "old-9": "n"}
    builder.in_flight("f", beneficiary="new", evicts={"old-0": "n"}, reserves=holds)
    builder.pending("urgent", queue="q", gpus=1, priority=90, labels=DB, node_selector={"host": "m"})
    assert after(builder)["urgent-0"].status is PIPELINED
    assert states(builder) == {"f": InFlightGroupState.IN_FLIGHT}
