"""The check `drain-load`: stops servers, one after the other, during 10,000 calls (F17).

Callers call without a pause and without retries. Every decision of a server must reach its caller: servers
count decisions, callers count responses. A call without a response must have been rejected before it was
accepted: UNAVAILABLE or CANCELLED. Each process must exit with status 0 within 30 seconds.
"""

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock
from typing import Final, NamedTuple

import grpc
from tenure.v1.decide_pb2 import DecideRequest

from tests.checks import Counts
from tests.small_snapshot import child_environment, small_snapshot

CALLS: Final = 10_000
SERVERS: Final = 10
CALLERS: Final = 8
MOST_SECONDS: Final = 30
_REJECTED_CODES: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
_OPTIONS: Final = (
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 100),
)


class StoppedServer(NamedTuple):
    """Exit of a server."""

    code: int
    seconds: float
    """Time from the signal to the exit."""
    decisions: int
    """Number of decisions."""


class DrainSummary(NamedTuple):
    """Result of a run."""

    endings: Counter[str]
    """Number of calls by result."""
    servers: list[StoppedServer]

    @property
    def lost(self) -> int:
        """Number of decisions that did not reach their caller."""
        return sum(server.decisions for server in self.servers) - self.endings["OK"]

    @property
    def failed(self) -> dict[str, int]:
        """Number of calls that failed without being rejected."""
        fine = {"OK", *(code.name for code in _REJECTED_CODES)}
        return {ending: count for ending, count in self.endings.items() if ending not in fine}

    @property
    def counts(self) -> Counts:
        """Passed and failed calls and servers. A call with a lost decision fails."""
        late = sum(server.code != 0 or server.seconds > MOST_SECONDS for server in self.servers)
        failed = abs(self.lost) + sum(self.failed.values()) + late
        return Counts(self.endings["OK"] + len(self.servers) - late, failed)


class _Load:
    """A number of calls, made by several threads with one connection each."""

    def __init__(self, address: str, calls: int) -> None:
        self._address = address
        self._left = iter(range(calls))
        self._request = DecideRequest(snapshot=small_snapshot()).SerializeToString()
        self._counting = Lock()
        self.endings, self.is_done = Counter[str](), Event()

    def run(self) -> None:
        """Make calls, each until it has a response, while any are left."""
        with grpc.insecure_channel(self._address, _OPTIONS) as channel:
            decide = channel.unary_unary("/tenure.v1.DecisionService/Decide")
            while self._next_number():
                while self._ending(decide) in _REJECTED_CODES:
                    time.sleep(0.02)
        self.is_done.set()

    def _next_number(self) -> bool:
        with self._counting:
            return next(self._left, None) is not None

    def _ending(self, decide: "grpc.UnaryUnaryMultiCallable[bytes, bytes]") -> grpc.StatusCode:
        code = grpc.StatusCode.OK
        try:
            decide(self._request, timeout=MOST_SECONDS)
        except grpc.RpcError as failure:
            code = failure.code()
        with self._counting:
            self.endings[code.name] += 1
        return code


def drain_under_load(folder: Path, calls: int, servers: int) -> DrainSummary:
    """Make this many calls while this many servers replace each other at the same address."""
    address, ended = f"unix:{folder / 'server'}", []
    load = _Load(address, calls)
    with ThreadPoolExecutor(CALLERS) as callers:
        running = [callers.submit(load.run) for _ in range(CALLERS)]
        for number in range(1, servers):
            with _counting_server(address) as server:
                while load.endings["OK"] < calls * number // servers and not load.is_done.is_set():
                    time.sleep(0.01)
                ended.append(_stop(server))
        with _counting_server(address) as server:
            for caller in running:
                caller.result()
            ended.append(_stop(server))
    return DrainSummary(load.endings, ended)


@contextmanager
def _counting_server(address: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tests.load.counting_server", address]
    with subprocess.Popen(command, env=child_environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.kill()


def _stop(server: "subprocess.Popen[str]") -> StoppedServer:
    began = time.monotonic()
    server.send_signal(signal.SIGTERM)
    output, _ = server.communicate(timeout=MOST_SECONDS + 10)
    return StoppedServer(server.returncode, time.monotonic() - began, int(output or 0))


def main() -> Counts:
    """Stop servers one after the other under 10,000 calls; counts calls and servers."""
    with TemporaryDirectory() as folder:
        summary = drain_under_load(Path(folder), CALLS, SERVERS)
    longest = max(server.seconds for server in summary.servers)
    codes = sorted({server.code for server in summary.servers})
    print(f"{CALLS:,} calls, {SERVERS} servers told to stop: {dict(summary.endings)}")
    print(f"decisions lost: {summary.lost}; calls that failed: {sum(summary.failed.values())}")
    print(f"exit codes {codes}, the longest after {longest:.1f} s")
    return summary.counts
