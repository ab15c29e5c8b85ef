"""The check `health-latency`: duration of health checks while cycles run.

The server runs in a separate process; this process is its client. Prints quantiles of the duration of a
check, idle and during cycles that take seconds.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import grpc
import typer
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from tenure.client import Client

from tests.checks import Counts
from tests.server.servers import run_server_process
from tests.server.slow_search import SLOW_OPTIONS, slow_search_snapshot

CHECKS: Final = 500
PAUSE: Final = 0.01
NODES: Final = 60
MOST_MILLISECONDS: Final = 50
"""Limit for p99."""


def _check(health: HealthStub) -> float:
    """Return the duration of one check in seconds. It must return SERVING."""
    begin = time.perf_counter()
    answer = health.Check(HealthCheckRequest(), timeout=10)
    seconds = time.perf_counter() - begin
    assert answer.status == HealthCheckResponse.SERVING
    time.sleep(PAUSE)
    return seconds


def _print_row(what: str, seconds: list[float]) -> bool:
    """Print quantiles. Returns whether p99 is within the limit."""
    ordered = sorted(seconds)
    quantiles = (0.5, 0.95, 0.99)
    percentiles = ", ".join(f"p{q * 100:g} {ordered[int(len(ordered) * q)] * 1e3:.1f} ms" for q in quantiles)
    print(f"{what}: {len(ordered)} checks, {percentiles}, longest {ordered[-1] * 1e3:.1f} ms", flush=True)
    return ordered[int(len(ordered) * 0.99)] * 1e3 <= MOST_MILLISECONDS


def main(
    clusters: Annotated[
        int, typer.Argument(min=1, help="Clusters that have a cycle running all the time")
    ] = 1,
    settings: Annotated[
        str, typer.Argument(help="YAML for the server's configuration: 'server: {solverHost: process}'")
    ] = "",
) -> Counts:
    """Measure health checks, idle and during cycles; p99 may be 50 ms at most in both."""
    with TemporaryDirectory() as folder:
        config = Path(folder, "slow.yaml")
        config.write_text(SLOW_OPTIONS + settings)
        with (
            run_server_process("--config", str(config)) as (_, address),
            Client(address, timeout=120) as client,
            grpc.insecure_channel(address) as channel,
            ThreadPoolExecutor(clusters) as pool,
        ):
            health = HealthStub(channel)
            passed = _print_row("idle", [_check(health) for _ in range(CHECKS)])
            times: list[float] = []
            cycles = 0
            while len(times) < CHECKS:
                calls = [
                    pool.submit(client.decide, slow_search_snapshot(NODES, f"c{i}")) for i in range(clusters)
                ]
                time.sleep(0.2)
                while not any(call.done() for call in calls) and len(times) < CHECKS:
                    times.append(_check(health))
                cycles += len([call.result() for call in calls])
            passed += _print_row(f"during {cycles} cycles, {clusters} at a time", times)
    return Counts(passed, 2 - passed)
