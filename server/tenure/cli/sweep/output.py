"""Output of `tenure sweep`: progress, JSON, or a table of the points."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from string import ascii_uppercase
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TextIO

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from tenure.cli.play.output import MINUTE, print_bad_lines, time_left_text
from tenure.cli.sweep.results import ResultFolder
from tenure.cli.sweep.single_run import SingleRun
from tenure.process.options import Output
from tenure.render.table_section import MAX_ROWS, TableColumn, TableRow, TableSection
from tenure.render.terminal import TerminalConsole
from tenure.simulator.report.sweep_page import cells_of, head_of, render_sweep
from tenure.simulator.runs import MAX_BAD_LINES
from tenure.simulator.sweeps.frontier import PointResult
from tenure.terms.formatting import format_count

if TYPE_CHECKING:
    from tenure.simulator.jobs import Trace
    from tenure.simulator.sweeps.study import Study


WIDE: Final = 10
"""Characters of a heading from which a letter takes its place, so that columns do not wrap within words."""


@contextmanager
def counted(runs: int, left: int) -> Iterator[Callable[[SingleRun], None]]:
    """The runs that are done and the time left, on standard error: a bar, or without a terminal a line per
    minute.
    """
    if not sys.stderr.isatty():
        yield progress_lines(runs, left, sys.stderr)
        return
    bar = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*bar, console=TerminalConsole(stderr=True)) as shown:
        task = shown.add_task("runs", total=runs, completed=runs - left)
        yield lambda run: shown.advance(task)


def progress_lines(
    runs: int, left: int, target: TextIO, clock: Callable[[], float] = monotonic
) -> Callable[[SingleRun], None]:
    """Write a line when a run is done and a minute has passed since the last one."""
    began = last = clock()
    done = 0

    def note(run: SingleRun) -> None:
        nonlocal done, last
        done += 1
        at = clock()
        if at - last >= MINUTE:
            last = at
            rest = time_left_text(at - began, done, left)
            target.write(f"{runs - left + done:,} of {format_count(runs, 'run')}{rest}\n")
            target.flush()

    return note


def show_results(
    study: "Study",
    trace: "Trace",
    results: Sequence[PointResult],
    runs: Mapping[int, Sequence[Mapping[str, Any]]],
    folder: ResultFolder,
    report: Path | None,
    output: Output,
) -> None:
    """Write the page, and print JSON or the table."""
    if report is not None:
        report.write_text(render_sweep(study, trace, results, runs), encoding="utf-8")
    if output is Output.JSON:
        bad = [each.to_json() for each in trace.bad_lines[:MAX_BAD_LINES]]
        content = {
            "notes": list(trace.notes),
            "bad_lines": {"count": len(trace.bad_lines), "first": bad},
            "points": [_json(result, folder) for result in results],
        }
        typer.echo(json.dumps(content, indent=2))
        return
    count = len(results) * len(study.seeds)
    console = TerminalConsole()
    if trace.bad_lines:
        print_bad_lines(console, trace.bad_lines)
    title = f"{format_count(len(results), 'point')}, {format_count(count, 'run')}"
    shown = results
    if len(results) > MAX_ROWS:
        shown = [result for result in results if result.is_best][:MAX_ROWS]
        title += "; points of the frontier (--report and --output json have all)"
    rows = [TableRow(tuple(cells_of(result)), ()) for result in shown]
    heads = head_of(study)
    last = len(heads) - 1
    values = range(1, len(study.vary) + 1)
    letters = zip(values, ascii_uppercase, strict=False)
    legend = {number: letter for number, letter in letters if len(heads[number]) > WIDE}
    footer = ", ".join(f"{letter}: {heads[number]}" for number, letter in legend.items())
    columns = tuple(
        [
            TableColumn(legend.get(number, name), wraps=number in values, right=0 < number < last)
            for number, name in enumerate(heads)
        ]
    )
    TableSection(title, columns, (), rows, footer).print(console)
    best = [str(folder.configuration(result.point)) for result in results if result.is_best]
    typer.echo(f"Configurations of the frontier: {', '.join(best) or 'none: no point keeps the constraints'}")
    if report is not None:
        typer.echo(f"Report: {report}")


def _json(result: PointResult, folder: ResultFolder) -> dict[str, object]:
    return {
        "point": result.point.number,
        "values": dict(result.point.values),
        "figures": {
            path: None if spread is None else spread._asdict() for path, spread in result.figures.items()
        },
        "broken_constraints": list(result.broken),
        "violations": result.violations,
        "frontier": result.is_best,
        "configuration": folder.configuration(result.point).name,
    }
