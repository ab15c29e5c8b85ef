"""Output of `tenure play`: progress, JSON, or tables with runs side by side."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, Final, TextIO

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.text import Text
from tenure.cli.play.inputs import PlayOutput
from tenure.render.table_section import MAX_ROWS, TableColumn, TableRow, TableSection
from tenure.render.terminal import TerminalConsole
from tenure.simulator.comparison import Policy, value_at
from tenure.simulator.jobs import BadLine, left_out_text
from tenure.simulator.report.figures import SECTIONS, duration_text, figure_text, group_names, spread_text
from tenure.simulator.report.page import render_page
from tenure.simulator.report.verdict import noise_text, verdicts
from tenure.simulator.runs import Run, RunInput, by_policy
from tenure.simulator.simulation import Progress
from tenure.terms.formatting import format_count

MAX_BAD_LINES: Final = 3
MINUTE: Final = 60.0
"""Seconds between two lines of progress without a terminal."""
FIRST_LINE: Final = 2.0
"""Seconds until the first line."""
LARGE_FILE: Final = 1 << 20
"""Size in bytes from which reading a trace is announced."""


def show_reading(trace: Path) -> None:
    """Say on standard error that a large trace is read, which takes seconds."""
    try:
        is_large = trace.stat().st_size >= LARGE_FILE
    except OSError:
        return  # the reader says why
    if is_large:
        typer.echo(f"Reading {trace}", err=True)


@contextmanager
def show_progress(run: RunInput, seeds: int) -> Iterator[Progress]:
    """The part of the jobs that ended, on standard error: a bar with the time left, or a line per minute."""
    name = run.name if seeds == 1 else f"{run.name}, seed {run.settings.seed}"
    if not sys.stderr.isatty():
        yield progress_lines(name, len(run.trace.jobs), sys.stderr)
        return
    bar = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with RichProgress(
        *bar, TextColumn("{task.fields[speed]}"), console=TerminalConsole(stderr=True)
    ) as shown:
        yield _counted(shown.update, shown.add_task(name, total=len(run.trace.jobs), speed=""))


def progress_lines(name: str, jobs: int, target: TextIO, clock: Callable[[], float] = monotonic) -> Progress:
    """Write a line after two seconds, then every minute, so that logs of long runs show that they go on."""
    began = clock()
    last = began - MINUTE + FIRST_LINE

    def note(now: int, ended: int, cycles: int) -> None:
        nonlocal last
        at = clock()
        if at - last >= MINUTE:
            last = at
            rate = f"{cycles / (at - began):.0f} cycles/s"
            left = time_left_text(at - began, ended, jobs)
            target.write(f"{name}: {ended:,} of {jobs:,} jobs, {cycles:,} cycles, {rate}{left}\n")
            target.flush()

    return note


def time_left_text(passed: float, done: int, total: int) -> str:
    """About how long the rest takes, if it goes on at this rate; passed are seconds."""
    return f", about {duration_text(passed * (total - done) / done)} left" if done else ""


def _counted(update: Callable[..., None], task: int) -> Progress:
    began, last = monotonic(), 0.0

    def note(now: int, ended: int, cycles: int) -> None:
        nonlocal last
        if (passed := monotonic() - began) - last > 0.2:
            last = passed
            update(task, completed=ended, speed=f"{cycles / passed:.0f} cycles/s")

    return note


def show_runs(runs: Sequence[Run], output: PlayOutput, report: Path | None, tables: Path) -> None:
    """Write the page and the Parquet files, and print JSON or tables."""
    if report is not None:
        report.write_text(render_page(runs), encoding="utf-8")
    if output is PlayOutput.JSON:
        compared = [_compared(policy, _policies(runs)[0]) for policy in _policies(runs)]
        typer.echo(json.dumps({"runs": [run.to_json() for run in runs], "comparison": compared}, indent=2))
        return
    if output is PlayOutput.PARQUET:
        from tenure.simulator.report.parquet import write_tables

        write_tables(runs, tables)
        typer.echo(f"Tables: {tables}")
    else:
        print_runs(TerminalConsole(), runs)
    if report is not None:
        typer.echo(f"Report: {report}")


def print_bad_lines(console: Console, bad_lines: Sequence[BadLine]) -> None:
    """Print how many lines and jobs are left out, and the first ones."""
    console.print(Text(f"{left_out_text(bad_lines)}:", style="yellow"))
    for bad in bad_lines[:MAX_BAD_LINES]:
        named = f"{bad.where}: {bad.problem}" if bad.where else bad.problem
        console.print(Text(f"  {named}", style="yellow"))
    if len(bad_lines) > MAX_BAD_LINES:
        console.print(Text("  The page of --report names more of them.", style="yellow"))


def _policies(runs: Sequence[Run]) -> list[Policy]:
    return [Policy(name, [run.metrics for run in group]) for name, group in by_policy(runs).items()]


def _compared(policy: Policy, base: Policy) -> dict[str, Any]:
    """All figures of a policy over the seeds, by their paths, and their differences to the first policy."""
    figures: dict[str, Any] = {}
    for _, section in SECTIONS:
        for figure in section:
            spread, difference = policy.spread(figure.of), policy.difference(base, figure.of)
            figures[".".join(figure.path)] = {
                **({} if spread is None else spread._asdict()),
                "difference": None if difference is None else difference._asdict(),
            }
    return {"policy": policy.name, "compared_with": base.name, "figures": figures}


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
        print_bad_lines(console, trace.bad_lines)
    groups = by_policy(runs)
    policies = _policies(runs)
    seeds = [str(run.input.settings.seed) for run in next(iter(groups.values()))]
    if len(seeds) > 1:
        console.print(Text(f"Means over the seeds {', '.join(seeds)} ± standard deviation", style="dim"))
    for run in runs:
        if run.restored:
            restored = format_count(run.restored, "cycle")
            console.print(Text(f"{run.input.name}: {restored} from the checkpoint", style="dim"))
        for violation in run.violations[:MAX_BAD_LINES]:
            text = f"{run.input.name}: {violation.eviction.victim} was evicted although {violation.rule}"
            console.print(Text(text, style="bold red"))
    for verdict in verdicts(policies):
        console.print(Text(verdict.text, style="bold"))
    if len(policies) > 1:
        console.print(Text(noise_text(policies), style="dim"))
    columns = (TableColumn("Metric"), *[TableColumn(name, right=True) for name in groups])
    for title, figures in SECTIONS:
        rows = [
            TableRow((figure.title, *[figure_text(figure, policy) for policy in policies]), ())
            for figure in figures
        ]
        TableSection(f"\n{title}", columns, (), rows).print(console)
    for title, key in (
        ("Mean wait by size", "by_size"),
        ("Mean wait by queue", "by_queue"),
        ("Mean wait by priority", "by_priority"),
    ):
        names = group_names(key, policies)
        if key == "by_priority" and len(names) == 1:
            continue
        rows = [
            TableRow((name, *[_mean_wait(policy, key, name) for policy in policies]), ())
            for name in names[:MAX_ROWS]
        ]
        columns = (TableColumn(title.rpartition(" ")[2].capitalize()), *columns[1:])
        TableSection(f"\n{title}", columns, (), rows).print(console)
        if len(names) > MAX_ROWS:
            more = f"… and {len(names) - MAX_ROWS:,} more: --report and --output json have all."
            console.print(Text(more, style="dim"))


def _mean_wait(policy: Policy, key: str, name: str) -> str:
    return spread_text("duration", policy.spread(value_at(key, name, "wait", "mean")))
