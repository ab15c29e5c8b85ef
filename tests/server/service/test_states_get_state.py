"""GetState returns a pushed state in a form that can be pushed again."""

import time
from collections.abc import Callable, Iterator

import grpc
import pytest
from tenure.client import Client, StateMismatch
from tenure.v1 import state_pb2 as pb
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.columns import to_columns, to_pods

from tests.properties.generators.draw import SeededDraw
from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot
from tests.state.column_forms import mix_columns
from tests.state.generated_snapshots import generate_snapshot
from tests.state.short_engine import short_engine
from tests.state.snapshot_forms import rows

LARGE = pb.GetStateRequest(cluster_id="made", node_pool="pool")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server(short_engine()) as (_, address), Client(address) as client:
        yield client


def large_snapshot() -> ClusterSnapshot:
    """A snapshot of about twenty chunks."""
    snapshot = generate_snapshot(SeededDraw(3), 4, 500)
    for group in snapshot.pod_groups:
        group.annotations["note"] = "x" * 100_000
    return snapshot


def test_returned_state_equals_the_pushed_snapshot(client: Client) -> None:
    pushed = large_snapshot()
    state = client.put_snapshot("returned", mix_columns(SeededDraw(1), pushed))
    reference, read = client.get_state("made", "pool")
    assert reference == state
    assert rows(read) == rows(pushed)


def test_decision_on_the_returned_state_is_the_same(client: Client) -> None:
    snapshot = generate_snapshot(SeededDraw(5), 4, 60)
    state = client.put_snapshot("decided", snapshot)
    assert client.decide(client.get_state("made", "pool")[1]) == client.decide_state(state)


def test_chunks_are_at_most_one_mib_and_identify_their_state(client: Client) -> None:
    client.put_snapshot("chunks", large_snapshot())
    read = list(client._service.GetState(LARGE, timeout=10))
    assert len(read) > 10
    assert all(piece.ByteSize() <= 2**20 for piece in read)
    assert [piece.last_chunk for piece in read] == [*[False] * (len(read) - 1), True]
    assert [piece.HasField("state") for piece in read] == [True, *[False] * (len(read) - 1)]
    assert [piece.chunk.HasField("now") for piece in read] == [True, *[False] * (len(read) - 1)]


def test_returned_state_has_one_version_despite_concurrent_pushes(client: Client) -> None:
    pushed = large_snapshot()
    state = client.put_snapshot("version", pushed)
    pieces = client._service.GetState(LARGE, timeout=10)
    read = [next(pieces)]
    every_group = pb.StateKeys(pods=[pod.uid for pod in pushed.pods])
    client.apply_delta(pb.StateDelta(base=state, version=99, now=pushed.now, removals=every_group))
    read += pieces
    assert sum(len(piece.chunk.pod_columns.uid) + len(piece.chunk.pods) for piece in read) == len(pushed.pods)
    assert not client.get_state("made", "pool")[1].pods


def test_missing_state_is_a_failed_precondition(client: Client) -> None:
    with pytest.raises(StateMismatch, match="unknown state: cluster 'nowhere', node pool 'pool'") as caught:
        client.get_state("nowhere", "pool")
    assert caught.value.code == "UNKNOWN_STATE"


def test_stalled_reader_is_disconnected_and_its_stream_released() -> None:
    with (
        run_server(max_streams=1, stream_idle_timeout=2 * 10**8) as (_, address),
        Client(address) as client,
        grpc.insecure_channel(address) as channel,
    ):
        client.put_snapshot("pushed", large_snapshot())
        pieces = DecisionServiceStub(channel).GetState(LARGE, timeout=10)
        next(pieces)
        time.sleep(0.5)
        assert client.put_snapshot("f", large_snapshot()).epoch == "f"
        with pytest.raises(grpc.RpcError) as caught:
            list(pieces)
        assert caught.value.code() is grpc.StatusCode.CANCELLED


@pytest.mark.parametrize("form", [to_pods, to_columns])
def test_pods_come_back_as_columns_however_they_were_pushed(
    client: Client, form: Callable[[ClusterSnapshot], ClusterSnapshot]
) -> None:
    """Except for those with a field that has no column."""
    pushed = ClusterSnapshot()
    pushed.CopyFrom(small_snapshot())
    pushed.cluster_id = "forms"
    client.put_snapshot(f"{form.__name__}", form(pushed))
    request = pb.GetStateRequest(cluster_id="forms")
    chunks = [response.chunk for response in client._read_state(request, None)]
    in_rows = {pod.uid for chunk in chunks for pod in chunk.pods}
    in_columns = {uid for chunk in chunks for uid in chunk.pod_columns.uid}
    assert in_rows | in_columns == {pod.uid for pod in pushed.pods}
    assert in_rows & in_columns == set()
    assert in_rows == {pod.uid for pod in to_columns(pushed).pods}
    assert in_columns
