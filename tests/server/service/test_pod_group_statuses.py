"""Statuses of pod groups come with a response if the request includes them, and else cost nothing."""

from collections.abc import Callable, Iterator

import pytest
from tenure.client import Client
from tenure.codec.engine import Engine
from tenure.server.solver_host import ProcessEngine, SolverPool
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.pod_group_status_pb2 import PodGroupStatus
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot


def process_engine() -> Engine:
    return ProcessEngine(default_profile(), SolverPool(default_profile()))


@pytest.fixture(scope="module", params=[lambda: None, process_engine], ids=["thread", "process"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    engine = request.param()
    with run_server(engine) as (_, address), Client(address, timeout=20) as client:
        yield client
    if engine is not None:
        engine.close()


def decide(client: Client, request: DecideRequest) -> DecideResponse:
    return client._service.Decide(request)


def whole(client: Client) -> DecideRequest:
    return DecideRequest(snapshot=small_snapshot())


def pushed(client: Client) -> DecideRequest:
    return DecideRequest(state=client.put_snapshot("pushed", small_snapshot()))


def changed(client: Client) -> DecideRequest:
    snapshot = small_snapshot()
    snapshot.pod_groups[1].priority = 100
    base = client.put_snapshot("changed", snapshot)
    upserts = ClusterSnapshot(pod_groups=[small_snapshot().pod_groups[1]])
    delta = StateDelta(base=base, version=base.version + 1, upserts=upserts, now=snapshot.now)
    return DecideRequest(delta=delta)


EXPECTED = Engine(default_profile()).decide(
    DecideRequest(snapshot=small_snapshot(), include_pod_group_statuses=True)
)


@pytest.mark.parametrize("request_of", [whole, pushed, changed])
def test_statuses_come_with_each_way_to_decide_and_change_nothing_else(
    client: Client, request_of: Callable[[Client], DecideRequest]
) -> None:
    request = request_of(client)
    plain = decide(client, request)
    request.include_pod_group_statuses = True
    answer = decide(client, request)
    assert not plain.pod_group_statuses
    assert answer.pod_group_statuses == EXPECTED.parse().pod_group_statuses
    assert answer.unusable_gpus == EXPECTED.parse().unusable_gpus
    answer.ClearField("pod_group_statuses")
    answer.ClearField("unusable_gpus")
    assert answer == plain


def test_statuses_are_those_of_the_time_of_the_request(client: Client) -> None:
    """A cached response about the state has none, and one of another time has others."""
    snapshot = small_snapshot()
    snapshot.pod_groups[1].not_before_time.seconds = snapshot.now.seconds + 60
    state = client.put_snapshot("later", snapshot)

    def held(seconds: int) -> list[int]:
        now = type(snapshot.now)(seconds=snapshot.now.seconds + seconds)
        answer = client.decide_state(state, now=now, include_pod_group_statuses=True)
        return [each.held_by for each in answer.pod_group_statuses]

    assert [held(0), held(59), held(60)] == [[0, 7], [0, 7], [0, 0]]
    assert not client.decide_state(state).pod_group_statuses


def test_state_is_read_with_statuses(client: Client) -> None:
    client.put_snapshot("read", small_snapshot())
    reference, snapshot, statuses = client.get_state_with_statuses("test")
    assert (reference, snapshot) == client.get_state("test")
    assert statuses == list(EXPECTED.parse().pod_group_statuses)


def test_every_simulated_cycle_has_the_statuses_of_its_state(client: Client) -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[1].not_before_time.seconds = snapshot.now.seconds + 60
    request = SimulateRequest(snapshot=snapshot, cycles=2, include_pod_group_statuses=True)
    cycles = client.simulate(request).cycles
    assert [[each.held_by for each in cycle.pod_group_statuses] for cycle in cycles] == [[0, 7], [0, 0]]
    request.include_pod_group_statuses = False
    plain = client.simulate(request)
    assert [cycle.pod_group_statuses[:] for cycle in plain.cycles] == [[], []]


def test_statuses_of_a_large_state_are_read_in_chunks(client: Client) -> None:
    snapshot = small_snapshot()
    for number in range(20_000):
        group = snapshot.pod_groups.add(uid=f"{number:0200}", queue="left")
        group.creation_time.seconds = 1
    client.put_snapshot("large", snapshot)
    _, _, statuses = client.get_state_with_statuses("test")
    assert len(statuses) == len({each.pod_group for each in statuses}) == 20_002
    assert sum(map(PodGroupStatus.ByteSize, statuses)) > 4 * 2**20


def test_statuses_are_no_part_of_recorded_responses() -> None:
    plain = Engine(default_profile()).decide(DecideRequest(snapshot=small_snapshot()))
    assert EXPECTED.content == plain.content
    assert EXPECTED.summary == plain.summary
