"""The check `soak`: a server under changing load for hours, whose memory must stay flat.

One caller lets a cluster churn with deltas. Another pushes clusters of different sizes and asks questions. A
third sends mutated requests. The load rises and falls with the period of a wave.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final, NamedTuple

import grpc
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from tenure.client import Client, TenureError
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.explain_pb2 import ExplainRequest, WhyPending
from tenure.v1.simulate_pb2 import SimulateRequest

from tests.attacks.hostile_requests import MIB, resident_bytes
from tests.bench.churn import ChurningCluster
from tests.bench.workloads.catalog import select_cases
from tests.checks import Counts
from tests.fuzz.campaign import case_of, try_case
from tests.server.servers import run_server_process

WARM_UP_SHARE: Final = 1 / 12
"""Share of the time after which memory must be flat: ten minutes of two hours."""
MAX_GROWTH: Final = 0.05
"""Maximum growth after the warm-up, as a share of the memory then."""
WAVE_SECONDS: Final = 600.0
MOST_PER_SECOND: Final = 12.0
"""Cycles of each caller per second on the crest of a wave."""
SAMPLE_SECONDS: Final = 5.0
SIZES: Final = ("W1@S", "W8@10", "W9@10", "W10@10")


class Measurement(NamedTuple):
    """Memory of the server at a time, in seconds since the start."""

    seconds: float
    resident: int


class Load:
    """Callers in threads. `counts` are calls by kind and result."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._began = time.monotonic()
        self._is_over = threading.Event()
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        works = (self._churn, self._ask, self._send_mutated)
        self._threads = [threading.Thread(target=self._run, args=(work,), daemon=True) for work in works]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the callers in the block."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            for thread in self._threads:
                thread.join(60)

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self.problems.append(f"{work.__name__}: {error!r}")

    def _turns(self) -> Iterator[int]:
        """Numbers of the steps of a caller, at the pace of the wave."""
        for number in count():
            height = 0.5 - 0.5 * math.cos(2 * math.pi * (time.monotonic() - self._began) / WAVE_SECONDS)
            if self._is_over.wait(1 / (MOST_PER_SECOND * (0.05 + 0.95 * height))):
                return
            yield number

    def _churn(self) -> None:
        """Jobs come, run and end; from time to time the snapshot is pushed anew."""
        (case,) = select_cases(["U5@50"])
        with Client(self._address) as client:
            while not self._is_over.is_set():
                snapshot = case.build()
                cluster, answer = ChurningCluster(snapshot), None
                state = client.put_snapshot("soak", snapshot)
                for number in self._turns():
                    state, answer = client.apply_and_decide(cluster.delta(state, answer), case.actions)
                    self.counts["delta and decision"] += 1
                    if number == 500:
                        break

    def _ask(self) -> None:
        """Clusters of different sizes: decisions, simulations and explanations."""
        snapshots = [case.build() for case in select_cases(list(SIZES))]
        with Client(self._address) as client:
            for number in self._turns():
                snapshot = pb.ClusterSnapshot()
                snapshot.CopyFrom(snapshots[number % len(snapshots)])
                snapshot.cluster_id = f"soak-{number % 7}"
                state = client.put_snapshot(f"epoch-{number}", snapshot)
                client.decide_state(state)
                client.simulate(SimulateRequest(state=state, cycles=2))
                with suppress(TenureError):  # not every cluster has a pod group with this name
                    client.explain(
                        ExplainRequest(
                            state=state, why_pending=WhyPending(pod_group=snapshot.pod_groups[0].uid)
                        )
                    )
                self.counts["push and questions"] += 1

    def _send_mutated(self) -> None:
        with grpc.insecure_channel(self._address) as channel:
            for number in self._turns():
                ending, problem = try_case(channel, case_of(7, number))
                self.counts[f"mutated request: {ending}"] += 1
                if problem:
                    self.problems.append(f"mutated request {number}: {problem}")


def main(
    minutes: Annotated[float, typer.Argument(min=0.5, help="Duration")] = 120.0,
    interval: Annotated[float, typer.Option(help="Minutes between two lines of the table")] = 10.0,
) -> Counts:
    """Load a server for hours: its memory must be flat after the first twelfth of the time."""
    console, measured = Console(), list[Measurement]()
    with TemporaryDirectory() as folder:
        records = Path(folder, "records")
        with run_server_process("--records", str(records), "--log-level", "error") as (process, address):
            load, began = Load(address), time.monotonic()
            with load.running(), Progress(console=Console(stderr=True)) as progress:
                task = progress.add_task("minutes", total=minutes)
                while (seconds := time.monotonic() - began) < minutes * 60 and process.poll() is None:
                    measured.append(Measurement(seconds, resident_bytes(process.pid)))
                    progress.update(task, completed=seconds / 60)
                    time.sleep(SAMPLE_SECONDS)
            ended = process.poll()
    _report(console, measured, load, interval * 60)
    problems = list(load.problems)
    if ended is not None:
        problems.append(f"the server ended with {ended}")
    if (growth := growth_after_warm_up(measured)) > MAX_GROWTH:
        problems.append(f"memory grew by {growth:.1%} after the warm-up")
    for problem in problems[:20]:
        console.print(problem, markup=False)
    return Counts(load.counts.total() - len(problems), len(problems))


def growth_after_warm_up(measured: list[Measurement]) -> float:
    """Highest memory in the last twelfth of the time, beyond that until one wave after the warm-up."""
    duration = measured[-1].seconds
    first = max(each.resident for each in measured if each.seconds <= 2 * duration * WARM_UP_SHARE)
    last = max(each.resident for each in measured if each.seconds >= duration * (1 - WARM_UP_SHARE))
    return last / first - 1


def _report(console: Console, measured: list[Measurement], load: Load, interval: float) -> None:
    table = Table("until", "lowest", "highest")
    for start in range(0, int(measured[-1].seconds) + 1, max(int(interval), 1)):
        part = [each.resident for each in measured if start <= each.seconds < start + interval]
        if part:
            end = (start + interval) / 60
            table.add_row(f"{end:g} min", f"{min(part) / MIB:.0f} MiB", f"{max(part) / MIB:.0f} MiB")
    console.print(table)
    for kind, calls in sorted(load.counts.items()):
        console.print(f"{calls:>9,} {kind}")
