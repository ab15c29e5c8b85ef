"""Groups in flight on the wire: what is read, what became of them, and what is kept of a decision."""

import pytest
from tenure.client.in_flight import in_flight, still_in_flight
from tenure.server.codec.decode import decode_snapshot
from tenure.server.engine import Engine
from tenure.solver.model.inflight import InFlightStep
from tenure.solver.model.placement import NOWHERE
from tenure.solver.registry import default_profile
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import snapshot_pb2
from tenure.v1.decision_service_pb2 import DecideRequest, DecideResponse

from tests.server.given import small_snapshot
from tests.verify import verify

ENGINE = Engine(default_profile())
RUNS, WAITS = 0, 1


def promised(**fields: object) -> snapshot_pb2.ClusterSnapshot:
    """The small snapshot with a group for `waits`, with one hold of these fields."""
    snapshot = small_snapshot()
    group = snapshot.in_flight_groups.add(id="f", action="reclaim", beneficiary="waits")
    group.expire_time.seconds = snapshot.now.seconds + 60
    group.holds.add(**{"pod": "waits-0", "node": "n1", "pod_group": "waits", **fields})
    return snapshot


def free() -> snapshot_pb2.ClusterSnapshot:
    """The same, with all of the room of the gang `waits` free."""
    snapshot = promised(node="n2")
    snapshot.in_flight_groups[0].holds.add(pod="waits-1", node="n2", pod_group="waits")
    return snapshot


def answered(snapshot: snapshot_pb2.ClusterSnapshot) -> DecideResponse:
    return ENGINE.decide(DecideRequest(snapshot=snapshot))


STEPS: dict[str, tuple[dict[str, object], InFlightStep]] = {
    "as it is": ({}, InFlightStep("waits-0", 2, 0, WAITS)),
    "a pod that is gone": ({"pod": "waits-9"}, InFlightStep("waits-9", NOWHERE, 0, WAITS)),
    "a node that is gone": ({"node": "n9"}, InFlightStep("waits-0", 2, NOWHERE, WAITS)),
    "another pod group than that of the pod": ({"pod_group": "x"}, InFlightStep("waits-0", 2, 0, WAITS)),
    "a pod that is gone with its pod group": (
        {"pod": "x-0", "pod_group": "x"},
        InFlightStep("x-0", NOWHERE, 0, NOWHERE),
    ),
    "devices": ({"gpu_groups": ["d"]}, InFlightStep("waits-0", 2, 0, WAITS, ("d",))),
    "zones that the node has not": (
        {"numa_placement": [{"zone": "z", "amounts": {"cpu_milli": 1}}]},
        InFlightStep("waits-0", 2, 0, WAITS),
    ),
    "amounts of what no node has": (
        {"numa_placement": [{"zone": "z", "amounts": {"extended": {"x/y": 1}}}]},
        InFlightStep("waits-0", 2, 0, WAITS),
    ),
    "amounts below nothing": (
        {"numa_placement": [{"zone": "z", "amounts": {"cpu_milli": -1}}]},
        InFlightStep("waits-0", 2, 0, WAITS),
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_nothing_that_a_step_names_refuses_the_snapshot(case: str) -> None:
    fields, expected = STEPS[case]
    (group,) = decode_snapshot(promised(**fields)).in_flight
    assert group.holds == (expected,)
    assert (group.beneficiary, group.expires) == (WAITS, 1_700_000_060 * 10**9)


def test_zones_of_a_binding_are_read() -> None:
    snapshot = promised()
    snapshot.nodes[0].numa_zones.add(id="0").allocatable.cpu_milli = 4000
    step = snapshot.in_flight_groups[0].bindings.add(pod="waits-1", node="n1")
    step.numa_placement.add(zone="0").amounts.cpu_milli = 1000
    (group,) = decode_snapshot(snapshot).in_flight
    assert group.bindings[0].zones == ((0, ((0, 1000),)),)


def test_answer_tells_what_became_of_every_group_by_id() -> None:
    snapshot = free()
    other = snapshot.in_flight_groups.add(id="a", beneficiary="runs")
    other.expire_time.seconds = snapshot.now.seconds
    answer = answered(snapshot)
    assert [(s.id, pb.InFlightResult.Name(s.result)) for s in answer.in_flight_groups] == [
        ("a", "IN_FLIGHT_RESULT_LAPSED"),
        ("f", "IN_FLIGHT_RESULT_REDEEMED"),
    ]
    reason = answer.in_flight_groups[1].reason
    assert (
        reason.message
        == "The group in flight for pod group waits (queue right) is redeemed: its pods are bound now."
    )
    assert (reason.code, reason.source) == (pb.REASON_CODE_ALLOCATED, "redeem")
    assert verify(snapshot, answer) == []


def test_group_of_a_decision_says_how_long_it_counts_and_what_it_redeems() -> None:
    (group,) = (group for group in answered(free()).groups if group.in_flight_group)
    assert (group.action, group.in_flight_group) == ("redeem", "f")
    assert group.expire_time.seconds == 1_700_000_000 + 300
    assert group.atomicity == pb.ATOMICITY_ALL


def decided() -> pb.DecisionGroup:
    """A group with one step of each kind."""
    group = pb.DecisionGroup(id="g", action="reclaim", beneficiary="waits")
    group.expire_time.seconds = 7
    group.decisions.add(id="1").evict.MergeFrom(pb.Evict(pod="runs-0", node="n1", pod_group="runs"))
    group.decisions.add(id="2").hold.MergeFrom(
        pb.Hold(pod="waits-0", node="n1", gpu_groups=["d"], pod_group="waits")
    )
    group.decisions.add(id="3").bind.MergeFrom(pb.Bind(pod="waits-1", node="n2", gpu_groups=["e"]))
    group.decisions.add(id="4").patch.eviction_count = 1
    return group


def test_caller_keeps_evictions_promises_and_bindings() -> None:
    kept = in_flight(decided())
    assert (kept.id, kept.action, kept.beneficiary, kept.expire_time.seconds) == ("g", "reclaim", "waits", 7)
    assert [(s.pod, s.node, s.pod_group) for s in kept.evictions] == [("runs-0", "n1", "runs")]
    assert [(s.pod, s.node, s.pod_group, list(s.gpu_groups)) for s in kept.holds] == [
        ("waits-0", "n1", "waits", ["d"])
    ]
    assert [(s.pod, s.node, list(s.gpu_groups)) for s in kept.bindings] == [("waits-1", "n2", ["e"])]


def test_of_a_group_that_was_refused_in_part_only_what_was_taken_is_kept() -> None:
    kept = in_flight(decided(), refused=["3"])
    assert (len(kept.evictions), len(kept.holds), len(kept.bindings)) == (1, 0, 0)


def test_caller_drops_what_the_answer_drops() -> None:
    groups = [snapshot_pb2.InFlightGroup(id=name) for name in ("a", "b", "c")]
    answer = DecideResponse()
    answer.in_flight_groups.add(id="a", result=pb.IN_FLIGHT_RESULT_KEPT)
    answer.in_flight_groups.add(id="b", result=pb.IN_FLIGHT_RESULT_CANCELLED)
    answer.in_flight_groups.add(id="c")
    assert [group.id for group in still_in_flight(groups, answer)] == ["a", "c"]
