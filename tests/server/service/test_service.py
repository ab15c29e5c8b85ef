"""The service over a real connection: responses, rejections, limits and internal errors."""

import logging
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest
from grpc_status import rpc_status
from tenure.client import (
    Client,
    DeadlineExceeded,
    InternalError,
    InvalidSnapshot,
    MessageTooLarge,
    Unavailable,
)
from tenure.codec.engine import Engine
from tenure.server.errors import MAX_VIOLATIONS
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest

from tests.codec.snapshots.invalid_snapshots import INVALID_SNAPSHOTS, apply_change
from tests.server.servers import BlockingEngine, FailingEngine, run_server
from tests.small_snapshot import small_snapshot

DECIDE = "/tenure.v1.DecisionService/Decide"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with run_server(max_message_mib=1) as (_, address):
        yield address


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[Client]:
    with Client(address, timeout=20) as client:
        yield client


def test_response_equals_that_of_the_engine(client: Client) -> None:
    here = Engine(default_profile()).decide(DecideRequest(snapshot=small_snapshot())).parse()
    assert client.decide(small_snapshot()).SerializeToString() == here.SerializeToString()


def test_actions_of_the_request_are_used(client: Client) -> None:
    here = (
        Engine(default_profile())
        .decide(DecideRequest(snapshot=small_snapshot(), actions=["preempt"]))
        .parse()
    )
    assert client.decide(small_snapshot(), actions=["preempt"]) == here


@pytest.mark.parametrize("how", INVALID_SNAPSHOTS)
def test_malformed_snapshot_is_rejected_by_field(client: Client, how: str) -> None:
    with pytest.raises(InvalidSnapshot) as caught:
        client.decide(apply_change(small_snapshot(), how))
    assert tuple(map(str, caught.value.violations)) == INVALID_SNAPSHOTS[how]


def test_server_works_after_rejected_requests(client: Client) -> None:
    for how in INVALID_SNAPSHOTS:
        with pytest.raises(InvalidSnapshot):
            client.decide(apply_change(small_snapshot(), how))
    assert client.decide(small_snapshot()).outcomes


def test_only_the_first_of_many_violations_are_returned(client: Client) -> None:
    snapshot = small_snapshot()
    for i in range(500):
        snapshot.pods.add(uid=f"p{i}", pod_group="waits", shape="gpu")
    with pytest.raises(InvalidSnapshot, match="are invalid; the details name the first 50") as caught:
        client.decide(snapshot)
    assert len(caught.value.violations) == MAX_VIOLATIONS
    assert caught.value.violations[0].field == "pods[4].status"


def test_long_violations_are_shortened_to_the_trailer_limit(client: Client) -> None:
    snapshot = small_snapshot()
    for i in range(100):
        snapshot.pods.add(uid=f"p{i}", pod_group="x" * 250, shape="y" * 250)
    with pytest.raises(InvalidSnapshot) as caught:
        client.decide(snapshot)
    assert 0 < len(caught.value.violations) < MAX_VIOLATIONS


def test_rejection_has_standard_bad_request_details(address: str) -> None:
    with grpc.insecure_channel(address) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(DECIDE)(b"", timeout=10)
    status = rpc_status.from_call(caught.value)
    details = BadRequest()
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert status.details[0].Unpack(details)
    assert [violation.field for violation in details.field_violations] == ["snapshot"]


@pytest.mark.parametrize("garbage", [b"hello there", b"\x0a\x05\x0a\x03\xff\xfe\xfd"])
def test_bytes_that_are_not_a_message_are_rejected(address: str, garbage: bytes) -> None:
    with grpc.insecure_channel(address) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(DECIDE)(garbage, timeout=10)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details() == "the message is not a tenure.v1.DecideRequest"


def test_too_large_message_is_rejected(client: Client) -> None:
    snapshot = small_snapshot()
    snapshot.nodes[0].labels["big"] = "x" * 2**20
    with pytest.raises(MessageTooLarge, match="send less, or raise maxMessageMib"):
        client.decide(snapshot)
    assert client.decide(small_snapshot()).outcomes


def test_call_without_deadline_gets_a_response(address: str) -> None:
    request = DecideRequest(snapshot=small_snapshot())
    with grpc.insecure_channel(address) as channel:
        assert channel.unary_unary(DECIDE)(request.SerializeToString())


def test_cycles_run_one_by_one_and_callers_time_out_at_their_deadline() -> None:
    engine = BlockingEngine()
    with run_server(engine) as (_, address), Client(address) as client, ThreadPoolExecutor() as pool:
        first = pool.submit(client.decide, small_snapshot())
        assert engine.entered.acquire(timeout=10)
        with pytest.raises(DeadlineExceeded, match="did not respond in time"):
            client.decide(small_snapshot(), timeout=0.5)
        assert not engine.entered.acquire(blocking=False)
        engine.release.set()
        assert first.result(10).outcomes


def test_calls_beyond_the_queue_limit_are_rejected_as_retryable() -> None:
    engine = BlockingEngine()
    with (
        run_server(engine, max_queued_calls=1) as (_, address),
        Client(address) as client,
        ThreadPoolExecutor() as pool,
    ):
        calls = [pool.submit(client.decide, small_snapshot()) for _ in range(3)]
        (refused,), waiting = wait(calls, 10, FIRST_COMPLETED)
        engine.release.set()
        assert isinstance(refused.exception(), Unavailable)
        assert "is busy: too many queued calls" in str(refused.exception())
        assert all(call.result(10).outcomes for call in waiting)


def test_internal_error_is_logged_with_traceback_and_returned_without(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with (
        caplog.at_level(logging.ERROR),
        run_server(FailingEngine(default_profile())) as (_, address),
        Client(address) as client,
        pytest.raises(InternalError) as caught,
    ):
        client.decide(small_snapshot())
    assert "secret of the inside" in caplog.text
    assert "Traceback" in caplog.text
    assert str(caught.value).endswith(
        "failed with INTERNAL: internal error; no decision was made; please report it"
    )
