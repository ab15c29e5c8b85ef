"""Limits over a real connection: states, chunks, names, ages and connections."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import PreconditionFailure
from grpc_status import rpc_status
from tenure.server.settings.server import MaxRows
from tenure.terms.durations import SECOND
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.capabilities_pb2 import GetCapabilitiesRequest
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.state_pb2 import PutSnapshotRequest, StateReference

from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot
from tests.state.state_calls import BASE, delta

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))


@contextmanager
def open_channel(**limits: object) -> Iterator[grpc.Channel]:
    with run_server(**limits) as (_, address), grpc.insecure_channel(address) as channel:
        yield channel


def call(channel: grpc.Channel, method: str, *messages: Message) -> None:
    requests = (message.SerializeToString() for message in messages)
    for _ in channel.stream_stream(f"/tenure.v1.DecisionService/{method}")(requests, timeout=20):
        pass


def call_error(channel: grpc.Channel, method: str, *messages: Message) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as caught:
        call(channel, method, *messages)
    return caught.value


def snapshot_chunks() -> list[PutSnapshotRequest]:
    """The small snapshot in two chunks of two pods."""
    first, second = small_snapshot(), pb.ClusterSnapshot()
    second.pods.extend(first.pods[2:])
    del first.pods[2:]
    return [PutSnapshotRequest(epoch="e", chunk=first), PutSnapshotRequest(chunk=second, last_chunk=True)]


def test_rows_of_all_chunks_together_are_limited() -> None:
    with open_channel(max_rows=MaxRows().model_copy(update={"pods": 3})) as channel:
        ended = call_error(channel, "PutSnapshot", *snapshot_chunks())
    assert ended.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert ended.details().startswith("in the state pods has more than 3 rows, the limit pods: send fewer")


@pytest.mark.parametrize(
    "question", [DecideRequest(state=BASE), DecideRequest(delta=delta())], ids=["by reference", "by a delta"]
)
def test_stale_state_is_rejected(question: DecideRequest) -> None:
    with open_channel(max_staleness=3600 * SECOND) as channel:
        call(channel, "PutSnapshot", *snapshot_chunks())
        ended = call_error(channel, "Decide", question)
    assert ended.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "old, more than 1h: send a delta" in ended.details()
    details = PreconditionFailure()
    assert rpc_status.from_call(ended).details[0].Unpack(details)
    assert [violation.type for violation in details.violations] == ["STATE_ERROR_CODE_STALE"]


def test_state_of_any_age_is_accepted_by_default() -> None:
    with open_channel() as channel:
        call(channel, "PutSnapshot", *snapshot_chunks())
        call(channel, "Decide", DecideRequest(state=StateReference(cluster_id="test", epoch="e", version=7)))


def test_names_are_limited_in_every_method() -> None:
    reference = StateReference(cluster_id="x" * 300, epoch="e")
    with open_channel() as channel:
        ended = call_error(channel, "Decide", DecideRequest(state=reference))
    assert ended.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "1 field(s) of the request are invalid" in ended.details()


def test_connections_beyond_those_accepted_for_a_moment_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.server.listen_address.MAX_ACCEPTED", 20)
    with run_server() as (_, address), grpc.insecure_channel(address) as channel:
        call(channel, "GetCapabilities", GetCapabilitiesRequest())
        connections = [connected(address) for _ in range(40)]
        try:
            assert sum(map(is_closed, connections)) == 21
            call(channel, "GetCapabilities", GetCapabilitiesRequest())
        finally:
            for connection in connections:
                connection.close()


def connected(address: str) -> socket.socket:
    """Open a connection and send the first bytes of an HTTP/2 client."""
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=5)
    connection.sendall(PREFACE)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Whether the server closed the connection; its initial settings do not count."""
    connection.settimeout(0.5)
    try:
        return not connection.recv(9)
    except ConnectionError:
        return True
