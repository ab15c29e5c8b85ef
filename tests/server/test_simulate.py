"""Simulate: Decide on something else, and nothing but that."""

import logging
from collections.abc import Callable, Iterator

import pytest
from google.protobuf import text_format
from tenure.client import Client, InvalidSnapshot, StaleState
from tenure.server.codec.violations import InvalidSnapshot as Violations
from tenure.server.engine import Engine
from tenure.server.simulate import Simulator
from tenure.solver.registry import default_profile
from tenure.v1 import decision_service_pb2 as pb
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.state_pb2 import StateReference

from tests.server.bad_snapshots import BAD_SNAPSHOTS, broken
from tests.server.contested import contested, evicted
from tests.server.given import small_snapshot
from tests.server.recorded import counted, lines
from tests.server.running import server_here
from tests.verify import verify

PROFILE = default_profile()
START = 1_700_000_000


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with server_here() as (_, address), Client(address, timeout=20) as client:
        yield client


def request(text: str = "", **fields: object) -> SimulateRequest:
    """A request about the small snapshot."""
    return text_format.Parse(text, SimulateRequest(snapshot=small_snapshot(), **fields))


def here(asked: SimulateRequest) -> list[pb.DecideResponse]:
    return list(Simulator(PROFILE).simulate(asked).cycles)


def decided(snapshot: object) -> pb.DecideResponse:
    return Engine(PROFILE).decide(pb.DecideRequest(snapshot=snapshot))


def kind(answer: pb.DecideResponse, uid: str) -> str:
    found = next(outcome for outcome in answer.outcomes if outcome.pod_group == uid)
    return pb.DESCRIPTOR.pool.FindEnumTypeByName("tenure.v1.OutcomeKind").values_by_number[found.kind].name


def test_without_any_change_it_is_decide_byte_for_byte(client: Client) -> None:
    answer = client.simulate(request())
    assert [each.SerializeToString() for each in answer.cycles] == [
        decided(small_snapshot()).SerializeToString()
    ]


def changed(how: Callable[[object], None]) -> pb.DecideResponse:
    snapshot = small_snapshot()
    how(snapshot)
    return decided(snapshot)


OVERLAYS: dict[str, tuple[str, Callable[[object], None]]] = {
    "a pod is new": (
        'upserts { pods { uid: "w2" pod_group: "waits" shape: "half" status: POD_STATUS_PENDING } }',
        lambda s: s.pods.add(uid="w2", pod_group="waits", shape="half", status=1),
    ),
    "a queue has another quota": (
        'upserts { queues { name: "right" parent: "top" gpu_milli { quota: 0 } } }',
        lambda s: s.queues[2].CopyFrom(type(s.queues[2])(name="right", parent="top", gpu_milli={"quota": 0})),
    ),
    "a node is gone": ('removes { nodes: "n2" }', lambda s: s.nodes.pop(1)),
    "a pod is gone": ('removes { pods: "runs-1" }', lambda s: s.pods.pop(1)),
    "what is not there is removed": ('removes { pods: "nobody" queues: "nothing" }', lambda s: None),
    "removed and added": (
        'removes { nodes: "n2" } upserts { nodes { name: "n2" allocatable { pods: 1 } } }',
        lambda s: s.nodes[1].CopyFrom(type(s.nodes[1])(name="n2", allocatable={"pods": 1})),
    ),
    "later": ("now { seconds: 1700000900 }", lambda s: s.now.FromSeconds(1_700_000_900)),
    "earlier": ("now { seconds: 1600000900 }", lambda s: s.now.FromSeconds(1_600_000_900)),
}


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlay_decides_as_the_changed_snapshot_does(name: str) -> None:
    text, how = OVERLAYS[name]
    assert here(request(text)) == [changed(how)]


def test_actions_are_those_of_the_request() -> None:
    (answer,) = here(request(actions=["preempt"]))
    assert answer == Engine(PROFILE).decide(pb.DecideRequest(snapshot=small_snapshot(), actions=["preempt"]))


def test_in_several_cycles_decisions_are_carried_out() -> None:
    asked = SimulateRequest(snapshot=contested(left_quota_milli=0), cycles=3, interval={"seconds": 30})
    first, second, third = here(asked)
    assert kind(first, "waits") == "OUTCOME_KIND_WAITING_FOR_VICTIMS"
    assert evicted(first) == {"runs-0", "runs-1"}
    assert kind(second, "waits") == "OUTCOME_KIND_BOUND"
    assert kind(second, "runs") != "OUTCOME_KIND_BOUND"
    assert not evicted(third)
    times = [answer.based_on.now.seconds for answer in (first, second, third)]
    assert times == [START, START + 30, START + 60]
    assert verify(asked.snapshot, first) == []


def test_promises_are_in_flight_in_the_next_cycle_by_the_id_of_their_group() -> None:
    first, second, third = here(SimulateRequest(snapshot=contested(left_quota_milli=0), cycles=3))
    (promised,) = (
        group.id for group in first.groups if any(step.HasField("hold") for step in group.decisions)
    )
    assert [status.id for status in second.in_flight_groups] == [promised]
    assert [group.in_flight_group for group in second.groups if group.action == "redeem"] == [promised]
    assert not third.in_flight_groups


def test_a_cycle_that_is_stopped_is_the_last() -> None:
    asked = request(cycles=5)
    (answer,) = Simulator(PROFILE).simulate(asked, stop=lambda: True).cycles
    assert answer.stopped_early


def test_cycles_are_a_minute_apart_unless_it_is_said() -> None:
    times = [each.based_on.now.seconds for each in here(request(cycles=2))]
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
            "actions[0]: unknown action 'fire'; known: allocate, consolidation, reclaim, preempt, requeue,"
            " stalegangeviction"
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
        'removes { shapes: "half" }',
        ["snapshot.pods['runs-1'].shape: there is no shape with id 'half'"],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_name_their_place_in_the_request(name: str) -> None:
    text, faults = FAULTS[name]
    asked = text_format.Parse(text, SimulateRequest()) if name == "no state" else request(text)
    with pytest.raises(Violations) as caught:
        here(asked)
    assert list(map(str, caught.value.violations)) == faults


@pytest.mark.parametrize("how", BAD_SNAPSHOTS)
def test_a_malformed_snapshot_is_refused_by_field_over_the_wire(client: Client, how: str) -> None:
    with pytest.raises(InvalidSnapshot) as caught:
        client.simulate(SimulateRequest(snapshot=broken(small_snapshot(), how)))
    assert [violation.field.partition(".")[0] for violation in caught.value.violations] == ["snapshot"] * len(
        BAD_SNAPSHOTS[how]
    )


def test_a_pushed_state_is_simulated_on_as_if_it_came_along(client: Client) -> None:
    text = OVERLAYS["a queue has another quota"][0]
    state = client.put_snapshot("first", small_snapshot())
    asked = text_format.Parse(text, SimulateRequest(state=state, cycles=3))
    assert list(client.simulate(asked).cycles) == here(request(text, cycles=3))


def test_nothing_that_is_kept_counted_or_logged_changes(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """Simulate then Decide equals Decide: a state and what it remembers are as they were."""
    snapshot = contested(left_quota_milli=0)
    state = client.put_snapshot("pure", snapshot)
    before = client.decide_on(state).SerializeToString(deterministic=True)
    counted()
    with caplog.at_level(logging.DEBUG):
        for text in (*(text for text, _ in OVERLAYS.values()), "cycles: 20"):
            asked = text_format.Parse(text, SimulateRequest(state=state))
            try:
                client.simulate(asked)
            except InvalidSnapshot:
                continue
    assert counted() == {}
    assert lines(caplog.records) == []
    assert client.decide_on(state).SerializeToString(deterministic=True) == before
    assert client.decide(snapshot).SerializeToString(deterministic=True) == before


def test_what_is_asked_is_not_changed() -> None:
    asked = request(OVERLAYS["a queue has another quota"][0], cycles=5)
    copy = SimulateRequest()
    copy.CopyFrom(asked)
    here(asked)
    assert asked == copy


def test_a_simulator_knows_a_profile_and_nothing_else() -> None:
    assert vars(Simulator(PROFILE)) == {"_profile": PROFILE}


def test_an_unknown_state_is_refused(client: Client) -> None:
    with pytest.raises(StaleState):
        client.simulate(SimulateRequest(state=StateReference(cluster_id="who", epoch="?", version=1)))
