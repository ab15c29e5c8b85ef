"""Limits over a real connection: states, pieces, names, ages and connections."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import PreconditionFailure
from grpc_status import rpc_status
from tenure.server.settings.server import MaxRows
from tenure.solver.model.duration import SECOND
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.capabilities_pb2 import GetCapabilitiesRequest
from tenure.v1.decision_service_pb2 import DecideRequest
from tenure.v1.state_pb2 import PutSnapshotRequest, StateReference

from tests.server.given import small_snapshot
from tests.server.running import server_here
from tests.states.calls import BASE, delta

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))


@contextmanager
def asking(**limits: object) -> Iterator[grpc.Channel]:
    with server_here(**limits) as (_, address), grpc.insecure_channel(address) as channel:
        yield channel


def call(channel: grpc.Channel, method: str, *messages: Message) -> None:
    requests = (message.SerializeToString() for message in messages)
    for _ in channel.stream_stream(f"/tenure.v1.DecisionService/{method}")(requests, timeout=20):
        pass


def failure(channel: grpc.Channel, method: str, *messages: Message) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as caught:
        call(channel, method, *messages)
    return caught.value


def pieces() -> list[PutSnapshotRequest]:
    """The small snapshot in two pieces, two pods in each."""
    first, second = small_snapshot(), pb.ClusterSnapshot()
    second.pods.extend(first.pods[2:])
    del first.pods[2:]
    return [PutSnapshotRequest(epoch="e", part=first), PutSnapshotRequest(part=second, last=True)]


def test_rows_of_all_pieces_together_are_limited() -> None:
    with asking(max_rows=MaxRows().model_copy(update={"pods": 3})) as channel:
        ended = failure(channel, "PutSnapshot", *pieces())
    assert ended.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert ended.details().startswith("in the state pods has more than 3 rows, the limit pods: send fewer")


@pytest.mark.parametrize(
    "question", [DecideRequest(state=BASE), DecideRequest(delta=delta())], ids=["by reference", "by a delta"]
)
def test_state_that_is_too_old_is_refused_as_such(question: DecideRequest) -> None:
    with asking(max_staleness=3600 * SECOND) as channel:
        call(channel, "PutSnapshot", *pieces())
        ended = failure(channel, "Decide", question)
    assert ended.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "old, more than 1h: send what changed since" in ended.details()
    details = PreconditionFailure()
    assert rpc_status.from_call(ended).details[0].Unpack(details)
    assert [violation.type for violation in details.violations] == ["STATE_FAULT_CODE_STALE"]


def test_state_of_any_age_is_fine_unless_said_otherwise() -> None:
    with asking() as channel:
        call(channel, "PutSnapshot", *pieces())
        call(channel, "Decide", DecideRequest(state=StateReference(cluster_id="test", epoch="e", version=7)))


def test_names_are_limited_in_every_method() -> None:
    reference = StateReference(cluster_id="x" * 300, epoch="e")
    with asking() as channel:
        ended = failure(channel, "Decide", DecideRequest(state=reference))
    assert ended.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "1 field(s) of the request are invalid" in ended.details()


def test_connections_beyond_the_limit_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.server.transport.MAX_CONNECTIONS", 20)
    with server_here() as (_, address), grpc.insecure_channel(address) as channel:
        call(channel, "GetCapabilities", GetCapabilitiesRequest())
        connections = [connected(address) for _ in range(40)]
        try:
            assert sum(map(is_closed, connections)) == 21
            call(channel, "GetCapabilities", GetCapabilitiesRequest())
        finally:
            for connection in connections:
                connection.close()


def connected(address: str) -> socket.socket:
    """A connection that said what an HTTP/2 client says first."""
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=5)
    connection.sendall(PREFACE)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side hung up; the settings that it sends first are no sign of that."""
    connection.settimeout(0.5)
    try:
        return not connection.recv(9)
    except ConnectionError:
        return True
