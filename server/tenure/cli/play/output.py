"""Output of `tenure play`: progress, JSON, or tables with runs side by side."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.text import Text
from tenure.process.options import Output
from tenure.render.table_section import MAX_ROWS, TableColumn, TableRow, TableSection
from tenure.render.terminal import TerminalConsole
from tenure.simulator.report.figures import SECTIONS, duration_text, figure_text
from tenure.simulator.report.page import render_page
from tenure.simulator.runs import Run, RunInput
from tenure.simulator.simulation import Progress
from tenure.terms.formatting import format_count

MAX_BAD_LINES: Final = 3


@contextmanager
def show_progress(run: RunInput, output: Output) -> Iterator[Progress]:
    """A line with the part of the jobs that ended and the time left; nothing without a terminal."""
    if output is Output.JSON or not sys.stderr.isatty():
        yield lambda now, ended, cycles: None
        return
    bar = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with RichProgress(*bar, TextColumn("{task.fields[speed]}"), console=Console(stderr=True)) as shown:
        yield _counted(shown.update, shown.add_task(run.name, total=len(run.trace.jobs), speed=""))


def _counted(update: Callable[..., None], task: int) -> Progress:
    began, last = monotonic(), 0.0

    def note(now: int, ended: int, cycles: int) -> None:
        nonlocal last
        if (passed := monotonic() - began) - last > 0.2:
            last = passed
            update(task, completed=ended, speed=f"{cycles / passed:.0f} cycles/s")

    return note


def show_runs(runs: Sequence[Run], output: Output, report: Path | None) -> None:
    """Write the page, and print JSON or tables."""
    if report is not None:
        report.write_text(render_page(runs), encoding="utf-8")
    if output is Output.JSON:
        typer.echo(json.dumps({"runs": [run.to_json() for run in runs]}, indent=2))
        return
    print_runs(TerminalConsole(), runs)
    if report is not None:
        typer.echo(f"Report: {report}")


def print_runs(console: Console, runs: Sequence[Run]) -> None:
    """Print notes, then figures with one column for each run, then waits by size and queue."""
    first = runs[0]
    trace = first.input.trace
    gpus = sum(node.allocatable.gpu_milli for node in first.input.cluster.nodes) // 1000
    jobs, nodes = format_count(len(trace.jobs), "job"), format_count(len(first.input.cluster.nodes), "node")
    console.print(Text(f"{jobs} on {nodes} with {gpus} GPUs", style="bold"))
    for note in trace.notes:
        console.print(Text(note, style="dim"))
    if trace.bad_lines:
        console.print(Text(f"{format_count(len(trace.bad_lines), 'line')} left out:", style="yellow"))
        for bad in trace.bad_lines[:MAX_BAD_LINES]:
            console.print(Text(f"  line {bad.line}: {bad.problem}", style="yellow"))
    for run in runs:
        if run.restored:
            restored = format_count(run.restored, "cycle")
            console.print(Text(f"{run.input.name}: {restored} from the checkpoint", style="dim"))
        for violation in run.violations[:MAX_BAD_LINES]:
            text = f"{run.input.name}: {violation.eviction.victim} was evicted although {violation.rule}"
            console.print(Text(text, style="bold red"))
    names = [run.input.name for run in runs]
    columns = (TableColumn("Metric"), *[TableColumn(name, right=True) for name in names])
    for title, figures in SECTIONS:
        rows = [
            TableRow((figure.title, *[figure_text(figure, run.metrics) for run in runs]), ())
            for figure in figures
        ]
        TableSection(f"\n{title}", columns, (), rows).print(console)
    for title, key in (("Mean wait by size", "by_size"), ("Mean wait by queue", "by_queue")):
        groups = sorted({name for run in runs for name in run.metrics[key]})
        rows = [
            TableRow((name, *[_mean_wait(run, key, name) for run in runs]), ()) for name in groups[:MAX_ROWS]
        ]
        columns = (TableColumn(title.rpartition(" ")[2].capitalize()), *columns[1:])
        TableSection(f"\n{title}", columns, (), rows).print(console)


def _mean_wait(run: Run, key: str, name: str) -> str:
    found: dict[str, Any] = run.metrics[key].get(name, {})
    return duration_text(found.get("wait", {}).get("mean"))
