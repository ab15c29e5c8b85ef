"""The cycle queue: cycles of one shard are sequential, those of different shards concurrent and fair."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import pytest
from tenure.client import Client
from tenure.server.service.admission import TooManyCalls
from tenure.server.service.cycle_queue import CycleQueue, CycleQueueTimeout
from tenure.server.shard import Shard
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.servers import BlockingEngine, run_server
from tests.small_snapshot import small_snapshot

A, B, C = (Shard("cluster", pool) for pool in "abc")
PATIENT = 30.0


class QueuedCalls:
    """Calls in their own threads, which record when their cycle begins and end it when released."""

    def __init__(self, queue: CycleQueue, pool: ThreadPoolExecutor) -> None:
        self.queue, self._pool = queue, pool
        self.served: list[str] = []
        self._came = threading.Semaphore(0)
        self._let_go: dict[str, threading.Event] = {}

    def call(self, name: str, shard: Shard, *, is_served: bool, caller: str = "") -> None:
        """Add a call; return when its cycle begins, or when it is queued."""
        self._let_go[name] = threading.Event()
        before = wait_for_queue(self.queue)
        self._pool.submit(self._run, name, shard, caller)
        if is_served:
            assert self._came.acquire(timeout=10)
        else:
            while wait_for_queue(self.queue) == before:
                time.sleep(0.001)

    def end(self, name: str, *, serves: int) -> None:
        """End the cycle of a call and wait until this number of other cycles begin."""
        self._let_go[name].set()
        for _ in range(serves):
            assert self._came.acquire(timeout=10)

    def _run(self, name: str, shard: Shard, caller: str) -> None:
        with self.queue.acquire(shard, PATIENT, caller):
            self.served.append(name)
            self._came.release()
            assert self._let_go[name].wait(PATIENT)


@contextmanager
def queued_calls(max_cycles: int, max_waiting: int = 10) -> Iterator[QueuedCalls]:
    with ThreadPoolExecutor(20) as pool:
        yield QueuedCalls(CycleQueue(max_cycles, max_waiting), pool)


def wait_for_queue(queue: CycleQueue) -> int:
    return queue.load()[1]


def test_cycles_of_one_shard_run_sequentially() -> None:
    with queued_calls(2) as calls:
        calls.call("a1", A, is_served=True)
        calls.call("a2", A, is_served=False)
        calls.call("b1", B, is_served=True)
        calls.end("a1", serves=1)
        assert calls.served == ["a1", "b1", "a2"]
        calls.end("b1", serves=0)
        calls.end("a2", serves=0)


def test_number_of_concurrent_cycles_is_limited() -> None:
    with queued_calls(2) as calls:
        calls.call("a", A, is_served=True)
        calls.call("b", B, is_served=True)
        calls.call("c", C, is_served=False)
        calls.end("b", serves=1)
        assert calls.served == ["a", "b", "c"]
        calls.end("a", serves=0)
        calls.end("c", serves=0)


def test_shard_with_many_calls_does_not_delay_one_with_few() -> None:
    with queued_calls(1) as calls:
        calls.call("a1", A, is_served=True)
        for name in ("a2", "a3", "a4"):
            calls.call(name, A, is_served=False)
        calls.call("b1", B, is_served=False)
        for name in ("a1", "a2", "b1", "a3"):
            calls.end(name, serves=1)
        calls.end("a4", serves=0)
        assert calls.served == ["a1", "a2", "b1", "a3", "a4"]


def test_timed_out_call_leaves_the_queue() -> None:
    queue = CycleQueue(1, 10)
    with queue.acquire(A, PATIENT):
        for shard in (A, B):
            with pytest.raises(CycleQueueTimeout), queue.acquire(shard, 0.01):
                pass
        assert wait_for_queue(queue) == 0
    with queue.acquire(B, PATIENT):
        pass


def test_calls_beyond_the_queue_limit_are_rejected_immediately() -> None:
    with queued_calls(1, max_waiting=1) as calls:
        calls.call("a", A, is_served=True)
        calls.call("b", B, is_served=False)
        with pytest.raises(TooManyCalls), calls.queue.acquire(C, PATIENT):
            pass
        calls.end("a", serves=1)
        calls.end("b", serves=0)


def test_failed_cycle_releases_its_place() -> None:
    queue = CycleQueue(1, 10)
    with pytest.raises(KeyError), queue.acquire(A, PATIENT):
        raise KeyError
    with queue.acquire(A, 0.01):
        pass


@pytest.mark.long
def test_queue_time_counts_against_the_deadline() -> None:
    with queued_calls(1) as calls:
        calls.call("first", A, is_served=True)
        threading.Timer(1, calls.end, ["first"], {"serves": 0}).start()
        begin = time.monotonic()
        with calls.queue.acquire(A, 5) as deadline:
            assert not deadline()
            while not deadline():
                time.sleep(0.01)
            assert 3 < time.monotonic() - begin <= 5


def shard_of(cluster_id: str, node_pool: str = "") -> ClusterSnapshot:
    snapshot = small_snapshot()
    snapshot.cluster_id, snapshot.node_pool = cluster_id, node_pool
    return snapshot


@pytest.mark.parametrize("second", [("other", ""), ("test", "pool")])
def test_cycles_of_different_shards_run_concurrently(second: tuple[str, str]) -> None:
    engine = BlockingEngine()
    with (
        run_server(engine, max_cycles=2) as (_, address),
        Client(address) as client,
        ThreadPoolExecutor() as pool,
    ):
        calls = [pool.submit(client.decide, shard_of("test")), pool.submit(client.decide, shard_of(*second))]
        assert engine.entered.acquire(timeout=10)
        assert engine.entered.acquire(timeout=10)
        engine.release.set()
        assert all(call.result(10).outcomes for call in calls)


def test_cancelled_queued_call_is_not_decided() -> None:
    engine = BlockingEngine()
    with (
        run_server(engine) as (server, address),
        grpc.insecure_channel(address) as channel,
        ThreadPoolExecutor() as pool,
        Client(address) as client,
    ):
        first = pool.submit(client.decide, shard_of("test"))
        assert engine.entered.acquire(timeout=10)
        decide = channel.unary_unary("/tenure.v1.DecisionService/Decide")
        left: Future[bytes] = decide.future(DecideRequest(snapshot=shard_of("test")).SerializeToString())
        while not wait_for_queue(server._service._shared.cycle_queue):
            time.sleep(0.001)
        left.cancel()
        time.sleep(0.5)  # until the server has processed the cancellation
        engine.release.set()
        assert first.result(10).outcomes
        assert client.decide(shard_of("test")).outcomes
        assert engine.entered.acquire(blocking=False)
        assert not engine.entered.acquire(blocking=False)
