"""`python -m tests.bench`: runs the benchmarks."""

import json
from collections.abc import Iterator
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import Progress

from tests.bench import performance_page, result_table
from tests.bench.decide_measurement import UnexpectedCounts
from tests.bench.flame_graph import profile
from tests.bench.row_measurement import measure_row
from tests.bench.sample import Sample
from tests.bench.workloads.case import CallMode, Case
from tests.bench.workloads.catalog import all_cases, select_cases

FOLDER: Final = Path(".cache/bench")
NOTES: Final = Console(stderr=True, highlight=False)
MAX_STEAL_SHARE: Final = 0.02
"""Maximum share of processor time stolen by the host. Above it, a measurement is repeated."""


def main(
    only: Annotated[
        list[str] | None, typer.Option(help="Cases by name (W9@500), pattern (W9@*) or workload (W9)")
    ] = None,
    with_long: Annotated[
        bool,
        typer.Option("--long", help="Long cases too, which else run only when named"),
    ] = False,
    way: Annotated[list[CallMode] | None, typer.Option(help="Only these ways of asking")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each; quick ways run more often")] = 9,
    tries: Annotated[
        int,
        typer.Option(
            min=1, help=f"Measure so often until the host steals no more than {MAX_STEAL_SHARE:.0%}"
        ),
    ] = 3,
    output: Annotated[Path, typer.Option(help="JSON file with all times")] = FOLDER / "results.json",
    compare: Annotated[Path | None, typer.Option(help="JSON file of earlier results")] = None,
    write: Annotated[
        bool, typer.Option("--write-page", help=f"Put figures into {performance_page.PAGE.name}")
    ] = False,
    flame: Annotated[bool, typer.Option("--profile", help="Write flame graphs instead of times")] = False,
    max_growth: Annotated[
        float | None, typer.Option(help="Fail if times grow with size to a greater power")
    ] = None,
    max_server: Annotated[
        int | None, typer.Option(help="Fail if a server takes more memory than this, in MiB")
    ] = None,
) -> None:
    """Measure how long decisions take, and check what they are.

    Exit code 1: a case came out otherwise than it must, or a limit was exceeded.
    """
    cases = select_cases(only or (), with_long=with_long)
    if not cases:
        raise _usage_error(f"no case is called that; known: {', '.join(case.name for case in all_cases())}")
    try:
        if flame:
            for case in cases:
                if CallMode.DECIDE in case.ways:
                    print(profile(case, FOLDER))
        else:
            rows = _measure(cases, frozenset(way or CallMode), (runs, tries), output, compare)
            if write:
                performance_page.PAGE.write_text(
                    performance_page.render_page(
                        performance_page.PAGE.read_text(), rows, result_table.growth(rows)
                    )
                )
            exceeded = result_table.exceeded(rows, max_growth or inf, max_server or inf)
            for line in exceeded:
                NOTES.print(line, markup=False, soft_wrap=True)
            if exceeded:
                raise typer.Exit(1)
    except UnexpectedCounts as unexpected:
        NOTES.print(str(unexpected), markup=False, soft_wrap=True)
        raise typer.Exit(1) from None


def _measure(
    cases: tuple[Case, ...],
    ways: frozenset[CallMode],
    effort: tuple[int, int],
    output: Path,
    compare: Path | None,
) -> list[dict[str, Any]]:
    todo = [(case, way) for case in cases for way in case.ways if way in ways]
    output.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for sample in _with_progress(todo, *effort):
        rows.append(sample.as_json())
        output.write_text(json.dumps(rows, indent=1))  # at once: the rest may take an hour
    console = Console()
    console.print(result_table.results(rows))
    for name, exponent in result_table.growth(rows).items():
        console.print(f"{name}: time grows with size to the power of {exponent:.2f}")
    if compare:
        console.print(result_table.comparison(rows, json.loads(compare.read_text())))
    return rows


def _with_progress(todo: list[tuple[Case, CallMode]], runs: int, tries: int) -> Iterator[Sample]:
    with Progress(console=NOTES, transient=True, disable=not NOTES.is_terminal) as progress:
        bar = progress.add_task("", total=len(todo))
        for case, way in todo:
            progress.update(bar, description=f"{case.name} {way}")
            yield _sample_with_least_steal(case, way, runs, tries)
            progress.advance(bar)


def _sample_with_least_steal(case: Case, way: CallMode, runs: int, tries: int) -> Sample:
    """Return a sample without much stolen time, or else the sample with the least."""
    quietest = measure_row(case, way, runs)
    for _ in range(tries - 1):
        if quietest.stolen_share <= MAX_STEAL_SHARE:
            break
        quietest = min(quietest, measure_row(case, way, runs), key=attrgetter("stolen_share"))
    return quietest


def _usage_error(message: str) -> typer.Exit:
    NOTES.print(message, markup=False)
    return typer.Exit(2)


if __name__ == "__main__":
    typer.run(main)
