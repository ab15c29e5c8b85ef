"""Cycles in processes of their own: the same answers, and a lost or hanging process costs one call (F15)."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from tenure.client import Client, ServerDefect
from tenure.server.codec.violations import InvalidSnapshot
from tenure.server.engine import Engine
from tenure.server.host import ChildLost, NotReady, Pool, ProcessEngine
from tenure.server.host.pool import MAX_LOST, PERIOD_SECONDS
from tenure.server.settings import ConfigurationError, load_settings
from tenure.v1.decision_service_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.given import small_snapshot
from tests.server.hard import SLOW_OPTIONS, hard_snapshot, slow_profile
from tests.server.running import serving_process

SMALL: Final = DecideRequest(snapshot=small_snapshot())
HARD: Final = DecideRequest(snapshot=hard_snapshot(200))


@contextmanager
def pool_here(period_seconds: float = PERIOD_SECONDS) -> Iterator[tuple[Pool, list[bool]]]:
    """A pool, and what it told about its readiness."""
    pool, told = Pool(slow_profile(), period_seconds), list[bool]()
    pool.watch(told.append)
    try:
        yield pool, told
    finally:
        pool.close()


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with pool_here() as (pool, _):
        yield pool


@pytest.fixture
def engine(pool: Pool) -> ProcessEngine:
    return ProcessEngine(slow_profile(), pool)


def test_the_answer_is_that_of_a_thread(engine: ProcessEngine) -> None:
    here = Engine(slow_profile()).decide(SMALL)
    assert engine.decide(SMALL).SerializeToString() == here.SerializeToString()


def test_a_refusal_is_that_of_a_thread(engine: ProcessEngine) -> None:
    bad = DecideRequest(snapshot=ClusterSnapshot(cluster_id="c"), actions=["dance"])
    with pytest.raises(InvalidSnapshot) as here:
        Engine(slow_profile()).decide(bad)
    with pytest.raises(InvalidSnapshot) as there:
        engine.decide(bad)
    assert there.value.violations == here.value.violations


def test_a_search_that_is_told_to_stop_answers_with_what_it_has(engine: ProcessEngine) -> None:
    begin = time.monotonic()
    answer = engine.decide(HARD, lambda: time.monotonic() > begin + 1.5)
    assert answer.stopped_early
    assert engine.decide(SMALL).outcomes


def lose(pool: Pool, number: signal.Signals) -> ChildLost:
    """Send a signal to the process of a running cycle, then stop the cycle; what the caller gets."""
    engine, is_late = ProcessEngine(slow_profile(), pool), threading.Event()
    with ThreadPoolExecutor() as threads:
        call = threads.submit(engine.decide, HARD, is_late.is_set)
        while not pool.busy_pids():
            time.sleep(0.001)
        time.sleep(0.5)
        (pid,) = pool.busy_pids()
        os.kill(pid, number)
        is_late.set()
        error = call.exception(20)
    assert isinstance(error, ChildLost)
    return error


def test_a_process_that_is_killed_costs_its_call_and_is_replaced() -> None:
    with pool_here() as (pool, told):
        assert "ended in the middle of a cycle" in str(lose(pool, signal.SIGKILL))
        assert ProcessEngine(slow_profile(), pool).decide(SMALL).outcomes
        assert told == []


def test_a_process_that_hangs_is_killed_and_replaced() -> None:
    with pool_here() as (pool, told):
        assert "did not stop when it was told to" in str(lose(pool, signal.SIGSTOP))
        assert ProcessEngine(slow_profile(), pool).decide(SMALL).outcomes
        assert told == []


def test_processes_that_are_lost_again_and_again_are_left_alone_for_a_while() -> None:
    with pool_here(period_seconds=6) as (pool, told):
        engine = ProcessEngine(slow_profile(), pool)
        for _ in range(MAX_LOST + 1):
            lose(pool, signal.SIGKILL)
        with pytest.raises(NotReady, match="again and again"):
            engine.decide(SMALL)
        assert told == [False]
        until = time.monotonic() + 20
        while len(told) == 1 and time.monotonic() < until:
            time.sleep(0.05)
        assert told == [False, True]
        assert engine.decide(SMALL).outcomes


def test_a_solver_of_another_kind_is_a_fault_of_the_file(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("server: {solver: fork}")
    with pytest.raises(ConfigurationError, match=r"server\.solver: .*'thread' or 'process'"):
        load_settings(config)


def test_the_server_stays_well_when_it_loses_a_process(tmp_path: Path) -> None:
    config = tmp_path / "process.yaml"
    config.write_text(SLOW_OPTIONS + "server: {solver: process, drainTimeout: 100ms}")
    with (
        serving_process("--config", str(config)) as (process, address),
        Client(address, timeout=60) as client,
        grpc.insecure_channel(address) as channel,
        ThreadPoolExecutor() as threads,
    ):
        assert client.decide(small_snapshot()) == Engine(slow_profile()).decide(SMALL)
        in_flight = threads.submit(client.decide, hard_snapshot(200))
        time.sleep(1)
        for pid in children(process.pid):
            os.kill(pid, signal.SIGKILL)
        error = in_flight.exception(10)
        assert isinstance(error, ServerDefect)
        assert "nothing was decided; retry" in str(error)
        answer = HealthStub(channel).Check(HealthCheckRequest(), timeout=5)
        assert answer.status == HealthCheckResponse.SERVING
        assert client.decide(small_snapshot(), timeout=10).outcomes
        in_flight = threads.submit(client.decide, hard_snapshot(200))
        time.sleep(1)
        process.terminate()
        assert in_flight.result(10).stopped_early
        assert process.wait(10) == 0


def children(pid: int) -> list[int]:
    """Solver processes of a server."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == pid and b"spawn_main" in command:
            found.append(int(entry.name))
    return found
