"""A session keeps a server in step, resyncs by itself, and says what is wrong."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tenure.client import (
    Client,
    DeadlineExceeded,
    InvalidSnapshot,
    StaleState,
    StateSession,
    Unavailable,
)
from tenure.client.deltas import applied, difference
from tenure.client.deltastream import DeltaStream
from tenure.server.state import StateStore
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateReference

from tests.properties.draw import SeededDraw
from tests.server.given import small_snapshot
from tests.server.running import server_here
from tests.states.engine import short_engine
from tests.states.forms import rows
from tests.states.made import later_snapshot, made_snapshot
from tests.states.mixed import mixed
from tests.states.mortal import MortalServer

_SECONDS: Final = 2.4
"""For a session: its last try begins after 1.55, with time left for a slow machine."""


class CountingClient(Client):
    """Says which methods were called."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.called: list[str] = []
        self.streams: CountingStream

    def _ask(self, method: Any, question: Any, timeout: float | None) -> Any:
        self.called.append(method._method.decode().rpartition("/")[2])
        return super()._ask(method, question, timeout)

    def _ask_in_stream(self, method: Any, question: Any, timeout: float | None) -> Any:
        self.called.append(method._method.decode().rpartition("/")[2])
        return super()._ask_in_stream(method, question, timeout)

    def deltas(self) -> DeltaStream:
        self.streams = CountingStream(self._begin_deltas, self._reach, self._address)
        return self.streams


class CountingStream(DeltaStream):
    """Says how many calls it began, and how many deltas it sent."""

    begun = sent = 0

    def _begun(self, deadline: float) -> Any:
        self.begun += 1
        return super()._begun(deadline)

    def send(self, delta: StateDelta, timeout: float) -> StateReference:
        self.sent += 1
        return super().send(delta, timeout)


@pytest.fixture
def client() -> Iterator[CountingClient]:
    with server_here(short_engine()) as (_, address), CountingClient(address) as client:
        yield client


def later(seconds: int = 1) -> ClusterSnapshot:
    snapshot = small_snapshot()
    snapshot.version += 1
    snapshot.now.seconds += seconds
    return snapshot


def test_session_pushes_once_and_then_sends_what_changed(client: CountingClient) -> None:
    draw = SeededDraw(0)
    seen, session = made_snapshot(draw, 3, 30), StateSession(client)
    session.push(seen)
    for _ in range(5):
        assert session.decide() == client.decide(seen)
        seen = later_snapshot(draw, seen)
        session.update(seen)
    assert client.called.count("PutSnapshot") == 1
    assert (client.streams.begun, client.streams.sent) == (1, 5)


def test_session_takes_deltas_of_its_caller(client: CountingClient) -> None:
    session = StateSession(client)
    session.push(small_snapshot())
    session.apply(difference(small_snapshot(), later()))
    assert session.decide() == client.decide(later())


def test_session_decides_at_a_later_time(client: CountingClient) -> None:
    session, at = StateSession(client), later().now
    session.push(small_snapshot())
    assert session.decide(now=at).based_on.now == at
    assert session.decide(["allocate"]).based_on.now == small_snapshot().now


def test_session_resyncs_when_another_has_pushed_the_same_cluster(client: CountingClient) -> None:
    mine, other = StateSession(client), StateSession(client)
    mine.push(small_snapshot())
    other.push(later())
    assert mine.decide() == client.decide(small_snapshot())
    other.update(difference_of(9))
    assert other.decide().based_on.version == 9


def difference_of(version: int) -> ClusterSnapshot:
    snapshot = later(9)
    snapshot.version = version
    return snapshot


def test_session_resyncs_when_the_server_has_forgotten() -> None:
    with server_here(state_idle_timeout=1) as (_, address), CountingClient(address) as client:
        session = StateSession(client, timeout=_SECONDS)
        session.push(small_snapshot())
        with pytest.raises(StaleState) as caught:
            session.decide()
    assert caught.value.code == "UNKNOWN_STATE"
    assert caught.value.resync_required
    assert client.called.count("PutSnapshot") > 1


def test_session_goes_on_after_its_server_was_replaced(tmp_path: Path) -> None:
    with MortalServer(tmp_path) as server, Client(server.address) as client:
        session = StateSession(client)
        session.push(small_snapshot())
        first = session.decide()
        server.kill()
        server.start()
        assert session.decide() == first


def test_session_without_a_server_ends_with_its_time(tmp_path: Path) -> None:
    with MortalServer(tmp_path) as server, Client(server.address) as client:
        session = StateSession(client, timeout=_SECONDS)
        session.push(small_snapshot())
        server.kill()
        with pytest.raises(Unavailable):
            session.decide()


def test_refused_snapshot_leaves_the_session_where_it_was(client: CountingClient) -> None:
    session, bad = StateSession(client), later()
    bad.pods[0].pod_group = "nobody"
    session.push(small_snapshot())
    for refused in (session.update, session.push):
        with pytest.raises(InvalidSnapshot) as caught:
            refused(bad)
        assert caught.value.violations[0].field.endswith("pod_group")
        assert session.decide() == client.decide(small_snapshot())
    session.update(later())
    assert session.decide() == client.decide(later())


def test_clock_that_goes_back_is_the_caller_s_to_mend(client: CountingClient) -> None:
    session = StateSession(client)
    session.push(small_snapshot())
    with pytest.raises(StaleState) as caught:
        session.update(later(-1))
    assert (caught.value.code, caught.value.resync_required) == ("CLOCK_REGRESSION", False)
    assert session.decide() == client.decide(small_snapshot())


def test_session_goes_on_after_its_stream_was_idle_for_too_long() -> None:
    with (
        server_here(stream_idle_timeout=10**8) as (_, address),
        CountingClient(address) as client,
        StateSession(client) as session,
    ):
        session.push(small_snapshot())
        session.update(later())
        time.sleep(0.4)
        session.update(difference_of(9))
        assert session.decide().based_on.version == 9
    assert client.called.count("PutSnapshot") == 1
    assert client.streams.begun == 2


def test_session_gives_its_stream_back() -> None:
    with server_here(max_streams=1) as (_, address), Client(address) as client:
        for _ in range(3):
            with StateSession(client, timeout=20) as session:
                session.push(small_snapshot())
                session.update(later())
                assert session.decide().based_on.version == later().version


def test_session_pushes_though_its_own_stream_is_the_only_one() -> None:
    with server_here(max_streams=1) as (_, address), CountingClient(address) as client:
        session = StateSession(client)
        for _ in range(2):
            session.push(small_snapshot())
            session.update(later())
        assert session.decide().based_on.version == later().version


def test_session_without_an_answer_ends_with_its_time_and_goes_on_later(
    client: CountingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, halt = StateSession(client, timeout=_SECONDS), threading.Event()
    session.push(small_snapshot())
    with monkeypatch.context() as patched:
        patched.setattr(StateStore, "apply", lambda store, delta: halt.wait(20))
        with pytest.raises(DeadlineExceeded):
            session.update(later())
        halt.set()
    assert session.decide() == client.decide(later())


def test_session_without_a_snapshot_asks_for_one(client: CountingClient) -> None:
    with pytest.raises(ValueError, match="push a snapshot first"):
        StateSession(client).decide()


def test_difference_of_other_clusters_is_refused() -> None:
    with pytest.raises(ValueError, match="not of the same cluster"):
        difference(small_snapshot(), ClusterSnapshot(cluster_id="other"))


@pytest.mark.parametrize("seed", range(30))
def test_difference_carried_out_is_the_later_snapshot(seed: int) -> None:
    draw = SeededDraw(seed)
    before = made_snapshot(draw, 3, 20)
    after = later_snapshot(draw, before)
    delta = difference(mixed(draw, before), mixed(draw, after))
    assert rows(applied(before, delta)) == rows(after)
    unchanged = difference(after, mixed(draw, after))
    assert not unchanged.upserts.ListFields()
    assert not unchanged.removes.ListFields()
