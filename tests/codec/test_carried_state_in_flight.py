"""In-flight groups on the wire: decoding, reported states, and what a caller stores of a decision group."""

import pytest
from tenure.client.in_flight import retain_in_flight, track_group, track_results
from tenure.codec.decode import decode_snapshot
from tenure.codec.engine import Engine
from tenure.solver.model.caller_state import InFlightDecision
from tenure.solver.model.placement import NOWHERE
from tenure.solver.registry import default_profile
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import snapshot_pb2
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.report_pb2 import DecisionResult

from tests.checker import verify
from tests.small_snapshot import small_snapshot

ENGINE = Engine(default_profile())
RUNS, WAITS = 0, 1


def with_reservation(**fields: object) -> snapshot_pb2.ClusterSnapshot:
    """The small snapshot with an in-flight group for `waits` that has one reservation with these fields."""
    snapshot = small_snapshot()
    group = snapshot.in_flight_groups.add(id="f", action="reclaim", beneficiary="waits")
    group.expire_time.seconds = snapshot.now.seconds + 60
    group.reservations.add(**{"pod": "waits-0", "node": "n1", "pod_group": "waits", **fields})
    return snapshot


def with_free_capacity() -> snapshot_pb2.ClusterSnapshot:
    """Copy of a snapshot with enough free capacity for the gang `waits`."""
    snapshot = with_reservation(node="n2")
    snapshot.in_flight_groups[0].reservations.add(pod="waits-1", node="n2", pod_group="waits")
    return snapshot


def decide(snapshot: snapshot_pb2.ClusterSnapshot) -> DecideResponse:
    return ENGINE.decide(DecideRequest(snapshot=snapshot)).parse()


STEPS: dict[str, tuple[dict[str, object], InFlightDecision]] = {
    "as it is": ({}, InFlightDecision("waits-0", 2, 0, WAITS)),
    "a pod that is gone": ({"pod": "waits-9"}, InFlightDecision("waits-9", NOWHERE, 0, WAITS)),
    "a node that is gone": ({"node": "n9"}, InFlightDecision("waits-0", 2, NOWHERE, WAITS)),
    "another pod group than that of the pod": ({"pod_group": "x"}, InFlightDecision("waits-0", 2, 0, WAITS)),
    "a pod that is gone with its pod group": (
        {"pod": "x-0", "pod_group": "x"},
        InFlightDecision("x-0", NOWHERE, 0, NOWHERE),
    ),
    "devices": ({"gpu_groups": ["d"]}, InFlightDecision("waits-0", 2, 0, WAITS, ("d",))),
    "zones that the node has not": (
        {"numa_placement": [{"zone": "z", "amounts": {"cpu_milli": 1}}]},
        InFlightDecision("waits-0", 2, 0, WAITS),
    ),
    "amounts of what no node has": (
        {"numa_placement": [{"zone": "z", "amounts": {"extended": {"x/y": 1}}}]},
        InFlightDecision("waits-0", 2, 0, WAITS),
    ),
    "amounts below nothing": (
        {"numa_placement": [{"zone": "z", "amounts": {"cpu_milli": -1}}]},
        InFlightDecision("waits-0", 2, 0, WAITS),
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_unknown_names_in_an_in_flight_group_do_not_reject_the_snapshot(case: str) -> None:
    fields, expected = STEPS[case]
    (group,) = decode_snapshot(with_reservation(**fields)).in_flight
    assert group.reservations == (expected,)
    assert (group.beneficiary, group.expire_time) == (WAITS, 1_700_000_060 * 10**9)


def test_zones_of_a_binding_are_decoded() -> None:
    snapshot = with_reservation()
    snapshot.nodes[0].numa_zones.add(id="0").allocatable.cpu_milli = 4000
    step = snapshot.in_flight_groups[0].bindings.add(pod="waits-1", node="n1")
    step.numa_placement.add(zone="0").amounts.cpu_milli = 1000
    (group,) = decode_snapshot(snapshot).in_flight
    assert group.bindings[0].zones == ((0, ((0, 1000),)),)


def test_response_reports_the_state_of_every_in_flight_group_by_id() -> None:
    snapshot = with_free_capacity()
    other = snapshot.in_flight_groups.add(id="a", beneficiary="runs")
    other.expire_time.seconds = snapshot.now.seconds
    answer = decide(snapshot)
    assert [(s.id, pb.InFlightGroupState.Name(s.state)) for s in answer.in_flight_group_statuses] == [
        ("a", "IN_FLIGHT_GROUP_STATE_EXPIRED"),
        ("f", "IN_FLIGHT_GROUP_STATE_SUPERSEDED"),
    ]
    reason = answer.in_flight_group_statuses[1].reason
    assert (
        reason.message
        == "In-flight group for pod group waits (queue right) is superseded: its pods are bound now."
    )
    assert (reason.code, reason.source) == (pb.REASON_CODE_ALLOCATED, "fulfill")
    assert verify(snapshot, answer) == []


def test_decision_group_has_expiry_and_fulfilled_group() -> None:
    (group,) = (group for group in decide(with_free_capacity()).groups if group.fulfills_group_id)
    assert (group.action, group.fulfills_group_id) == ("fulfill", "f")
    assert group.expire_time.seconds == 1_700_000_000 + 300
    assert group.atomicity == pb.ATOMICITY_ALL


def decision_group() -> pb.DecisionGroup:
    """A decision group with one decision of each kind."""
    group = pb.DecisionGroup(id="g", action="reclaim", beneficiary="waits")
    group.expire_time.seconds = 7
    group.decisions.add(id="1").evict.MergeFrom(pb.Evict(pod="runs-0", node="n1", pod_group="runs"))
    group.decisions.add(id="2").reserve.MergeFrom(
        pb.Reserve(pod="waits-0", node="n1", gpu_groups=["d"], pod_group="waits")
    )
    group.decisions.add(id="3").bind.MergeFrom(pb.Bind(pod="waits-1", node="n2", gpu_groups=["e"]))
    group.decisions.add(id="4").patch.eviction_count = 1
    return group


def test_tracked_group_contains_evictions_reservations_and_bindings() -> None:
    kept = track_group(decision_group())
    assert (kept.id, kept.action, kept.beneficiary, kept.expire_time.seconds) == ("g", "reclaim", "waits", 7)
    assert [(s.pod, s.node, s.pod_group) for s in kept.evictions] == [("runs-0", "n1", "runs")]
    assert [(s.pod, s.node, s.pod_group, list(s.gpu_groups)) for s in kept.reservations] == [
        ("waits-0", "n1", "waits", ["d"])
    ]
    assert [(s.pod, s.node, list(s.gpu_groups)) for s in kept.bindings] == [("waits-1", "n2", ["e"])]


def results(**statuses: str) -> list[DecisionResult]:
    """Results by decision: `_1="APPLIED"`; in lower case: it can be retried."""
    return [
        DecisionResult(decision_id=name[1:], status=f"APPLY_STATUS_{text.upper()}", retryable=text.islower())
        for name, text in statuses.items()
    ]


ALL, BEST_EFFORT = pb.ATOMICITY_ALL, pb.ATOMICITY_BEST_EFFORT


@pytest.mark.parametrize(
    ("atomicity", "statuses", "numbers"),
    [
        pytest.param(ALL, {}, (1, 1, 1), id="nothing is known"),
        pytest.param(ALL, {"_1": "APPLIED"}, (1, 1, 1), id="the rest is still to be applied"),
        pytest.param(ALL, {"_1": "APPLIED", "_3": "FAILED"}, (1, 0, 0), id="the last one failed"),
        pytest.param(ALL, {"_1": "PRECONDITION_FAILED"}, None, id="the first one failed: nothing was sent"),
        pytest.param(ALL, {"_1": "failed"}, (1, 1, 1), id="it can be retried"),
        pytest.param(ALL, {"_1": "FAILED", "_3": "APPLIED"}, (0, 0, 1), id="applied after a failure"),
        pytest.param(BEST_EFFORT, {"_1": "FAILED"}, (0, 0, 1), id="each is useful by itself"),
        pytest.param(ALL, {"_1": "APPLIED", "_2": "APPLIED", "_3": "APPLIED"}, (1, 1, 1), id="all applied"),
    ],
)
def test_tracked_results_are_what_was_applied_or_still_is_to_be(
    atomicity: pb.Atomicity, statuses: dict[str, str], numbers: tuple[int, int, int] | None
) -> None:
    group = decision_group()
    group.atomicity = atomicity
    kept = track_results(group, results(**statuses))
    found = (len(kept.evictions), len(kept.reservations), len(kept.bindings)) if kept else None
    assert found == numbers


def test_groups_dropped_by_the_response_are_not_retained() -> None:
    groups = [snapshot_pb2.InFlightGroup(id=name) for name in ("a", "b", "c")]
    answer = DecideResponse()
    answer.in_flight_group_statuses.add(id="a", state=pb.IN_FLIGHT_GROUP_STATE_IN_FLIGHT)
    answer.in_flight_group_statuses.add(id="b", state=pb.IN_FLIGHT_GROUP_STATE_CANCELLED)
    answer.in_flight_group_statuses.add(id="c")
    assert [group.id for group in retain_in_flight(groups, answer)] == ["a", "c"]


def test_reservation_of_a_pod_that_is_gone_is_retained_for_the_one_that_replaces_it() -> None:
    kept = snapshot_pb2.InFlightGroup(id="a")
    for pod in ("moved-0", "waits-0"):
        kept.reservations.add(pod=pod, node="n1")
    answer = DecideResponse()
    status = answer.in_flight_group_statuses.add(id="a", state=pb.IN_FLIGHT_GROUP_STATE_IN_FLIGHT)
    status.replaced_pods.add(pod="moved-0", by="moved-1")
    (group,) = retain_in_flight([kept], answer)
    assert [hold.pod for hold in group.reservations] == ["moved-1", "waits-0"]
