"""The client: waiting, retries, and errors that name the fix."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from tenure.client import (
    Client,
    DeadlineExceeded,
    InternalError,
    InvalidSnapshot,
    MessageTooLarge,
    TenureError,
    Unavailable,
    UnsupportedFeature,
)
from tenure.client import errors as client_errors
from tenure.codec.engine import Engine
from tenure.server.grpc_server import GrpcServer
from tenure.server.settings import ServerLimits
from tenure.solver.registry import default_profile

from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot
from tests.state.state_calls import delta


def free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def start_server_after(address: str, seconds: float) -> GrpcServer:
    server = GrpcServer(Engine(default_profile()), ServerLimits())
    threading.Timer(seconds, server.start, [address]).start()
    return server


def test_client_retries_until_the_server_starts() -> None:
    address = free_address()
    server = start_server_after(address, 0.5)
    with Client(address, timeout=20) as client:
        assert client.decide(small_snapshot()).outcomes
    server.drain()


def test_client_survives_a_server_that_is_replaced() -> None:
    with run_server() as (server, address), Client(address, timeout=20) as client:
        assert client.decide(small_snapshot()).outcomes
        server.drain()
        replacement = start_server_after(address, 0.5)
        assert client.decide(small_snapshot()).outcomes
        replacement.drain()


@pytest.mark.long
def test_server_stopped_after_a_response_is_unavailable() -> None:
    with run_server() as (server, address), Client(address, timeout=5) as client:
        assert client.decide(small_snapshot()).outcomes
        server.drain()
        with pytest.raises(Unavailable, match="no response from"):
            client.decide(small_snapshot())


def test_threads_can_share_a_client() -> None:
    with run_server() as (_, address), Client(address) as client, ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(client.decide, [small_snapshot()] * 8))
    assert all(answer == answers[0] for answer in answers)


def test_apply_and_decide_returns_the_next_state_reference() -> None:
    with run_server() as (_, address), Client(address) as client:
        base = client.put_snapshot("e", small_snapshot())
        first = delta(base)
        state, answer = client.apply_and_decide(first)
        assert state == client.apply_delta(first)
        assert answer == client.decide_state(state)
        later, answer = client.apply_and_decide(delta(state, now=first.now))
        assert later.version == answer.header.version == state.version + 1


@pytest.mark.parametrize("address", ["127.0.0.1:1", "no-such-host.invalid:1"])
def test_address_without_listener_is_unavailable(address: str) -> None:
    began = time.monotonic()
    with Client(address) as client, pytest.raises(Unavailable, match=f"no response from {address}"):
        client.decide(small_snapshot(), timeout=0.3)
    assert time.monotonic() - began < 5


def test_listener_without_grpc_is_unavailable() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with Client(address, timeout=0.3) as client, pytest.raises(Unavailable):
            client.decide(small_snapshot())


def test_server_without_decision_service_lacks_the_method() -> None:
    other = grpc.server(ThreadPoolExecutor(1))
    port = other.add_insecure_port("127.0.0.1:0")
    other.start()
    with (
        Client(f"127.0.0.1:{port}", timeout=5) as client,
        pytest.raises(UnsupportedFeature, match="lacks a method or feature"),
    ):
        client.decide(small_snapshot())
    other.stop(None).wait()


def test_invalid_snapshot_lists_its_violations() -> None:
    snapshot = small_snapshot()
    snapshot.ClearField("cluster_id")
    with run_server() as (_, address), Client(address) as client, pytest.raises(InvalidSnapshot) as caught:
        client.decide(snapshot, actions=["no"])
    assert [violation.field for violation in caught.value.violations] == ["cluster_id", "actions[0]"]
    assert str(caught.value).startswith("2 field(s) of the request are invalid\n  cluster_id: is required\n")


@pytest.mark.parametrize(
    "kind", [DeadlineExceeded, InvalidSnapshot, InternalError, MessageTooLarge, Unavailable]
)
def test_every_error_is_a_tenure_error_and_listed_in_the_module_docstring(kind: type[TenureError]) -> None:
    assert issubclass(kind, TenureError)
    assert kind.__name__ in (client_errors.__doc__ or "")
    assert kind.__doc__
