"""The check `noisy-caller`: what calls of one caller cost while another one takes all that it can get.

The noisy caller runs in a process of its own and ignores retry times. Both have tokens; health watches need
none.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Annotated, Any, Final

import grpc
import typer
from grpc_health.v1.health_pb2 import HealthCheckRequest
from grpc_health.v1.health_pb2_grpc import HealthStub
from tenure.v1.decide_pb2 import DecideRequest

from tests.attacks.hostile_requests import DECIDE
from tests.checks import Counts
from tests.server.security.certificate_authority import OTHER_TOKEN, TOKEN, token_file
from tests.server.servers import run_server_process
from tests.server.slow_search import slow_search_snapshot

NODES: Final = 20
THREADS: Final = 40
STREAMS: Final = 64
WATCHES: Final = 1_000
REOPEN_SECONDS: Final = 10
MOST: Final = 2.0
"""Maximum p99, as a multiple of that without noise."""
ROUNDS: Final = 10
"""The noisy caller is stopped for the first half of each round, so that both halves see the same machine."""
_SETTLE_SECONDS: Final = 1.5
_SYNC: Final = "/tenure.v1.DecisionService/SyncState"


def _metadata(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


def _request(cluster_id: str) -> bytes:
    return DecideRequest(snapshot=slow_search_snapshot(NODES, cluster_id)).SerializeToString()


def call_from_threads(address: str, has_come: Any) -> None:
    """Call from many threads, each on clusters of its own, and again at once."""

    def call_forever(decide: Callable[..., Any], request: bytes) -> None:
        while True:
            with suppress(grpc.RpcError):
                decide(request, metadata=_metadata(TOKEN))

    with grpc.insecure_channel(address) as channel:
        decide = channel.unary_unary(DECIDE)
        for number in range(THREADS):
            Thread(target=call_forever, args=(decide, _request(f"noisy-{number}")), daemon=True).start()
        has_come.set()
        Event().wait()


def open_streams(address: str, has_come: Any) -> None:
    """Hold all streams."""
    with grpc.insecure_channel(address) as channel:
        halt = Event()
        streams = [
            channel.stream_stream(_SYNC)(iter(halt.wait, True), metadata=_metadata(TOKEN))
            for _ in range(STREAMS)
        ]
        has_come.set()
        halt.wait()
        del streams


def open_watches(address: str, has_come: Any) -> None:
    """Open health watches, without a token. Those that the server ends are opened again, but not at once."""

    def watch_forever(health: HealthStub) -> None:
        while True:
            with suppress(grpc.RpcError):
                for _ in health.Watch(HealthCheckRequest()):
                    pass
            time.sleep(REOPEN_SECONDS)

    with grpc.insecure_channel(address) as channel:
        health = HealthStub(channel)
        for _ in range(WATCHES):
            Thread(target=watch_forever, args=(health,), daemon=True).start()
        has_come.set()
        Event().wait()


NOISES: Final[Mapping[str, Callable[[str, Any], None]]] = {
    f"{THREADS} threads": call_from_threads,
    f"{STREAMS} streams": open_streams,
    f"{WATCHES:,} health watches": open_watches,
}


@contextmanager
def _noise(make: Callable[[str, Any], None], address: str) -> Iterator[int]:
    """Run a noisy caller in the block; yield its process."""
    context = multiprocessing.get_context("spawn")
    has_come = context.Event()
    process = context.Process(target=make, args=(address, has_come), daemon=True)
    process.start()
    try:
        assert has_come.wait(60)
        yield process.pid or 0
    finally:
        process.kill()
        process.join()


def _compare(channel: grpc.Channel, noise: int, calls: int) -> tuple[list[float], list[float]]:
    """Sorted seconds of calls while a process is stopped, and while it runs."""
    alone: list[float] = []
    beside: list[float] = []
    for _ in range(ROUNDS):
        for number, seconds in ((signal.SIGSTOP, alone), (signal.SIGCONT, beside)):
            os.kill(noise, number)
            time.sleep(_SETTLE_SECONDS)
            seconds.extend(_measure(channel, calls // ROUNDS))
    return sorted(alone), sorted(beside)


def _measure(channel: grpc.Channel, calls: int) -> list[float]:
    """Seconds of calls of the quiet caller, which opens a stream too; a failed one raises grpc.RpcError."""
    decide, request, seconds = channel.unary_unary(DECIDE), _request("quiet"), []
    for _ in range(calls):
        began = time.perf_counter()
        decide(request, metadata=_metadata(OTHER_TOKEN), timeout=30)
        seconds.append(time.perf_counter() - began)
    list(channel.stream_stream(_SYNC)(iter(()), metadata=_metadata(OTHER_TOKEN), timeout=30))
    return seconds


def main(
    calls: Annotated[int, typer.Argument(min=100, help="Calls of the quiet caller per measurement")] = 1_000,
    settings: Annotated[str, typer.Argument(help="YAML for the server's configuration")] = "",
) -> Counts:
    """Measure a quiet caller, alone and beside each noise: no call may fail, and p99 may double."""
    passed = 0
    with TemporaryDirectory() as folder:
        config = Path(folder, "server.yaml")
        config.write_text(f"records: {{enabled: false}}\n{settings}")
        tokens = token_file(Path(folder), f"noisy {TOKEN}", f"quiet {OTHER_TOKEN}")
        arguments = ("--config", str(config), "--token-file", str(tokens))
        for name, make in NOISES.items():
            with run_server_process(*arguments) as (_, address), grpc.insecure_channel(address) as channel:
                _measure(channel, 50)
                with _noise(make, address) as noise:
                    alone, beside = _compare(channel, noise, calls)
            p99 = alone[int(calls * 0.99)], beside[int(calls * 0.99)]
            passed += p99[1] <= MOST * p99[0]
            median = alone[calls // 2], beside[calls // 2]
            print(
                f"{name}: p50 {median[0] * 1e3:.1f} ms alone, {median[1] * 1e3:.1f} ms beside them;", end=""
            )
            print(f" p99 {p99[0] * 1e3:.1f} ms, {p99[1] * 1e3:.1f} ms ({p99[1] / p99[0]:.2f} times)")
    return Counts(passed, len(NOISES) - passed)
