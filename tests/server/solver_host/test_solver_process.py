"""Cycles in solver processes: identical responses, and a lost or hanging process fails one call (F15)."""

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
from tenure.client import Client, InternalError
from tenure.codec.engine import Engine
from tenure.server.settings import ConfigurationError, load_settings
from tenure.server.solver_host import ProcessEngine, SolverPool, SolverProcessLost, SolverUnavailable
from tenure.server.solver_host.solver_pool import MAX_LOSSES, PERIOD_SECONDS
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.violations import SnapshotValidationError

from tests.server.servers import run_server_process
from tests.server.slow_search import SLOW_OPTIONS, slow_profile, slow_search_snapshot
from tests.small_snapshot import small_snapshot

SMALL: Final = DecideRequest(snapshot=small_snapshot())
SLOW_SEARCH: Final = DecideRequest(snapshot=slow_search_snapshot(200))


@contextmanager
def run_pool(period_seconds: float = PERIOD_SECONDS) -> Iterator[tuple[SolverPool, list[bool]]]:
    """Open a pool; yield it and the readiness that it reported."""
    pool, readiness = SolverPool(slow_profile(), period_seconds), list[bool]()
    pool.watch(readiness.append)
    try:
        yield pool, readiness
    finally:
        pool.close()


@pytest.fixture(scope="module")
def pool() -> Iterator[SolverPool]:
    with run_pool() as (pool, _):
        yield pool


@pytest.fixture
def engine(pool: SolverPool) -> ProcessEngine:
    return ProcessEngine(slow_profile(), pool)


def test_response_equals_that_of_a_thread(engine: ProcessEngine) -> None:
    here = Engine(slow_profile()).decide(SMALL)
    assert engine.decide(SMALL) == here


def test_violations_equal_those_of_a_thread(engine: ProcessEngine) -> None:
    bad = DecideRequest(snapshot=ClusterSnapshot(cluster_id="c"), actions=["dance"])
    with pytest.raises(SnapshotValidationError) as here:
        Engine(slow_profile()).decide(bad)
    with pytest.raises(SnapshotValidationError) as there:
        engine.decide(bad)
    assert there.value.violations == here.value.violations


def test_stopped_search_returns_its_partial_result(engine: ProcessEngine) -> None:
    begin = time.monotonic()
    answer = engine.decide(SLOW_SEARCH, lambda: time.monotonic() > begin + 1.5)
    assert answer.summary.stopped_early
    assert engine.decide(SMALL).summary.outcomes


def kill_during_cycle(pool: SolverPool, number: signal.Signals) -> SolverProcessLost:
    """Send a signal to the process of a running cycle, then stop the cycle; return the caller's error."""
    engine, is_late = ProcessEngine(slow_profile(), pool), threading.Event()
    with ThreadPoolExecutor() as threads:
        call = threads.submit(engine.decide, SLOW_SEARCH, is_late.is_set)
        while not pool.busy_pids():
            time.sleep(0.001)
        time.sleep(0.5)
        (pid,) = pool.busy_pids()
        os.kill(pid, number)
        is_late.set()
        error = call.exception(20)
    assert isinstance(error, SolverProcessLost)
    return error


def test_killed_process_fails_its_call_and_is_replaced() -> None:
    with run_pool() as (pool, readiness):
        assert "exited during a cycle" in str(kill_during_cycle(pool, signal.SIGKILL))
        assert ProcessEngine(slow_profile(), pool).decide(SMALL).summary.outcomes
        assert readiness == []


@pytest.mark.long
def test_a_process_that_hangs_is_killed_and_replaced() -> None:
    with run_pool() as (pool, readiness):
        assert "ignored a stop request" in str(kill_during_cycle(pool, signal.SIGSTOP))
        assert ProcessEngine(slow_profile(), pool).decide(SMALL).summary.outcomes
        assert readiness == []


@pytest.mark.long
def test_repeatedly_lost_processes_are_restarted_after_a_pause() -> None:
    with run_pool(period_seconds=6) as (pool, readiness):
        engine = ProcessEngine(slow_profile(), pool)
        for _ in range(MAX_LOSSES + 1):
            kill_during_cycle(pool, signal.SIGKILL)
        with pytest.raises(SolverUnavailable, match="fail repeatedly"):
            engine.decide(SMALL)
        assert readiness == [False]
        until = time.monotonic() + 20
        while len(readiness) == 1 and time.monotonic() < until:
            time.sleep(0.05)
        assert readiness == [False, True]
        assert engine.decide(SMALL).summary.outcomes


def test_unknown_solver_host_is_a_configuration_error(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("server: {solverHost: fork}")
    with pytest.raises(ConfigurationError, match=r"server\.solverHost: .*'thread' or 'process'"):
        load_settings(config)


@pytest.mark.long
def test_server_works_after_losing_a_process(tmp_path: Path) -> None:
    config = tmp_path / "process.yaml"
    config.write_text(SLOW_OPTIONS + "server: {solverHost: process, drainTimeout: 100ms}")
    with (
        run_server_process("--config", str(config)) as (process, address),
        Client(address, timeout=60) as client,
        grpc.insecure_channel(address) as channel,
        ThreadPoolExecutor() as threads,
    ):
        assert client.decide(small_snapshot()) == Engine(slow_profile()).decide(SMALL).parse()
        in_flight = threads.submit(client.decide, slow_search_snapshot(200))
        time.sleep(1)
        for pid in children(process.pid):
            os.kill(pid, signal.SIGKILL)
        error = in_flight.exception(10)
        assert isinstance(error, InternalError)
        assert "no decision was made; retry" in str(error)
        answer = HealthStub(channel).Check(HealthCheckRequest(), timeout=5)
        assert answer.status == HealthCheckResponse.SERVING
        assert client.decide(small_snapshot(), timeout=10).outcomes
        in_flight = threads.submit(client.decide, slow_search_snapshot(200))
        time.sleep(1)
        process.terminate()
        assert in_flight.result(10).stopped_early
        assert process.wait(10) == 0


def children(pid: int) -> list[int]:
    """Return the solver processes of a server."""
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
