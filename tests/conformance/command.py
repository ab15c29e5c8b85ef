"""The check `conformance`: runs the cases and prints the number that pass."""

import os
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from tenure.solver.plugin_api.profile import SPEEDUPS

from tests.checks import CannotRun, Counts
from tests.conformance.cases import UnreadableCases, load_cases, select
from tests.conformance.report_table import as_json, print_report
from tests.conformance.results import CaseResult, summarize
from tests.conformance.runner import run_all

CHECKOUT = Path(__file__).parents[2]


class Speedups(StrEnum):
    """Speedups that do not change decisions: on or off."""

    ALL = "all"
    NONE = "none"

    @property
    def names(self) -> tuple[str, ...]:
        """Value of the cycle option `speedups`."""
        return SPEEDUPS if self is Speedups.ALL else ()


class FillBack(StrEnum):
    """Values of the cycle option `fillBack`. The reference never gives victims back."""

    NEVER = "never"
    IN_PLACE = "inPlace"
    FULL = "full"


DEFAULT_CASES = Path("../shared/conformance")
"""Relative to the checkout."""


def main(
    cases: Annotated[Path | None, typer.Option(help=f"Folder of case files [{DEFAULT_CASES}]")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only cases with this tag; repeat for more")] = None,
    id_part: Annotated[str, typer.Option("--id", help="Only cases whose id contains this text")] = "",
    list_failures: Annotated[bool, typer.Option(help="Name every failed case with the differences")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures to this file")] = None,
    speedups: Annotated[Speedups, typer.Option(help="Speedups of the search")] = Speedups.ALL,
    fill_back: Annotated[
        FillBack, typer.Option(help="Whether victims that need not yield are given back")
    ] = FillBack.NEVER,
    processes: Annotated[int, typer.Option("-j", min=1, help="Processes")] = os.cpu_count() or 1,
) -> Counts:
    """Run the reference scheduler's cases through Tenure's contract."""
    try:
        chosen = select(load_cases(cases or (CHECKOUT / DEFAULT_CASES).resolve()), tag or (), id_part)
    except UnreadableCases as error:
        raise CannotRun(str(error)) from error
    if not chosen:
        raise CannotRun("no case has these tags and this id: see --tag and --id")
    report = summarize(
        list(_with_progress(run_all(chosen, processes, speedups.names, fill_back), len(chosen)))
    )
    print_report(report, list_failures)
    if json_file:
        json_file.write_text(as_json(report))
    return Counts(report.total.passed, report.total.failed)


def _with_progress(results: Iterable[CaseResult], total: int) -> Iterator[CaseResult]:
    """Show a progress bar on standard error if it is a terminal."""
    console = Console(stderr=True)
    yield from track(
        results,
        "running cases",
        total=total,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
