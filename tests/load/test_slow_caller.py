"""H9: callers whose messages never complete do not block other callers and are disconnected."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from tenure.client import Client
from tenure.server import grpc_server, receive_limits
from tenure.v1.decide_pb2 import DecideRequest

from tests.load.slow_caller import begin_call, seconds_until_disconnect
from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot

pytestmark = pytest.mark.long

SERVICE = "/tenure.v1.DecisionService/"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
PATIENCE = 0.4
UNARY = [f"{SERVICE}{name}" for name in ("Decide", "ApplyDelta", "Simulate", "GetState")]
STREAMS = [f"{SERVICE}{name}" for name in ("PutSnapshot", "SyncState")]


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    limits = partial(receive_limits.ReceiveLimits, seconds=PATIENCE)
    monkeypatch.setattr(grpc_server, "ReceiveLimits", limits)
    with run_server(stream_idle_timeout=int(PATIENCE * 10**9)) as (_, address):
        yield address


@pytest.mark.parametrize("method", [*UNARY, *STREAMS, "/grpc.health.v1.Health/Check", REFLECTION])
def test_message_sent_byte_by_byte_is_disconnected(method: str, address: str) -> None:
    with begin_call(address, method) as connection:
        assert PATIENCE * 0.9 <= seconds_until_disconnect(connection, 0.05, 10) < 3


def test_slow_but_complete_message_gets_a_response(address: str) -> None:
    def late() -> Iterator[bytes]:
        time.sleep(PATIENCE / 2)
        yield DecideRequest(snapshot=small_snapshot()).SerializeToString()

    with grpc.insecure_channel(address) as channel:
        (answer,) = channel.stream_stream(f"{SERVICE}Decide")(late(), timeout=10)
    assert answer


@pytest.mark.parametrize("method", [f"{SERVICE}Decide", "/grpc.health.v1.Health/Check", REFLECTION])
def test_calls_without_message_do_not_delay_other_calls(method: str) -> None:
    halt = threading.Event()
    with run_server() as (_, address), Client(address, timeout=10) as client, ExitStack() as connections:
        for _ in range(4):
            connection = connections.enter_context(own_connection(address))
            for _ in range(200):
                connection.stream_stream(method)(iter(halt.wait, True))
        health = HealthStub(connections.enter_context(own_connection(address)))
        for _ in range(5):
            assert health.Check(HealthCheckRequest(), timeout=5).status == HealthCheckResponse.SERVING
            assert client.decide(small_snapshot()).outcomes
        halt.set()


def own_connection(address: str) -> grpc.Channel:
    return grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
