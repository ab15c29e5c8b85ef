"""The check `connection-flood`: 10,000 connections, 10,000 calls without a message, endless pings (H10).

The flood comes from separate processes. Health checks use a connection that was opened before the flood, as a
scheduler or sidecar does: a server accepts at most `MAX_CONNECTIONS` connections in total.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from threading import Event
from typing import Any, Final

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

from tests.checks import Counts
from tests.load.slow_caller import PING, begin_connection
from tests.server.servers import run_server_process

SIZE: Final = 10_000
CHECKS: Final = 1_000
MOST_MILLISECONDS: Final = 50
_CALLS_OF_A_CONNECTION: Final = 250
_PAUSE: Final = 0.005


def open_connections(address: str, size: int, has_come: Any) -> None:
    """Open this many connections without calls, and hold those that the server accepts."""
    with ExitStack() as opened:
        for _ in range(size):
            opened.enter_context(begin_connection(address))
        has_come.set()
        Event().wait()


def begin_calls(address: str, size: int, has_come: Any) -> None:
    """Start this many calls that never send their message."""
    halt, begun = Event(), []
    for number in range(size):
        if number % _CALLS_OF_A_CONNECTION == 0:
            channel = grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
            method = channel.stream_stream("/tenure.v1.DecisionService/Decide")
        begun.append(method(iter(halt.wait, True)))
    has_come.set()
    halt.wait()


def send_pings(address: str, size: int, has_come: Any) -> None:
    """Send pings as fast as possible, for ever. Reconnect after this many or when the server disconnects."""
    has_come.set()
    while True:
        with begin_connection(address) as connection:
            try:
                for _ in range(size):
                    connection.sendall(PING)
            except OSError:
                continue


FLOODS: Final[Mapping[str, Callable[[str, int, Any], None]]] = {
    crowd.__name__: crowd for crowd in (open_connections, begin_calls, send_pings)
}


def seconds_of_checks(address: str, crowd: str, size: int, checks: int) -> list[float]:
    """Return the sorted durations of health checks during a flood. All must return SERVING."""
    with grpc.insecure_channel(address) as channel:
        health = HealthStub(channel)
        _check(health)
        with _open_flood(address, crowd, size):
            return sorted(_check(health) for _ in range(checks))


@contextmanager
def _open_flood(address: str, crowd: str, size: int) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    has_come = context.Event()
    process = context.Process(target=FLOODS[crowd], args=(address, size, has_come), daemon=True)
    process.start()
    try:
        assert has_come.wait(120)
        yield
    finally:
        process.kill()
        process.join()


def _check(health: HealthStub) -> float:
    began = time.perf_counter()
    answer = health.Check(HealthCheckRequest(), timeout=10)
    seconds = time.perf_counter() - began
    assert answer.status == HealthCheckResponse.SERVING
    time.sleep(_PAUSE)
    return seconds


def main() -> Counts:
    """Measure health checks under each flood; p99 may be 50 ms at most."""
    failed = 0
    for crowd in FLOODS:
        with run_server_process() as (_, address):
            took = seconds_of_checks(address, crowd, SIZE, CHECKS)
        p50, p99 = (took[int(CHECKS * share)] * 1e3 for share in (0.5, 0.99))
        failed += p99 > MOST_MILLISECONDS
        print(f"{SIZE:,} {crowd}: health p50 {p50:.1f} ms, p99 {p99:.1f} ms, longest {took[-1] * 1e3:.1f} ms")
    return Counts(len(FLOODS) - failed, failed)
