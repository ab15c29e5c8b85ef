"""`python -m tests.conformance`: runs the cases and prints how many pass."""

import os
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from tests.conformance.cases import UnreadableCases, load_cases, select
from tests.conformance.results import Result, summarize
from tests.conformance.runner import run_all
from tests.conformance.table import print_json, print_report

CHECKOUT = Path(__file__).parents[2]
DEFAULT_CASES = Path("../shared/conformance")
"""Relative to the checkout."""


class Output(StrEnum):
    """How the report is written."""

    TABLE = "table"
    JSON = "json"


def main(
    cases: Annotated[Path | None, typer.Option(help=f"Folder of case files [{DEFAULT_CASES}]")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only cases with this tag; repeat for more")] = None,
    id_part: Annotated[str, typer.Option("--id", help="Only cases whose id contains this text")] = "",
    list_failures: Annotated[bool, typer.Option(help="Name every failed case with the differences")] = False,
    output: Annotated[Output, typer.Option(help="How to write the report")] = Output.TABLE,
    processes: Annotated[int, typer.Option("-j", min=1, help="Processes")] = os.cpu_count() or 1,
) -> None:
    """Run the reference scheduler's cases through Tenure's contract. Exit 0: all that ran passed."""
    try:
        chosen = select(load_cases(cases or (CHECKOUT / DEFAULT_CASES).resolve()), tag or (), id_part)
    except UnreadableCases as error:
        raise _usage_error(str(error)) from error
    if not chosen:
        raise _usage_error("no case has these tags and this id: see --tag and --id")
    report = summarize(list(_with_progress(run_all(chosen, processes), len(chosen))))
    if output is Output.JSON:
        print_json(report)
    else:
        print_report(report, list_failures)
    raise typer.Exit(1 if report.total.failed else 0)


def _with_progress(results: Iterable[Result], total: int) -> Iterator[Result]:
    """Shows a bar on standard error while the results come in, when that is a terminal."""
    console = Console(stderr=True)
    yield from track(
        results,
        "running cases",
        total=total,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _usage_error(message: str) -> typer.Exit:
    Console(stderr=True, highlight=False, soft_wrap=True).print(message, markup=False)
    return typer.Exit(2)


if __name__ == "__main__":
    typer.run(main)
