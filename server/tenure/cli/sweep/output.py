"""Output of `tenure sweep`: progress, JSON, or a table of the points."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from tenure.cli.sweep.results import ResultFolder
from tenure.cli.sweep.single_run import SingleRun
from tenure.process.options import Output
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.render.terminal import TerminalConsole
from tenure.simulator.report.sweep_page import cells_of, head_of, render_sweep
from tenure.simulator.sweeps.frontier import PointResult
from tenure.terms.formatting import format_count

if TYPE_CHECKING:
    from tenure.simulator.sweeps.study import Study


@contextmanager
def counted(runs: int, left: int, output: Output) -> Iterator[Callable[[SingleRun], None]]:
    """A line with the runs that are done and the time left; nothing without a terminal."""
    if output is Output.JSON or not sys.stderr.isatty():
        yield lambda run: None
        return
    bar = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*bar, console=Console(stderr=True)) as shown:
        task = shown.add_task("runs", total=runs, completed=runs - left)
        yield lambda run: shown.advance(task)


def show_results(
    study: "Study",
    results: Sequence[PointResult],
    runs: Mapping[int, Sequence[Mapping[str, Any]]],
    folder: ResultFolder,
    report: Path | None,
    output: Output,
) -> None:
    """Write the page, and print JSON or the table."""
    if report is not None:
        report.write_text(render_sweep(study, results, runs), encoding="utf-8")
    if output is Output.JSON:
        typer.echo(json.dumps({"points": [_json(result, folder) for result in results]}, indent=2))
        return
    count = len(results) * len(study.seeds)
    console = TerminalConsole()
    rows = [TableRow(tuple(cells_of(result)), ()) for result in results]
    title = f"{format_count(len(results), 'point')}, {format_count(count, 'run')}"
    heads = head_of(study)
    last = len(heads) - 1
    values = range(1, len(study.vary) + 1)
    columns = tuple(
        [
            TableColumn(name, wraps=number in values, right=0 < number < last)
            for number, name in enumerate(heads)
        ]
    )
    TableSection(title, columns, (), rows).print(console)
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
