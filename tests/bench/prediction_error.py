"""How far the predictions of the plugin `shortest` are from the real runtimes of a trace.

    python -m tests.bench.prediction_error cluster01.csv philly.csv

Each job is predicted when it is submitted, by the jobs of its queue and size that have ended by then, as if
no job waited or was evicted. Prints the median and the 90th percentile of the factor between both, and how
many are within a factor of 2.
"""

import heapq
import math
from pathlib import Path
from typing import Annotated

import typer
from tenure.simulator.jobs import Trace
from tenure.simulator.traces.formats import read_trace
from tenure.solver.plugins.shortest import predict
from tenure.terms.durations import SECOND
from tenure.v1.snapshot_pb2 import QueueRuntimes
from tenure.wire.runtime_history import add_runtime


def errors(trace: Trace) -> list[float]:
    """Factors between predicted and real runtimes, from 1 on, of the jobs that are predicted; sorted."""
    rows: dict[str, QueueRuntimes] = {}
    running: list[tuple[int, int]] = []
    found = []
    for number, job in enumerate(trace.jobs):
        while running and running[0][0] <= job.submit:
            end, ended = heapq.heappop(running)
            done = trace.jobs[ended]
            row = rows.setdefault(done.queue, QueueRuntimes(queue=done.queue))
            add_runtime(row, done.total_gpu_milli, done.runtime // SECOND, end // SECOND)
        heapq.heappush(running, (job.submit + job.runtime, number))
        sizes = rows[job.queue].sizes if job.queue in rows else ()
        predicted = predict([(size.gpu_milli, size.seconds) for size in sizes], job.total_gpu_milli)
        if predicted:
            found.append(math.exp(abs(math.log(predicted / max(job.runtime / SECOND, 1)))))
    return sorted(found)


def main(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE", help="Files with jobs.")],
) -> None:
    """Print a line for each trace."""
    for path in traces:
        _, trace = read_trace(path)
        found = errors(trace)
        near = sum(each <= 2 for each in found) / len(found)
        median, most = found[len(found) // 2], found[len(found) * 9 // 10]
        counts = f"{len(found):,} of {len(trace.jobs):,} jobs predicted"
        far = f"median factor {median:.1f}, p90 {most:.0f}, within 2: {near:.0%}"
        typer.echo(f"{path.stem}: {counts}, {far}")


if __name__ == "__main__":
    typer.run(main)
