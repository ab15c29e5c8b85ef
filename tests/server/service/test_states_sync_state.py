"""Deltas on a stream: each has a response, and an invalid delta does not end the stream."""

import threading
from collections.abc import Iterator

import grpc
import pytest
from tenure.server.settings.server import MaxRows
from tenure.v1 import state_pb2 as pb
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Pod

from tests.attacks.hostile_requests import field
from tests.server.servers import run_server
from tests.state.state_calls import delta, push, stub, sync


def test_every_delta_of_a_stream_gets_a_response() -> None:
    first = delta()
    second = delta(pb.StateReference(cluster_id="test", epoch="e", version=8))
    bad = delta(second.base, upserts=ClusterSnapshot(pods=[Pod(uid="x")]))
    gap = delta()
    gap.version = 20
    with stub() as service:
        push(service)
        answers = sync(service, [first, bad, second, gap, first])
    assert [answer.nonce for answer in answers] == ["n0", "n1", "n2", "n3"]
    assert [answer.state.version for answer in answers] == [8, 8, 9, 9]
    assert [answer.error.code for answer in answers] == [
        pb.STATE_ERROR_CODE_UNSPECIFIED,
        pb.STATE_ERROR_CODE_INVALID,
        pb.STATE_ERROR_CODE_UNSPECIFIED,
        pb.STATE_ERROR_CODE_VERSION_GAP,
    ]
    assert [answer.error.resync_required for answer in answers] == [False, False, False, True]
    assert answers[1].error.violations[0].field == "upserts.pods[0].pod_group"


def raw_stream(request: pb.SyncStateRequest) -> bytes:
    return request.SerializeToString()


def valid_delta(version: int = 7) -> bytes:
    base = pb.StateReference(cluster_id="test", epoch="e", version=version)
    return raw_stream(pb.SyncStateRequest(nonce="good", delta=delta(base)))


UNREADABLE = {
    "garbage": (b"\x0a\xff", "", pb.STATE_ERROR_CODE_INVALID, []),
    "garbage after the nonce": (field(1, b"n") + field(2, b"\xff"), "n", pb.STATE_ERROR_CODE_INVALID, []),
    "no nonce": (raw_stream(pb.SyncStateRequest(delta=delta())), "", pb.STATE_ERROR_CODE_INVALID, ["nonce"]),
    "long nonce": (field(1, b"n" * 300), "", pb.STATE_ERROR_CODE_INVALID, ["nonce"]),
    "long name": (
        raw_stream(
            pb.SyncStateRequest(
                nonce="n", delta=delta(upserts=ClusterSnapshot(pods=[Pod(), Pod(uid="x" * 300)]))
            )
        ),
        "n",
        pb.STATE_ERROR_CODE_INVALID,
        ["upserts.pods[1].uid"],
    ),
    "too many rows": (
        raw_stream(pb.SyncStateRequest(nonce="n", delta=delta(upserts=ClusterSnapshot(pods=[Pod()] * 6)))),
        "n",
        pb.STATE_ERROR_CODE_TOO_LARGE,
        ["pods"],
    ),
    "nothing": (b"", "", pb.STATE_ERROR_CODE_INVALID, ["nonce"]),
}


@pytest.mark.parametrize("how", UNREADABLE)
def test_invalid_message_gets_an_error_response_and_the_stream_continues(how: str) -> None:
    bad, nonce, code, violating = UNREADABLE[how]
    rows = MaxRows(pods=5)
    with run_server(max_rows=rows) as (_, address), grpc.insecure_channel(address) as channel:
        push(DecisionServiceStub(channel))
        sync_raw = channel.stream_stream("/tenure.v1.DecisionService/SyncState")
        sent = iter([valid_delta(), bad, valid_delta(8)])
        answers = list(map(pb.SyncStateResponse.FromString, sync_raw(sent, timeout=10)))
    assert [answer.state.version for answer in answers] == [8, 0, 9]
    assert [answer.nonce for answer in answers] == ["good", nonce, "good"]
    fault = answers[1].error
    assert (fault.code, fault.resync_required) == (code, False)
    assert [found.field for found in fault.violations] == violating
    assert fault.message


def test_idle_stream_is_closed() -> None:
    halt = threading.Event()
    with (
        stub(stream_idle_timeout=10**8) as service,
        pytest.raises(grpc.RpcError, match="stream idle timeout") as caught,
    ):
        list(service.SyncState(iter(halt.wait, True), timeout=10))
    halt.set()
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def test_streams_beyond_the_limit_are_rejected_as_retryable() -> None:
    halt = threading.Event()

    def slow() -> Iterator[pb.SyncStateRequest]:
        yield pb.SyncStateRequest(nonce="a", delta=delta())
        halt.wait(10)

    with stub(max_streams=1) as service:
        push(service)
        first = service.SyncState(slow(), timeout=10)
        assert next(first).state.version == 8
        with pytest.raises(grpc.RpcError, match="too many open streams") as caught:
            push(service)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        halt.set()
        assert not list(first)


def test_draining_server_closes_idle_streams() -> None:
    halt = threading.Event()

    def slow() -> Iterator[pb.SyncStateRequest]:
        yield pb.SyncStateRequest(nonce="a", delta=delta())
        halt.wait(10)

    with run_server() as (server, address), grpc.insecure_channel(address) as channel:
        service = DecisionServiceStub(channel)
        push(service)
        answers = service.SyncState(slow(), timeout=10)
        next(answers)
        assert server.drain()
        with pytest.raises(grpc.RpcError, match="draining"):
            next(answers)
        halt.set()
