"""Turns: cycles of one shard one after the other, of different ones at the same time, served in rounds."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import pytest
from tenure.client import Client
from tenure.server.service.admission import TooManyCalls
from tenure.server.service.turns import NoTurn, Turns
from tenure.server.shard import Shard
from tenure.v1.decision_service_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.given import small_snapshot
from tests.server.running import HeldEngine, server_here

A, B, C = (Shard("cluster", pool) for pool in "abc")
PATIENT = 30.0


class Crowd:
    """Calls in threads of their own, which note when their turn comes and keep it until they are let go."""

    def __init__(self, turns: Turns, pool: ThreadPoolExecutor) -> None:
        self.turns, self._pool = turns, pool
        self.served: list[str] = []
        self._came = threading.Semaphore(0)
        self._let_go: dict[str, threading.Event] = {}

    def call(self, name: str, shard: Shard, *, is_served: bool) -> None:
        """One more call; comes back when it has its turn, or waits as told."""
        self._let_go[name] = threading.Event()
        before = waiting(self.turns)
        self._pool.submit(self._run, name, shard)
        if is_served:
            assert self._came.acquire(timeout=10)
        else:
            while waiting(self.turns) == before:
                time.sleep(0.001)

    def end(self, name: str, *, serves: int) -> None:
        """The call gives its turn back, and so many others get one."""
        self._let_go[name].set()
        for _ in range(serves):
            assert self._came.acquire(timeout=10)

    def _run(self, name: str, shard: Shard) -> None:
        with self.turns.of(shard, PATIENT):
            self.served.append(name)
            self._came.release()
            assert self._let_go[name].wait(PATIENT)


@contextmanager
def crowd(max_cycles: int, max_waiting: int = 10) -> Iterator[Crowd]:
    with ThreadPoolExecutor(20) as pool:
        yield Crowd(Turns(max_cycles, max_waiting), pool)


def waiting(turns: Turns) -> int:
    return sum(map(len, turns._round.values()))


def test_cycles_of_one_shard_run_one_after_the_other() -> None:
    with crowd(2) as calls:
        calls.call("a1", A, is_served=True)
        calls.call("a2", A, is_served=False)
        calls.call("b1", B, is_served=True)
        calls.end("a1", serves=1)
        assert calls.served == ["a1", "b1", "a2"]
        calls.end("b1", serves=0)
        calls.end("a2", serves=0)


def test_no_more_cycles_run_than_there_is_room_for() -> None:
    with crowd(2) as calls:
        calls.call("a", A, is_served=True)
        calls.call("b", B, is_served=True)
        calls.call("c", C, is_served=False)
        calls.end("b", serves=1)
        assert calls.served == ["a", "b", "c"]
        calls.end("a", serves=0)
        calls.end("c", serves=0)


def test_a_shard_with_many_calls_does_not_hold_up_one_with_few() -> None:
    with crowd(1) as calls:
        calls.call("a1", A, is_served=True)
        for name in ("a2", "a3", "a4"):
            calls.call(name, A, is_served=False)
        calls.call("b1", B, is_served=False)
        for name in ("a1", "a2", "b1", "a3"):
            calls.end(name, serves=1)
        calls.end("a4", serves=0)
        assert calls.served == ["a1", "a2", "b1", "a3", "a4"]


def test_who_waits_in_vain_leaves_no_place_behind() -> None:
    turns = Turns(1, 10)
    with turns.of(A, PATIENT):
        for shard in (A, B):
            with pytest.raises(NoTurn), turns.of(shard, 0.01):
                pass
        assert waiting(turns) == 0
    with turns.of(B, PATIENT):
        pass


def test_more_calls_than_may_wait_are_sent_away_at_once() -> None:
    with crowd(1, max_waiting=1) as calls:
        calls.call("a", A, is_served=True)
        calls.call("b", B, is_served=False)
        with pytest.raises(TooManyCalls), calls.turns.of(C, PATIENT):
            pass
        calls.end("a", serves=1)
        calls.end("b", serves=0)


def test_a_turn_is_given_back_when_the_cycle_fails() -> None:
    turns = Turns(1, 10)
    with pytest.raises(KeyError), turns.of(A, PATIENT):
        raise KeyError
    with turns.of(A, 0.01):
        pass


def test_a_cycle_has_what_is_left_of_its_time_after_the_wait() -> None:
    with crowd(1) as calls:
        calls.call("first", A, is_served=True)
        threading.Timer(1, calls.end, ["first"], {"serves": 0}).start()
        begin = time.monotonic()
        with calls.turns.of(A, 5) as deadline:
            assert not deadline()
            while not deadline():
                time.sleep(0.01)
            assert 3 < time.monotonic() - begin <= 5


def named(cluster_id: str, node_pool: str = "") -> ClusterSnapshot:
    snapshot = small_snapshot()
    snapshot.cluster_id, snapshot.node_pool = cluster_id, node_pool
    return snapshot


@pytest.mark.parametrize("second", [("other", ""), ("test", "pool")])
def test_different_clusters_and_pools_are_decided_at_the_same_time(second: tuple[str, str]) -> None:
    engine = HeldEngine()
    with (
        server_here(engine, max_cycles=2) as (_, address),
        Client(address) as client,
        ThreadPoolExecutor() as pool,
    ):
        calls = [pool.submit(client.decide, named("test")), pool.submit(client.decide, named(*second))]
        assert engine.entered.acquire(timeout=10)
        assert engine.entered.acquire(timeout=10)
        engine.let_go.set()
        assert all(call.result(10).outcomes for call in calls)


def test_a_call_that_its_caller_left_is_not_decided() -> None:
    engine = HeldEngine()
    with (
        server_here(engine) as (server, address),
        grpc.insecure_channel(address) as channel,
        ThreadPoolExecutor() as pool,
        Client(address) as client,
    ):
        first = pool.submit(client.decide, named("test"))
        assert engine.entered.acquire(timeout=10)
        decide = channel.unary_unary("/tenure.v1.DecisionService/Decide")
        left: Future[bytes] = decide.future(DecideRequest(snapshot=named("test")).SerializeToString())
        while not waiting(server._service._shared.turns):
            time.sleep(0.001)
        left.cancel()
        time.sleep(0.5)  # for the server to hear of it
        engine.let_go.set()
        assert first.result(10).outcomes
        assert client.decide(named("test")).outcomes
        assert engine.entered.acquire(blocking=False)
        assert not engine.entered.acquire(blocking=False)
