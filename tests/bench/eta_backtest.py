"""How far estimated starts are from the real ones, on a trace that is played (semantics R17.22).

    python -m tests.bench.eta_backtest TRACE [--first-day 28 --days 10 --lead 2]
    python -m tests.bench.eta_backtest TRACE --first-day 30 --lead 0 --last-arrival 4

The trace is played as docs/use/play.md recommends for months of a full cluster. Every few minutes it is told
when the jobs that wait start: of each once when it is first seen to wait, and once when it has waited ten
minutes. Jobs that waited more than ten minutes count. Later arrivals are not known, and part of the error.
Expected runtimes are the real ones of whole runs, although evicted jobs go on from a checkpoint, or those
times a log-normal factor whose standard deviation is two.

With --last-arrival, nothing arrives after so many hours of the first day, evicted jobs begin again, and all
that wait then are asked about once. What is left is the error of the play itself.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Annotated, Final, NamedTuple

import typer
from tenure.simulator.cluster import build_cluster, equal_nodes, equal_queues, gpu_milli_of
from tenure.simulator.decider import SolverDecider
from tenure.simulator.fitting import fit_jobs
from tenure.simulator.jobs import FROM_ZERO, Job, Trace
from tenure.simulator.settings import MINUTE, RunSettings
from tenure.simulator.simulation import Simulation
from tenure.simulator.traces.formats import read_trace
from tenure.solver.play.start_times import Start, likely_end
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

GPUS: Final = 8
"""Of each node."""
NODES: Final = 64
DAY: Final = 86_400_000_000_000
WAIT: Final = 10 * MINUTE
SIMULATIONS: Final = 40
"""For a pod group, as the page recommends."""
TITLES: Final = (
    *("runtimes, asked", "jobs", "no time told", "wait left, median"),
    *("error, median", "p90", "before the range", "in the range", "after it"),
)
_LEAST: Final = 2
"""Jobs without which there are no quantiles."""


class ReportedStart(NamedTuple):
    """What was told of a job that waits."""

    time: int
    start: Start | None
    """None: no time was told."""


class EstimatingDecider:
    """Decides as a simulation does, and asks every few minutes when those that wait start."""

    def __init__(self, inner: SolverDecider, every: int, since: int) -> None:
        self._inner = inner
        self._every = every
        self._next = since
        self.at_first: dict[str, ReportedStart] = {}
        """By job."""
        self.later: dict[str, ReportedStart] = {}
        """When it had waited ten minutes."""

    def decide(self, delta: StateDelta, snapshot: Callable[[], ClusterSnapshot]) -> DecideResponse:
        """Decide on the state after a delta."""
        response = self._inner.decide(delta, snapshot)
        now = delta.now.ToNanoseconds()
        if now >= self._next:
            self._next = now + self._every
            self._estimate(now)
        return response

    def _estimate(self, now: int) -> None:
        """Play on, if anybody waits of whom nothing was told yet."""
        asked = [
            (
                group.index,
                group.facts.uid,
                self.later if now - group.facts.creation >= WAIT else self.at_first,
            )
            for group in self._inner.cluster.pod_groups
            if group.facts.uid and group.facts.last_start is None and not group.facts.last_eviction
        ]
        if all(uid in told for _, uid, told in asked):
            return
        starts = self._inner.play_on(likely_end).starts
        for index, uid, told in asked:
            start = starts.get(index)
            if start is None or start.by > now:
                told.setdefault(uid, ReportedStart(now, start))


@dataclass
class Errors:
    """Differences between told and real starts, in minutes."""

    absolute: list[float]
    early: int
    """Starts before the range that was told."""
    late: int
    """Starts after it."""
    untold: int
    waits: list[float]

    @classmethod
    def of(cls, told: dict[str, ReportedStart], starts: dict[str, int]) -> "Errors":
        """Of the jobs that really started."""
        made = cls([], 0, 0, 0, [])
        for job, (time, start) in told.items():
            real = starts.get(job)
            if real is None:
                continue
            if start is None:
                made.untold += 1
                continue
            made.absolute.append(abs(real - start.at) / MINUTE)
            made.waits.append((real - time) / MINUTE)
            made.early += real < start.after - MINUTE
            made.late += real > start.by + MINUTE
        return made

    def row(self, title: str) -> str:
        """A line of the table."""
        count = len(self.absolute)
        if count < _LEAST:
            return f"| {title} | {count} | {self.untold} |{'  |' * (len(TITLES) - 3)}"
        high = quantiles(self.absolute, n=10)[-1]
        parts = [self.early, count - self.early - self.late, self.late]
        cells = [f"{median(self.waits):,.0f} min", f"{median(self.absolute):,.1f} min", f"{high:,.0f} min"]
        cells = [title, f"{count:,}", f"{self.untold:,}", *cells, *[f"{part / count:.0%}" for part in parts]]
        return f"| {' | '.join(cells)} |"


def with_expected(jobs: Iterable[Job], noise: float) -> list[Job]:
    """Jobs whose owners say how long they run, wrong by a factor with this standard deviation."""
    draw = Random(1)
    spread = math.log(noise)
    return [
        job._replace(expected_runtime=max(int(job.runtime * math.exp(draw.gauss(0, spread))), MINUTE))
        for job in jobs
    ]


def play(
    trace: Trace, since: int, asked: int, every: int, settings: RunSettings
) -> tuple[EstimatingDecider, dict[str, int]]:
    """Play the jobs of a trace; return what was told from the time `asked` on, and when jobs since a time
    started.
    """
    nodes = equal_nodes(NODES, GPUS)
    split = fit_jobs(trace, nodes)
    cluster = build_cluster(nodes, equal_queues(split.queues, gpu_milli_of(nodes)), split.jobs)
    profile = default_profile()
    options = replace(profile.options, max_simulations_per_pod_group=SIMULATIONS)
    decider = EstimatingDecider(SolverDecider(replace(profile, options=options)), every, asked)
    results = Simulation(cluster, split.jobs, settings, decider).run()
    started = [each for each in results.jobs if each.first_start is not None and each.job.submit >= since]
    starts = {each.job.name: each.first_start or 0 for each in started}
    waited = {each.job.name for each in started if (each.first_start or 0) - each.job.submit > WAIT}
    return decider, {job: start for job, start in starts.items() if job in waited}


def _counts(job: Job, begin: int, lead: int) -> bool:
    """Whether it is submitted in the days that are played, or before and would still run when they count."""
    return job.submit >= begin - lead or job.submit + job.runtime > begin


def main(
    file: Annotated[Path, typer.Argument(metavar="TRACE")],
    first_day: Annotated[int, typer.Option(help="First day whose jobs count, from 0")] = 28,
    days: Annotated[int, typer.Option(help="Days whose jobs count")] = 10,
    lead: Annotated[int, typer.Option(help="Days before, of which all jobs are played")] = 2,
    every: Annotated[int, typer.Option(help="Minutes between two questions")] = 10,
    last_arrival: Annotated[int, typer.Option(help="Hours until the last job arrives; 0: all arrive")] = 0,
    factor: Annotated[list[float], typer.Option(help="Errors of expected runtimes")] = [1.0, 2.0],  # noqa: B006
) -> None:
    """Play once with each error of expected runtimes."""
    trace = read_trace(file)[1]
    begin = min(job.submit for job in trace.jobs) // DAY * DAY + first_day * DAY
    end, asked, settings = begin + days * DAY, begin, RunSettings(cycle_period=MINUTE)
    if last_arrival:
        end = asked = begin + last_arrival * 60 * MINUTE
        every, settings = days * 24 * 60, RunSettings(cycle_period=MINUTE, checkpoint_interval=FROM_ZERO)
    jobs = [job for job in trace.jobs if _counts(job, begin, lead * DAY) and job.submit < end]
    print(f"| {' | '.join(TITLES)} |")
    print(f"|---{'|---:' * (len(TITLES) - 1)}|")
    for noise in factor:
        title = "perfect" if noise == 1 else f"factor {noise:g}"
        noisy = replace(trace, jobs=with_expected(jobs, noise))
        decider, starts = play(noisy, begin, asked, every * MINUTE, settings)
        print(Errors.of(decider.at_first, starts).row(f"{title}, at first"), flush=True)
        print(Errors.of(decider.later, starts).row(f"{title}, after ten minutes"), flush=True)


if __name__ == "__main__":
    typer.run(main)
