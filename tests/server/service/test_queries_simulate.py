"""Simulate: equals Decide on a changed snapshot, and has no side effects."""

import logging
from collections.abc import Callable, Iterator

import pytest
from google.protobuf import text_format
from tenure.client import Client, InvalidSnapshot, StateMismatch
from tenure.codec.engine import Engine
from tenure.codec.simulation import SimulationEngine
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.v1 import decide_pb2 as pb
from tenure.v1.simulate_pb2 import SimulateRequest, SimulateResponse
from tenure.v1.state_pb2 import StateReference
from tenure.wire.violations import SnapshotValidationError as Violations

from tests.checker import verify
from tests.codec.snapshots.contested_snapshot import contested_snapshot, evicted_pods
from tests.codec.snapshots.invalid_snapshots import INVALID_SNAPSHOTS, apply_change
from tests.server.servers import run_server
from tests.server.telemetry.captured_telemetry import count_metrics, log_lines
from tests.small_snapshot import small_snapshot

PROFILE = default_profile()
START = 1_700_000_000


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=20) as client:
        yield client


def request(text: str = "", **fields: object) -> SimulateRequest:
    """Build a request about the small snapshot."""
    return text_format.Parse(text, SimulateRequest(snapshot=small_snapshot(), **fields))


def simulate(asked: SimulateRequest) -> list[pb.DecideResponse]:
    return list(SimulateResponse.FromString(SimulationEngine(PROFILE).simulate(asked)).cycles)


def decide(snapshot: object) -> pb.DecideResponse:
    return Engine(PROFILE).decide(pb.DecideRequest(snapshot=snapshot)).parse()


def kind(answer: pb.DecideResponse, uid: str) -> str:
    found = next(outcome for outcome in answer.outcomes if outcome.pod_group == uid)
    return pb.DESCRIPTOR.pool.FindEnumTypeByName("tenure.v1.OutcomeKind").values_by_number[found.kind].name


def test_simulation_without_changes_equals_decide_byte_for_byte(client: Client) -> None:
    answer = client.simulate(request())
    assert [each.SerializeToString() for each in answer.cycles] == [
        decide(small_snapshot()).SerializeToString()
    ]


def changed_snapshot(how: Callable[[object], None]) -> pb.DecideResponse:
    snapshot = small_snapshot()
    how(snapshot)
    return decide(snapshot)


OVERLAYS: dict[str, tuple[str, Callable[[object], None]]] = {
    "a pod is new": (
        'upserts { pods { uid: "w2" pod_group: "waits" shape: "half" status: POD_STATUS_PENDING } }',
        lambda s: s.pods.add(uid="w2", pod_group="waits", shape="half", status=1),
    ),
    "a queue has another quota": (
        'upserts { queues { name: "right" parent: "top" gpu_milli { quota: 0 } } }',
        lambda s: s.queues[2].CopyFrom(type(s.queues[2])(name="right", parent="top", gpu_milli={"quota": 0})),
    ),
    "a node is gone": ('removals { nodes: "n2" }', lambda s: s.nodes.pop(1)),
    "a pod is gone": ('removals { pods: "runs-1" }', lambda s: s.pods.pop(1)),
    "what is not there is removed": ('removals { pods: "nobody" queues: "nothing" }', lambda s: None),
    "removed and added": (
        'removals { nodes: "n2" } upserts { nodes { name: "n2" allocatable { pods: 1 } } }',
        lambda s: s.nodes[1].CopyFrom(type(s.nodes[1])(name="n2", allocatable={"pods": 1})),
    ),
    "later": ("now { seconds: 1700000900 }", lambda s: s.now.FromSeconds(1_700_000_900)),
    "earlier": ("now { seconds: 1600000900 }", lambda s: s.now.FromSeconds(1_600_000_900)),
}


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlay_decides_as_the_changed_snapshot_does(name: str) -> None:
    text, how = OVERLAYS[name]
    assert simulate(request(text)) == [changed_snapshot(how)]


def test_actions_are_those_of_the_request() -> None:
    (answer,) = simulate(request(actions=["preempt"]))
    assert (
        answer
        == Engine(PROFILE).decide(pb.DecideRequest(snapshot=small_snapshot(), actions=["preempt"])).parse()
    )


def test_decisions_are_applied_between_simulated_cycles() -> None:
    asked = SimulateRequest(
        snapshot=contested_snapshot(left_quota_milli=0), cycles=3, interval={"seconds": 30}
    )
    first, second, third = simulate(asked)
    assert kind(first, "waits") == "OUTCOME_KIND_WAITING_FOR_VICTIMS"
    assert evicted_pods(first) == {"runs-0", "runs-1"}
    assert kind(second, "waits") == "OUTCOME_KIND_BOUND"
    assert kind(second, "runs") != "OUTCOME_KIND_BOUND"
    assert not evicted_pods(third)
    times = [answer.header.now.seconds for answer in (first, second, third)]
    assert times == [START, START + 30, START + 60]
    assert verify(asked.snapshot, first) == []


def test_reservations_are_in_flight_in_the_next_cycle_under_their_group_id() -> None:
    first, second, third = simulate(
        SimulateRequest(snapshot=contested_snapshot(left_quota_milli=0), cycles=3)
    )
    (promised,) = (
        group.id for group in first.groups if any(step.HasField("reserve") for step in group.decisions)
    )
    assert [status.id for status in second.in_flight_group_statuses] == [promised]
    assert [group.fulfills_group_id for group in second.groups if group.action == "fulfill"] == [promised]
    assert not third.in_flight_group_statuses


def test_a_cycle_that_is_stopped_is_the_last() -> None:
    asked = request(cycles=5)
    simulated = SimulationEngine(PROFILE).simulate(asked, stop=lambda: True)
    (answer,) = SimulateResponse.FromString(simulated).cycles
    assert answer.stopped_early


def test_interval_between_cycles_defaults_to_a_minute() -> None:
    times = [each.header.now.seconds for each in simulate(request(cycles=2))]
    assert times == [START, START + 60]


FAULTS: dict[str, tuple[str, list[str]]] = {
    "no state": ("", ["snapshot: is required, or a state to refer to"]),
    "cycles": ("cycles: 101", ["cycles: 101 is not between 0 and 100"]),
    "negative cycles": ("cycles: -1", ["cycles: -1 is not between 0 and 100"]),
    "interval": ("interval { }", ["interval: is not above zero"]),
    "negative interval": ("interval { seconds: -1 }", ["interval: is not above zero"]),
    "torn interval": (
        "interval { seconds: 1 nanos: -1 }",
        ["interval: seconds and nanos do not belong together"],
    ),
    "century": (
        "interval { seconds: 3153600001 }",
        ["interval: is longer than a hundred years"],
    ),
    "late": (
        "cycles: 100 interval { seconds: 3153600000 }",
        ["interval: the last cycle is after the year 2262"],
    ),
    "now": ("now { nanos: -1 }", ["now: -1 nanoseconds are not a part of a second"]),
    "actions": (
        'actions: "fire"',
        [
            "actions[0]: unknown action 'fire'; known: timelimit, allocate, reservation, consolidation,"
            " reclaim, preempt, requeue, stalegangeviction"
        ],
    ),
    "an upsert": (
        'upserts { pods { uid: "new" pod_group: "nobody" shape: "gpu" status: POD_STATUS_PENDING } }',
        ["upserts.pods[0].pod_group: there is no pod group with uid 'nobody' (in 'new')"],
    ),
    "twice": (
        'upserts { nodes { name: "x" } nodes { name: "x" } }',
        ["upserts.nodes[1].name: 'x' is already used by upserts.nodes[0]"],
    ),
    "what the removal leaves behind": (
        'removals { shapes: "half" }',
        ["snapshot.pods['runs-1'].shape: there is no shape with id 'half'"],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_violations_name_their_field_of_the_request(name: str) -> None:
    text, faults = FAULTS[name]
    asked = text_format.Parse(text, SimulateRequest()) if name == "no state" else request(text)
    with pytest.raises(Violations) as caught:
        simulate(asked)
    assert list(map(str, caught.value.violations)) == faults


@pytest.mark.parametrize("how", INVALID_SNAPSHOTS)
def test_malformed_snapshot_is_rejected_by_field(client: Client, how: str) -> None:
    with pytest.raises(InvalidSnapshot) as caught:
        client.simulate(SimulateRequest(snapshot=apply_change(small_snapshot(), how)))
    assert [violation.field.partition(".")[0] for violation in caught.value.violations] == ["snapshot"] * len(
        INVALID_SNAPSHOTS[how]
    )


def test_simulation_on_a_pushed_state_equals_that_on_an_inline_snapshot(client: Client) -> None:
    text = OVERLAYS["a queue has another quota"][0]
    state = client.put_snapshot("first", small_snapshot())
    asked = text_format.Parse(text, SimulateRequest(state=state, cycles=3))
    assert list(client.simulate(asked).cycles) == simulate(request(text, cycles=3))


def test_simulation_has_no_side_effects(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    """Decide returns the same after Simulate: neither the state nor its caches change."""
    snapshot = contested_snapshot(left_quota_milli=0)
    state = client.put_snapshot("pure", snapshot)
    before = client.decide_state(state).SerializeToString(deterministic=True)
    count_metrics()
    with caplog.at_level(logging.DEBUG):
        for text in (*(text for text, _ in OVERLAYS.values()), "cycles: 20"):
            asked = text_format.Parse(text, SimulateRequest(state=state))
            try:
                client.simulate(asked)
            except InvalidSnapshot:
                continue
    assert count_metrics() == {}
    assert log_lines(caplog.records) == []
    assert client.decide_state(state).SerializeToString(deterministic=True) == before
    assert client.decide(snapshot).SerializeToString(deterministic=True) == before


def test_request_is_not_modified() -> None:
    asked = request(OVERLAYS["a queue has another quota"][0], cycles=5)
    copy = SimulateRequest()
    copy.CopyFrom(asked)
    simulate(asked)
    assert asked == copy


def test_simulation_engine_has_no_state_but_its_profile() -> None:
    assert vars(SimulationEngine(PROFILE)) == {"_profile": PROFILE, "_registry": BUILT_IN}


def test_unknown_state_is_rejected(client: Client) -> None:
    with pytest.raises(StateMismatch):
        client.simulate(SimulateRequest(state=StateReference(cluster_id="who", epoch="?", version=1)))
