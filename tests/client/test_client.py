"""The client: it waits, retries, and fails with errors that say what to do."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from tenure.client import (
    Client,
    DeadlineExceeded,
    InvalidSnapshot,
    ServerDefect,
    TenureError,
    TooLarge,
    Unavailable,
)
from tenure.client import errors as client_errors
from tenure.server.engine import Engine
from tenure.server.serving import Server
from tenure.server.settings import ServerLimits
from tenure.solver.registry import default_profile

from tests.server.given import small_snapshot
from tests.server.running import server_here
from tests.states.calls import delta


def free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def start_later(address: str, seconds: float) -> Server:
    server = Server(Engine(default_profile()), ServerLimits())
    threading.Timer(seconds, server.start, [address]).start()
    return server


def test_client_waits_for_a_server_that_is_about_to_start() -> None:
    address = free_address()
    server = start_later(address, 0.5)
    with Client(address, timeout=20) as client:
        assert client.decide(small_snapshot()).outcomes
    server.drain()


def test_client_survives_a_server_that_is_replaced() -> None:
    with server_here() as (server, address), Client(address, timeout=20) as client:
        assert client.decide(small_snapshot()).outcomes
        server.drain()
        replacement = start_later(address, 0.5)
        assert client.decide(small_snapshot()).outcomes
        replacement.drain()


def test_server_that_went_since_its_last_answer_is_unavailable() -> None:
    with server_here() as (server, address), Client(address, timeout=5) as client:
        assert client.decide(small_snapshot()).outcomes
        server.drain()
        with pytest.raises(Unavailable, match="no server answers"):
            client.decide(small_snapshot())


def test_threads_may_share_a_client() -> None:
    with server_here() as (_, address), Client(address) as client, ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(client.decide, [small_snapshot()] * 8))
    assert all(answer == answers[0] for answer in answers)


def test_one_call_takes_a_delta_and_answers_with_what_to_refer_to_next() -> None:
    with server_here() as (_, address), Client(address) as client:
        base = client.put_snapshot("e", small_snapshot())
        first = delta(base)
        state, answer = client.decide_after(first)
        assert state == client.apply_delta(first)
        assert answer == client.decide_on(state)
        later, answer = client.decide_after(delta(state, now=first.now))
        assert later.version == answer.based_on.version == state.version + 1


@pytest.mark.parametrize("address", ["127.0.0.1:1", "no-such-host.invalid:1"])
def test_address_where_nobody_answers_is_unavailable(address: str) -> None:
    began = time.monotonic()
    with Client(address) as client, pytest.raises(Unavailable, match=f"no server answers at {address}"):
        client.decide(small_snapshot(), timeout=0.3)
    assert time.monotonic() - began < 5


def test_listener_that_is_no_server_is_unavailable() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with Client(address, timeout=0.3) as client, pytest.raises(Unavailable):
            client.decide(small_snapshot())


def test_server_without_our_service_is_a_defect() -> None:
    other = grpc.server(ThreadPoolExecutor(1))
    port = other.add_insecure_port("127.0.0.1:0")
    other.start()
    with Client(f"127.0.0.1:{port}", timeout=5) as client, pytest.raises(ServerDefect, match="UNIMPLEMENTED"):
        client.decide(small_snapshot())
    other.stop(None).wait()


def test_invalid_snapshot_lists_its_violations() -> None:
    snapshot = small_snapshot()
    snapshot.ClearField("cluster_id")
    with server_here() as (_, address), Client(address) as client, pytest.raises(InvalidSnapshot) as caught:
        client.decide(snapshot, actions=["no"])
    assert [violation.field for violation in caught.value.violations] == ["cluster_id", "actions[0]"]
    assert str(caught.value).startswith("2 field(s) of the request are invalid\n  cluster_id: is required\n")


@pytest.mark.parametrize("kind", [DeadlineExceeded, InvalidSnapshot, ServerDefect, TooLarge, Unavailable])
def test_every_error_is_a_tenure_error_and_drawn_in_the_tree(kind: type[TenureError]) -> None:
    assert issubclass(kind, TenureError)
    assert kind.__name__ in (client_errors.__doc__ or "")
    assert kind.__doc__
