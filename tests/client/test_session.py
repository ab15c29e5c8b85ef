"""A session synchronizes a state with a server, resyncs automatically, and reports errors."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tenure.client import Client, DeadlineExceeded, InvalidSnapshot, StateMismatch, StateSession, Unavailable
from tenure.client.delta_stream import DeltaStream, OnSetAside
from tenure.server.state import StateStore
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateReference
from tenure.wire.deltas import apply_deltas, compute_delta

from tests.properties.generators.draw import SeededDraw
from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot
from tests.state.column_forms import mix_columns
from tests.state.failover.restartable_server import RestartableServer
from tests.state.generated_snapshots import generate_next_snapshot, generate_snapshot
from tests.state.short_engine import short_engine
from tests.state.snapshot_forms import rows

_SECONDS: Final = 2.4
"""Timeout of a session. Its last attempt starts after 1.55 s; the rest is slack for a slow machine."""


class CountingClient(Client):
    """Records the called methods."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.called: list[str] = []
        self.streams: CountingStream

    def _call(self, method: Any, question: Any, timeout: float | None, named: Any = None) -> Any:
        self.called.append(method._method.decode().rpartition("/")[2])
        return super()._call(method, question, timeout, named)

    def _call_stream(self, method: Any, question: Any, timeout: float | None, named: Any) -> Any:
        self.called.append(method._method.decode().rpartition("/")[2])
        return super()._call_stream(method, question, timeout, named)

    def open_delta_stream(self, on_set_aside: OnSetAside | None = None) -> DeltaStream:
        self.streams = CountingStream(self._begin_deltas, self._wait_until_ready, self._address, on_set_aside)
        return self.streams


class CountingStream(DeltaStream):
    """Counts the started calls and the sent deltas."""

    begun = sent = 0

    def _open(self, base: StateReference, deadline: float) -> Any:
        self.begun += 1
        return super()._open(base, deadline)

    def send(self, delta: StateDelta, timeout: float) -> StateReference:
        self.sent += 1
        return super().send(delta, timeout)


@pytest.fixture
def client() -> Iterator[CountingClient]:
    with run_server(short_engine()) as (_, address), CountingClient(address) as client:
        yield client


def snapshot_after(seconds: int = 1) -> ClusterSnapshot:
    snapshot = small_snapshot()
    snapshot.version += 1
    snapshot.now.seconds += seconds
    return snapshot


def test_session_pushes_once_and_then_sends_deltas(client: CountingClient) -> None:
    draw = SeededDraw(0)
    seen, session = generate_snapshot(draw, 3, 30), StateSession(client)
    session.push(seen)
    for _ in range(5):
        assert session.decide() == client.decide(seen)
        seen = generate_next_snapshot(draw, seen)
        session.update(seen)
    assert client.called.count("PutSnapshot") == 1
    assert (client.streams.begun, client.streams.sent) == (1, 5)


def test_session_applies_deltas_of_its_caller(client: CountingClient) -> None:
    session = StateSession(client)
    session.push(small_snapshot())
    session.apply(compute_delta(small_snapshot(), snapshot_after()))
    assert session.decide() == client.decide(snapshot_after())


def test_session_decides_at_a_later_time(client: CountingClient) -> None:
    session, at = StateSession(client), snapshot_after().now
    session.push(small_snapshot())
    assert session.decide(now=at).header.now == at
    assert session.decide(["allocate"]).header.now == small_snapshot().now


def test_session_resyncs_after_another_session_pushed_the_same_cluster(client: CountingClient) -> None:
    mine, other = StateSession(client), StateSession(client)
    mine.push(small_snapshot())
    other.push(snapshot_after())
    assert mine.decide() == client.decide(small_snapshot())
    other.update(difference_of(9))
    assert other.decide().header.version == 9


def difference_of(version: int) -> ClusterSnapshot:
    snapshot = snapshot_after(9)
    snapshot.version = version
    return snapshot


def test_session_resyncs_after_the_server_dropped_the_state() -> None:
    with run_server(state_idle_timeout=1) as (_, address), CountingClient(address) as client:
        session = StateSession(client, timeout=_SECONDS)
        session.push(small_snapshot())
        with pytest.raises(StateMismatch) as caught:
            session.decide()
    assert caught.value.code == "UNKNOWN_STATE"
    assert caught.value.resync_required
    assert client.called.count("PutSnapshot") > 1


def test_session_out_of_time_raises_why_it_tried_again() -> None:
    class HastyClient(CountingClient):
        """Has no time for a second snapshot."""

        def put_snapshot(
            self,
            epoch: str,
            snapshot: ClusterSnapshot,
            timeout: float | None = None,
            on_set_aside: OnSetAside | None = None,
        ) -> StateReference:
            left = 1e-6 if "PutSnapshot" in self.called else timeout
            return super().put_snapshot(epoch, snapshot, left, on_set_aside)

    with run_server(state_idle_timeout=1) as (_, address), HastyClient(address) as client:
        session = StateSession(client)
        session.push(small_snapshot())
        with pytest.raises(StateMismatch, match="state"):
            session.decide()


@pytest.mark.long
def test_session_recovers_after_its_server_was_replaced(tmp_path: Path) -> None:
    with RestartableServer(tmp_path) as server, Client(server.address) as client:
        session = StateSession(client)
        session.push(small_snapshot())
        first = session.decide()
        server.kill()
        server.start()
        assert session.decide() == first


@pytest.mark.long
def test_session_without_server_fails_at_its_timeout(tmp_path: Path) -> None:
    with RestartableServer(tmp_path) as server, Client(server.address) as client:
        session = StateSession(client, timeout=_SECONDS)
        session.push(small_snapshot())
        server.kill()
        with pytest.raises(Unavailable):
            session.decide()


def test_rejected_snapshot_does_not_change_the_session(client: CountingClient) -> None:
    session, bad = StateSession(client), snapshot_after()
    bad.pods[0].pod_group = "nobody"
    session.push(small_snapshot())
    for refused in (session.update, session.push):
        with pytest.raises(InvalidSnapshot) as caught:
            refused(bad)
        assert caught.value.violations[0].field.endswith("pod_group")
        assert session.decide() == client.decide(small_snapshot())
    session.update(snapshot_after())
    assert session.decide() == client.decide(snapshot_after())


def test_clock_regression_fails_without_resync(client: CountingClient) -> None:
    session = StateSession(client)
    session.push(small_snapshot())
    with pytest.raises(StateMismatch) as caught:
        session.update(snapshot_after(-1))
    assert (caught.value.code, caught.value.resync_required) == ("CLOCK_REGRESSION", False)
    assert session.decide() == client.decide(small_snapshot())


def test_session_reopens_its_stream_after_an_idle_timeout() -> None:
    with (
        run_server(stream_idle_timeout=10**8) as (_, address),
        CountingClient(address) as client,
        StateSession(client) as session,
    ):
        session.push(small_snapshot())
        session.update(snapshot_after())
        time.sleep(0.4)
        session.update(difference_of(9))
        assert session.decide().header.version == 9
    assert client.called.count("PutSnapshot") == 1
    assert client.streams.begun == 2


def test_session_releases_its_stream_on_close() -> None:
    with run_server(max_streams=1) as (_, address), Client(address) as client:
        for _ in range(3):
            with StateSession(client, timeout=20) as session:
                session.push(small_snapshot())
                session.update(snapshot_after())
                assert session.decide().header.version == snapshot_after().version


def test_session_pushes_while_its_stream_is_the_only_one_allowed() -> None:
    with run_server(max_streams=1) as (_, address), CountingClient(address) as client:
        session = StateSession(client)
        for _ in range(2):
            session.push(small_snapshot())
            session.update(snapshot_after())
        assert session.decide().header.version == snapshot_after().version


def test_session_without_response_times_out_and_recovers_later(
    client: CountingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, halt = StateSession(client, timeout=_SECONDS), threading.Event()
    session.push(small_snapshot())
    with monkeypatch.context() as patched:
        patched.setattr(StateStore, "apply", lambda *_: halt.wait(20))
        with pytest.raises(DeadlineExceeded):
            session.update(snapshot_after())
        halt.set()
    assert session.decide() == client.decide(snapshot_after())


def test_session_without_snapshot_is_an_error(client: CountingClient) -> None:
    with pytest.raises(ValueError, match="push a snapshot first"):
        StateSession(client).decide()


def test_delta_between_different_clusters_is_rejected() -> None:
    with pytest.raises(ValueError, match="not of the same cluster"):
        compute_delta(small_snapshot(), ClusterSnapshot(cluster_id="other"))


@pytest.mark.parametrize("seed", range(30))
def test_applied_delta_results_in_the_later_snapshot(seed: int) -> None:
    draw = SeededDraw(seed)
    before = generate_snapshot(draw, 3, 20)
    after = generate_next_snapshot(draw, before)
    delta = compute_delta(mix_columns(draw, before), mix_columns(draw, after))
    assert rows(apply_deltas(before, delta)) == rows(after)
    unchanged = compute_delta(after, mix_columns(draw, after))
    assert not unchanged.upserts.ListFields()
    assert not unchanged.removals.ListFields()
