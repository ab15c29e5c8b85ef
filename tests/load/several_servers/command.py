"""The check `several-servers`: three servers behind HAProxy, one of which is killed under its callers.

200 clusters and the node pools of a large one change and decide at a steady pace. Every answer must be, byte
for byte, the one that a single server gives for the complete snapshot of the same state.
"""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final, NamedTuple

import typer
from rich.console import Console
from rich.table import Table
from tenure.client import Client
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.deltas import apply_deltas

from tests.attacks.hostile_requests import MIB, resident_bytes
from tests.checks import Counts
from tests.load.several_servers.balancer import QUIET, Balanced, processor_seconds, run_balanced
from tests.load.several_servers.callers import Callers, Run
from tests.load.several_servers.shards import LARGE, Shard, build_shards
from tests.server.servers import run_server_process

PHASES: Final = ("before", "during", "after")
"""During: cycles that ended after the server was killed, and the next cycle of each shard."""
_BEFORE: Final = 3
"""Cycles of each shard before that."""
_CYCLES: Final = 7


class Figures(NamedTuple):
    """What the check measured, beside the cycles."""

    runs: Sequence[Run]
    killed_at: float
    moved: set[tuple[str, str]]
    """Shards of the killed server."""
    large: Sequence[int]
    """Node pools of the large cluster on each server, before."""
    state_mib: float
    """Growth of the servers by a state, after a cycle."""
    cycle_ms: float
    """Processor time of a server for a cycle: a delta and a decision."""
    balancer_ms: float


def main(
    clusters: Annotated[int, typer.Option(min=3)] = 200,
    nodes: Annotated[int, typer.Option(min=8, help="Nodes of each cluster")] = 100,
    pools: Annotated[int, typer.Option(help="Node pools of the large cluster")] = 6,
    pool_nodes: Annotated[int, typer.Option(help="Nodes of each pool")] = 500,
    period: Annotated[float, typer.Option(help="Seconds between two cycles of a shard")] = 20.0,
    stop: Annotated[
        bool, typer.Option("--stop", help="Stop the server (SIGSTOP) instead of killing it")
    ] = False,
) -> Counts:
    """Kill one of three servers behind HAProxy: callers move to the others, and no answer is wrong."""
    shards = list(build_shards(clusters, nodes, pools, pool_nodes))
    with TemporaryDirectory() as folder, run_balanced(Path(folder)) as balanced:
        figures = measure(balanced, shards, period, signal.SIGSTOP if stop else signal.SIGKILL)
    report(figures, period)
    wrong = list(wrong_answers(figures.runs))
    unmoved = [
        run.shard.name for run in figures.runs if (run.shard.name in figures.moved) != (run.pushes > 1)
    ]
    for line in (*wrong[:10], *(f"{name}: moved without need, or not at all" for name in unmoved[:10])):
        print(line)
    return Counts(sum(len(run.cycles) for run in figures.runs) - len(wrong), len(wrong) + len(unmoved))


def measure(balanced: Balanced, shards: Sequence[Shard], period: float, how: signal.Signals) -> Figures:
    """Run the cycles, and end a server in the middle."""
    servers = balanced.servers
    empty = sum(resident_bytes(server.pid) for server in servers)
    callers = Callers(balanced.address, shards, period, _CYCLES)
    try:
        callers.push()
        begin = time.monotonic() + 1
        with callers.running(begin) as runs:
            _wait_until(begin + period)  # after a cycle of each
            grown = sum(resident_bytes(server.pid) for server in servers) - empty
            cpu = [sum(server.seconds() for server in servers), processor_seconds(balanced.balancer.pid)]
            _wait_until(begin + _BEFORE * period)
            cpu[0] = sum(server.seconds() for server in servers) - cpu[0]
            cpu[1] = processor_seconds(balanced.balancer.pid) - cpu[1]
            held = [server.shards() for server in servers]
            os.kill(servers[0].pid, how)
            killed_at = time.monotonic()
        cycles = len(shards) * (_BEFORE - 1)
        large = [sum(cluster_id == LARGE for cluster_id, _ in names) for names in held]
        costs = (grown / MIB / len(shards), cpu[0] * 1e3 / cycles, cpu[1] * 1e3 / cycles)
        return Figures(runs, killed_at, held[0], large, *costs)
    finally:
        callers.close()


def _wait_until(moment: float) -> None:
    time.sleep(max(moment - time.monotonic(), 0))


def wrong_answers(runs: Sequence[Run]) -> Iterator[str]:
    """Compare each answer with that of a server of its own, which gets the complete snapshot every time."""
    with run_server_process(*QUIET) as (_, address), Client(address) as client:
        for run in runs:
            snapshot = ClusterSnapshot()
            snapshot.CopyFrom(run.shard.snapshot)
            for cycle in run.cycles:
                snapshot = apply_deltas(snapshot, cycle.delta)
                where = f"{'/'.join(run.shard.name)}, version {snapshot.version}"
                if cycle.response is None:
                    yield f"{where}: {cycle.error}"
                elif cycle.response != client.decide(snapshot):
                    yield f"{where}: another answer than that of a single server"


def report(figures: Figures, period: float) -> None:
    """Print what was measured."""
    seconds: dict[str, list[float]] = {phase: [] for phase in PHASES}
    decisions: Counter[str] = Counter()
    for run in figures.runs:
        for cycle in run.cycles:
            late = cycle.due - figures.killed_at
            phase = 0 if late + cycle.seconds < 0 else 1 if late < period else 2
            seconds[PHASES[phase]].append(cycle.seconds)
            for group in cycle.response.groups if cycle.response else ():
                decisions.update(step.WhichOneof("kind") or "" for step in group.decisions)
    table = Table("phase", "cycles", "p50", "p99", "slowest")
    for phase, times in seconds.items():
        times.sort()
        ranks = (len(times) // 2, min(int(len(times) * 0.99), len(times) - 1), len(times) - 1)
        table.add_row(phase, str(len(times)), *(f"{times[rank] * 1e3:,.0f} ms" for rank in ranks))
    console = Console(highlight=False)
    console.print(table)
    moved = len(figures.moved)
    pushes = sum(run.pushes - 1 for run in figures.runs)
    console.print(
        f"{moved} of {len(figures.runs)} shards were on the server; {pushes} pushes after the first"
    )
    console.print(f"node pools of the large cluster by server: {figures.large}")
    console.print(f"decisions: {dict(sorted(decisions.items()))}")
    console.print(f"memory of servers for a state: {figures.state_mib:.1f} MiB")
    console.print(
        f"processor time of a cycle: {figures.cycle_ms:.1f} ms server, {figures.balancer_ms:.2f} ms HAProxy"
    )
