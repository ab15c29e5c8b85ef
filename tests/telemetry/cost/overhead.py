"""The check `telemetry-overhead`: the cost of telemetry for a cycle on 500 nodes and 5,000 pods.

Three servers that differ only in their configuration decide in turn on the same pushed state. Every request
has a later time, because the server caches the response to an identical request. The check compares the
processor time of the processes: the median and the first quartile, which other work on the machine affects
least.
"""

import statistics
import tempfile
import timeit
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer
from google.protobuf.timestamp_pb2 import Timestamp
from rich.console import Console
from rich.progress import track
from rich.table import Table
from tenure.client import Client, StateSession
from tenure.server.telemetry.timeline import Timeline
from tenure.solver.framework.observer import ObservedPhase, Phase

from tests.checks import Counts
from tests.properties.generators.draw import SeededDraw
from tests.state.generated_snapshots import generate_snapshot
from tests.telemetry.cost.process_usage import processor_seconds
from tests.telemetry.otlp_receiver import ReceivedTelemetry, run_receiver
from tests.telemetry.telemetry_server import run_telemetry_server

NODES: Final = 500
PODS: Final = 5_000
ACTIONS: Final = ("allocate", "consolidation", "reclaim", "preempt", "requeue")
WAYS: Final[dict[str, dict[str, Any]]] = {
    "off": {},
    "sampled 1 %": {"sampleRatio": 0.01},
    "full": {"sampleRatio": 1},
}
"""Sections `telemetry`, without the address of the receiver, which all but the first have."""
SHORT: Final = {"maxSimulationsPerPodGroup": 20, "maxSimulationsPerAction": 60}
"""A short search: the shorter the cycle, the larger the share of telemetry."""

LIMITS: Final = {"sampled 1 %": 0.05, "full": 0.2}
"""Maximum relative increase of the first quartile of processor time over that without telemetry."""
ALWAYS_ON_SECONDS: Final = 1e-4
"""Maximum time for recording the start and end of actions."""


class MeasuredServer(NamedTuple):
    """A server, its pushed state, and the processor time of each cycle so far."""

    name: str
    pid: int
    session: StateSession
    received: ReceivedTelemetry
    seconds: list[float]
    now: Timestamp


def main(cycles: Annotated[int, typer.Option(min=2, help="Cycles of each server")] = 200) -> Counts:
    """Measure the processor time of a cycle without telemetry, sampled and in full, against limits."""
    with ExitStack() as stack:
        servers = [_start_server(stack, name, keys) for name, keys in WAYS.items()]
        for number in track(range(cycles), "cycles", console=Console(stderr=True)):
            for place in range(len(servers)):
                _measure_cycle(servers[(number + place) % len(servers)])
        Console().print(_table(servers))
    always_on = _always_on()
    Console().print(f"Always on, off included: {always_on * 1e6:.0f} µs a cycle for times of actions.")
    over = _quarters_over_off(servers)
    failed = sum(over[name] > limit for name, limit in LIMITS.items()) + (always_on > ALWAYS_ON_SECONDS)
    return Counts(len(LIMITS) + 1 - failed, failed)


def _quarters_over_off(servers: list[MeasuredServer]) -> dict[str, float]:
    quarters = {server.name: statistics.quantiles(server.seconds)[0] for server in servers}
    return {name: quarter / quarters["off"] - 1 for name, quarter in quarters.items()}


def _start_server(stack: ExitStack, name: str, keys: dict[str, Any]) -> MeasuredServer:
    received, address = stack.enter_context(run_receiver())
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    endpoint = {"otlpEndpoint": f"http://{address}"} if keys else {}
    process, server = stack.enter_context(run_telemetry_server(folder, options=SHORT, **endpoint, **keys))
    session = StateSession(stack.enter_context(Client(server, timeout=600)), timeout=600)
    snapshot = generate_snapshot(SeededDraw(0), NODES, PODS)
    session.push(snapshot)
    session.decide(ACTIONS)
    received.spans.clear()
    now = Timestamp(seconds=snapshot.now.seconds)
    return MeasuredServer(name, process.pid, session, received, [], now)


def _measure_cycle(server: MeasuredServer) -> None:
    server.now.seconds += 1
    before = processor_seconds(server.pid)
    server.session.decide(ACTIONS, server.now)
    server.seconds.append(processor_seconds(server.pid) - before)


def _always_on() -> float:
    """Return the seconds for the timeline of a cycle without telemetry; the best of many."""

    def once() -> None:
        timeline = Timeline(is_detailed=False)
        for part in (Phase.DECODE, Phase.SESSION, *(Phase.ACTION for _ in ACTIONS), Phase.FOLD, Phase.ENCODE):
            with ObservedPhase(timeline, part):
                pass

    return min(timeit.repeat(once, number=100, repeat=50)) / 100


def _table(servers: list[MeasuredServer]) -> Table:
    table = Table(title=f"{NODES:,} nodes, {PODS:,} pods, {len(servers[0].seconds)} cycles each")
    for column in ("telemetry", "quarter", "median", "quarter over off", "median over off", "spans"):
        table.add_column(column, justify="left" if column == "telemetry" else "right")
    over = _quarters_over_off(servers)
    off_median = statistics.median(servers[0].seconds)
    for server in servers:
        quarter, median, _ = statistics.quantiles(server.seconds)
        table.add_row(
            server.name,
            f"{quarter * 1_000:.1f} ms",
            f"{median * 1_000:.1f} ms",
            f"{over[server.name]:+.1%}",
            f"{median / off_median - 1:+.1%}",
            f"{len(server.received.spans) / len(server.seconds):.0f}",
        )
    return table
