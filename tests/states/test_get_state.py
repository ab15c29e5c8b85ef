"""A kept state is read as it could be pushed again."""

import time
from collections.abc import Iterator

import grpc
import pytest
from tenure.client import Client, StaleState
from tenure.v1 import state_pb2 as pb
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.draw import SeededDraw
from tests.server.running import server_here
from tests.states.engine import short_engine
from tests.states.forms import rows
from tests.states.made import made_snapshot
from tests.states.mixed import mixed

LARGE = pb.GetStateRequest(cluster_id="made", node_pool="pool")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with server_here(short_engine()) as (_, address), Client(address) as client:
        yield client


def large_snapshot() -> ClusterSnapshot:
    """Of some twenty pieces."""
    snapshot = made_snapshot(SeededDraw(3), 4, 500)
    for group in snapshot.pod_groups:
        group.annotations["note"] = "x" * 100_000
    return snapshot


def test_what_is_read_is_what_was_pushed(client: Client) -> None:
    pushed = large_snapshot()
    state = client.put_snapshot("e", mixed(SeededDraw(1), pushed))
    reference, read = client.get_state("made", "pool")
    assert reference == state
    assert rows(read) == rows(pushed)


def test_state_that_is_read_is_decided_on_alike(client: Client) -> None:
    snapshot = made_snapshot(SeededDraw(5), 4, 60)
    state = client.put_snapshot("e", snapshot)
    assert client.decide(client.get_state("made", "pool")[1]) == client.decide_on(state)


def test_pieces_are_within_a_mib_and_say_what_they_are(client: Client) -> None:
    client.put_snapshot("e", large_snapshot())
    read = list(client._service.GetState(LARGE, timeout=10))
    assert len(read) > 10
    assert all(piece.ByteSize() <= 2**20 for piece in read)
    assert [piece.last for piece in read] == [*[False] * (len(read) - 1), True]
    assert [piece.HasField("state") for piece in read] == [True, *[False] * (len(read) - 1)]
    assert [piece.part.HasField("now") for piece in read] == [True, *[False] * (len(read) - 1)]


def test_what_is_read_is_of_one_version_whatever_comes_meanwhile(client: Client) -> None:
    pushed = large_snapshot()
    state = client.put_snapshot("e", pushed)
    pieces = client._service.GetState(LARGE, timeout=10)
    read = [next(pieces)]
    every_group = pb.StateKeys(pods=[pod.uid for pod in pushed.pods])
    client.apply_delta(pb.StateDelta(base=state, version=99, now=pushed.now, removes=every_group))
    read += pieces
    assert sum(len(piece.part.pod_columns.uid) + len(piece.part.pods) for piece in read) == len(pushed.pods)
    assert not client.get_state("made", "pool")[1].pods


def test_nothing_to_read_is_a_failed_precondition_that_says_so(client: Client) -> None:
    with pytest.raises(StaleState, match="no state of cluster 'nowhere' and node pool 'pool'") as caught:
        client.get_state("nowhere", "pool")
    assert caught.value.code == "UNKNOWN_STATE"


def test_reader_who_stops_reading_is_hung_up_on_and_its_stream_is_free_again() -> None:
    with (
        server_here(max_streams=1, stream_idle_timeout=2 * 10**8) as (_, address),
        Client(address) as client,
        grpc.insecure_channel(address) as channel,
    ):
        client.put_snapshot("e", large_snapshot())
        pieces = DecisionServiceStub(channel).GetState(LARGE, timeout=10)
        next(pieces)
        time.sleep(0.5)
        assert client.put_snapshot("f", large_snapshot()).epoch == "f"
        with pytest.raises(grpc.RpcError) as caught:
            list(pieces)
        assert caught.value.code() is grpc.StatusCode.CANCELLED
