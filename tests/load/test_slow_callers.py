"""H9: callers whose messages never come hold nobody up, and are hung up on."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from tenure.client import Client
from tenure.server import arrivals, serving
from tenure.v1.decision_service_pb2 import DecideRequest

from tests.load.trickle import begun_call, seconds_until_hung_up
from tests.server.given import small_snapshot
from tests.server.running import server_here

SERVICE = "/tenure.v1.DecisionService/"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
PATIENCE = 0.4
UNARY = [f"{SERVICE}{name}" for name in ("Decide", "ApplyDelta", "Simulate", "GetState")]
STREAMS = [f"{SERVICE}{name}" for name in ("PutSnapshot", "SyncState")]


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(serving, "Arrivals", lambda: arrivals.Arrivals(PATIENCE))
    with server_here(stream_idle_timeout=int(PATIENCE * 10**9)) as (_, address):
        yield address


@pytest.mark.parametrize("method", [*UNARY, *STREAMS, "/grpc.health.v1.Health/Check", REFLECTION])
def test_message_that_comes_byte_by_byte_is_not_waited_for(method: str, address: str) -> None:
    with begun_call(address, method) as connection:
        assert PATIENCE * 0.9 <= seconds_until_hung_up(connection, 0.05, 10) < 3


def test_message_that_is_slow_but_comes_is_answered(address: str) -> None:
    def late() -> Iterator[bytes]:
        time.sleep(PATIENCE / 2)
        yield DecideRequest(snapshot=small_snapshot()).SerializeToString()

    with grpc.insecure_channel(address) as channel:
        (answer,) = channel.stream_stream(f"{SERVICE}Decide")(late(), timeout=10)
    assert answer


@pytest.mark.parametrize("method", [f"{SERVICE}Decide", "/grpc.health.v1.Health/Check", REFLECTION])
def test_calls_without_a_message_keep_nobody_from_being_answered(method: str) -> None:
    halt = threading.Event()
    with server_here() as (_, address), Client(address, timeout=10) as client, ExitStack() as connections:
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
