"""A cycle finishes before its caller's deadline with the decisions made so far, and stops with the server."""

import math
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import grpc
import pytest
from tenure.client import Client
from tenure.codec.engine import Engine
from tenure.server.deadlines import CutShort, Deadline
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.decision_pb2 import OutcomeKind, ReasonCode

from tests.checker import verify
from tests.server.servers import run_server, run_server_process
from tests.server.slow_search import SLOW_OPTIONS, slow_profile, slow_search_snapshot
from tests.small_snapshot import child_environment, small_snapshot

DECIDE: Final = "/tenure.v1.DecisionService/Decide"
NODES: Final = 200
"""A search on this number of nodes takes at least half a minute unless it is stopped."""


def deadline(seconds: float) -> Deadline:
    return Deadline(seconds, CutShort())


def test_a_call_without_a_deadline_is_never_stopped() -> None:
    assert not deadline(math.inf)()


class Clock:
    """The monotonic clock, which only tests move."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


def test_tenth_of_the_deadline_is_reserved_for_the_response(clock: Clock) -> None:
    asked = deadline(10)
    assert not asked()
    clock.seconds += 8.9
    assert not asked()
    clock.seconds += 0.2
    assert asked()


def test_decoding_time_is_reserved_for_encoding(clock: Clock) -> None:
    asked = deadline(10)
    clock.seconds += 3
    assert not asked()
    clock.seconds += 2.9
    assert not asked()
    clock.seconds += 0.2
    assert asked()


def test_abandoned_call_stops_its_cycle() -> None:
    asked = deadline(60)
    assert not asked()
    asked.cancel()
    assert asked()


def is_undecided(answer: DecideResponse) -> bool:
    (outcome,) = answer.outcomes
    expected = (OutcomeKind.OUTCOME_KIND_BUDGET_EXHAUSTED, ReasonCode.REASON_CODE_BUDGET_EXHAUSTED)
    return answer.stopped_early and (outcome.kind, outcome.reason.code) == expected


def test_response_arrives_before_the_deadline_and_marks_undecided_pod_groups() -> None:
    snapshot = slow_search_snapshot(NODES)
    with run_server(Engine(slow_profile())) as (_, address), Client(address) as client:
        answer = client.decide(snapshot, timeout=3)
        assert is_undecided(answer)
        assert "ran out of time" in answer.outcomes[0].reason.message
        assert verify(snapshot, answer) == []


def test_response_within_the_deadline_equals_that_without_deadline() -> None:
    with run_server() as (_, address), Client(address) as client:
        answer = client.decide(small_snapshot(), timeout=20)
    assert not answer.stopped_early
    with run_server() as (_, address), grpc.insecure_channel(address) as channel:
        request = DecideRequest(snapshot=small_snapshot())
        assert channel.unary_unary(DECIDE)(request.SerializeToString()) == answer.SerializeToString()


def test_cancelled_call_stops_its_cycle() -> None:
    request = DecideRequest(snapshot=slow_search_snapshot(NODES)).SerializeToString()
    with (
        run_server(Engine(slow_profile())) as (_, address),
        grpc.insecure_channel(address) as channel,
        Client(address) as client,
    ):
        left = channel.unary_unary(DECIDE).future(request)
        time.sleep(1)
        left.cancel()
        small = small_snapshot()
        small.cluster_id = "hard"
        assert client.decide(small, timeout=10).outcomes


@pytest.mark.long
def test_cycle_beyond_the_drain_timeout_returns_its_partial_result(tmp_path: Path) -> None:
    config = tmp_path / "slow.yaml"
    config.write_text(SLOW_OPTIONS + "server: {drainTimeout: 100ms}")
    with (
        run_server_process("--config", str(config)) as (process, address),
        Client(address, timeout=60) as client,
        ThreadPoolExecutor() as pool,
    ):
        in_flight = pool.submit(client.decide, slow_search_snapshot(NODES))
        time.sleep(2)
        assert not in_flight.done()
        process.send_signal(signal.SIGTERM)
        assert is_undecided(in_flight.result(20))
        assert process.wait(20) == 0


SERVES_A_CYCLE_THAT_NEVER_ENDS: Final = """
import threading
from tenure.server import grpc_server
from tenure.server.settings import ServerLimits, Settings
from tenure.solver.registry import default_profile

class Hanging(grpc_server.Engine):
    def decide(self, request, stop, timeline):
        print("entered", flush=True)
        threading.Event().wait()

grpc_server.Engine = Hanging
limits = ServerLimits().model_copy(update={"drain_timeout": 10**8})
settings = Settings(default_profile(), limits)
grpc_server.serve(settings, "127.0.0.1:0", lambda address: print(address, flush=True))
"""


@pytest.mark.long
@pytest.mark.timeout(60)
def test_endless_cycle_does_not_prevent_process_exit() -> None:
    command = [sys.executable, "-c", SERVES_A_CYCLE_THAT_NEVER_ENDS]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=child_environment(), stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            with grpc.insecure_channel(process.stdout.readline().strip()) as channel:
                request = DecideRequest(snapshot=small_snapshot()).SerializeToString()
                call = channel.unary_unary(DECIDE).future(request)
                assert process.stdout.readline() == "entered\n"
                process.terminate()
                assert process.wait(30) == 1
                assert call.code() is grpc.StatusCode.UNAVAILABLE
                assert "Abandoning calls that did not finish." in process.stderr.read()
        finally:
            process.kill()
