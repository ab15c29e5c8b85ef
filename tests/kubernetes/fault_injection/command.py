"""The check `faults`: the complete fault matrix on real API servers."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tests.checks import CannotRun, Counts
from tests.kubernetes.environment import binaries
from tests.kubernetes.fault_injection import matrix_rows
from tests.kubernetes.fault_injection.matrix import CaseResult, run_case, run_without_faults
from tests.kubernetes.fault_injection.matrix_rows import FaultCase
from tests.kubernetes.fault_injection.run import EndState
from tests.kubernetes.fault_injection.site import Site, open_site

NOTES: Final = Console(stderr=True)
_WORST: Final = 2000
"""Number of characters that are printed of a problem."""


def main(
    only: Annotated[str, typer.Option(help="Rows and points whose name contains this")] = "",
    sites: Annotated[int, typer.Option(min=1, help="API servers at the same time")] = os.cpu_count() or 1,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures to this file")] = None,
) -> Counts:
    """Run one story repeatedly on real API servers, each time with another fault at another point."""
    programs = binaries.available()
    cases = [case for case in matrix_rows.full_matrix() if only in case.name]
    if not cases:
        raise CannotRun(f"no run has {only!r} in its name")
    with TemporaryDirectory() as folder, ExitStack() as ends:
        places = [
            ends.enter_context(open_site(programs, _made(Path(folder) / str(number))))
            for number in range(min(sites, len(cases)))
        ]
        results = list(_shown(places, cases))
    lines = [_line(name, results) for name in dict.fromkeys(result.case.row for result in results)]
    _report(lines)
    if json_file:
        json_file.write_text(json.dumps({"rows": lines, "problems": _problems(results)}))
    failed = len(_problems(results))
    return Counts(len(results) - failed, failed)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _shown(sites: Sequence[Site], cases: Sequence[FaultCase]) -> Iterator[CaseResult]:
    """Run every case on a free site, with a progress bar."""
    free: SimpleQueue[tuple[Site, Mapping[str, EndState]]] = SimpleQueue()

    def play(case: FaultCase) -> CaseResult:
        place = free.get()
        try:
            return run_case(place[0], case, place[1])
        finally:
            free.put(place)

    with ThreadPoolExecutor(len(sites)) as pool, Progress(console=NOTES) as progress:
        for place in zip(sites, pool.map(run_without_faults, sites), strict=True):
            free.put(place)
        for result in progress.track(pool.map(play, cases), len(cases), description="stories"):
            for problem in result.problems:
                progress.console.print(f"{result.case.name}: {problem[-_WORST:]}", markup=False)
            yield result


def _report(lines: Sequence[Mapping[str, object]]) -> None:
    table = Table("fault", "runs", "as undisturbed", "adapters' calls", "longest")
    for line in lines:
        table.add_row(
            str(line["fault"]),
            str(line["runs"]),
            str(line["good"]),
            str(line["calls"]),
            f"{line['longest_seconds']} s",
        )
    Console().print(table)


def _line(name: str, results: Sequence[CaseResult]) -> dict[str, object]:
    mine = [result for result in results if result.case.row == name]
    return {
        "fault": name,
        "runs": len(mine),
        "good": sum(not result.problems for result in mine),
        "calls": sum(result.calls for result in mine),
        "longest_seconds": round(max(result.seconds for result in mine)),
    }


def _problems(results: Sequence[CaseResult]) -> dict[str, list[str]]:
    return {result.case.name: result.problems for result in results if result.problems}
