"""The check `telemetry-faults`: the cost of a faulty collector for the service (F20).

Servers run one after the other, each with another collector, and get the same small request many times.
"""

import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

import grpc
import typer
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as trace_grpc
from rich.console import Console
from rich.table import Table
from tenure.client import Client
from tenure.process.telemetry import LAST_SECONDS

from tests.checks import Counts
from tests.telemetry.cost.process_usage import processor_seconds, resident_mib
from tests.telemetry.external_programs import free_port
from tests.telemetry.otlp_receiver import run_receiver
from tests.telemetry.telemetry_server import METRICS_INTERVAL, contested_snapshot, run_telemetry_server

WARM_UP: Final = 20
"""Number of calls before the measurement."""
Collector = Callable[[], AbstractContextManager[str | None]]
"""Runs a collector of one kind and yields its address as HOST:PORT; None: no export."""


class TelemetryCost(NamedTuple):
    """Measurements of a server: its calls and its exit."""

    median_ms: float
    p99_ms: float
    processor_ms: float
    """Processor time of each call, including export during the call."""
    grown_mib: float
    """Growth of memory during the calls."""
    end_seconds: float
    exit_code: int


class _Slow(trace_grpc.TraceServiceServicer):
    def Export(self, request, context):
        time.sleep(5)
        context.abort(grpc.StatusCode.UNAVAILABLE, "too slow")


class _Refusing(trace_grpc.TraceServiceServicer):
    def Export(self, request, context):
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no")


@contextmanager
def _no_collector() -> Iterator[str | None]:
    yield None


@contextmanager
def _working_collector() -> Iterator[str | None]:
    with run_receiver() as (_, address):
        yield address


@contextmanager
def _absent_collector() -> Iterator[str | None]:
    yield f"127.0.0.1:{free_port()}"


@contextmanager
def _silent_collector() -> Iterator[str | None]:
    """Accept connections and never respond."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def _answering(servicer: type[trace_grpc.TraceServiceServicer]) -> Collector:
    @contextmanager
    def answering() -> Iterator[str | None]:
        server = grpc.server(ThreadPoolExecutor(4))
        trace_grpc.add_TraceServiceServicer_to_server(servicer(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield f"127.0.0.1:{port}"
        server.stop(None)

    return answering


COLLECTORS: Final[Mapping[str, Collector]] = MappingProxyType(
    {
        "none": _no_collector,
        "well": _working_collector,
        "away": _absent_collector,
        "silent": _silent_collector,
        "slow": _answering(_Slow),
        "refusing": _answering(_Refusing),
    }
)


def measure_cost(collector: str, calls: int) -> TelemetryCost:
    """Measure the cost of this many calls of a server with a collector."""
    with COLLECTORS[collector]() as address, tempfile.TemporaryDirectory() as folder:
        keys = {} if address is None else {"otlpEndpoint": f"http://{address}"}
        with run_telemetry_server(
            Path(folder), logs={"level": "error"}, metricsInterval=METRICS_INTERVAL, **keys
        ) as (process, server):
            with Client(server) as client:
                for _ in range(WARM_UP):
                    client.decide(contested_snapshot())
                before, used = resident_mib(process.pid), processor_seconds(process.pid)
                times = sorted(_timed(client) for _ in range(calls))
                grown = resident_mib(process.pid) - before
                used = (processor_seconds(process.pid) - used) / calls
            begin = time.monotonic()
            process.terminate()
            code = process.wait(60)
            end = time.monotonic() - begin
    return TelemetryCost(
        statistics.median(times) * 1e3, times[int(len(times) * 0.99)] * 1e3, used * 1e3, grown, end, code
    )


def _timed(client: Client) -> float:
    begin = time.monotonic()
    client.decide(contested_snapshot())
    return time.monotonic() - begin


def main(calls: Annotated[int, typer.Option(min=2, help="Calls of each server")] = 1_000) -> Counts:
    """Measure calls of servers whose collectors are well, away, silent, slow or refusing, against limits."""
    table = Table(title=f"{calls:,} calls of each server")
    for column in ("collector", "median", "p99", "processor", "memory", "end"):
        table.add_column(column, justify="left" if column == "collector" else "right")
    broken: list[str] = []
    for collector in COLLECTORS:
        found = measure_cost(collector, calls)
        broken += [f"{collector}: {name}" for name, holds in _limits(found).items() if not holds]
        table.add_row(
            collector,
            f"{found.median_ms:.1f} ms",
            f"{found.p99_ms:.1f} ms",
            f"{found.processor_ms:.1f} ms",
            f"{found.grown_mib:+.0f} MiB",
            f"{found.end_seconds:.1f} s",
        )
    console = Console()
    console.print(table)
    for line in broken:
        console.print(f"over its limit: {line}")
    return Counts(len(COLLECTORS) * len(_limits(found)) - len(broken), len(broken))


def _limits(found: TelemetryCost) -> dict[str, bool]:
    """Whether each limit holds. After 1,000 calls an export queue without exports is full: 18 to 20 MiB."""
    return {
        "exit code": found.exit_code == 0,
        "end": found.end_seconds < LAST_SECONDS + 3,
        "memory": found.grown_mib < 40,
        "p99": found.p99_ms < 1_000,
    }
