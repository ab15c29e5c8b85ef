"""`make faults`: the whole matrix on real API servers; exit code 1 when a run ends or goes as it must not."""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tests.kube import binaries
from tests.kube.faults import rows
from tests.kube.faults.matrix import Played, played, undisturbed
from tests.kube.faults.rows import Case
from tests.kube.faults.run import EndState
from tests.kube.faults.site import Site, site

NOTES: Final = Console(stderr=True)
_WORST: Final = 2000
"""Characters that are shown of a problem."""


def main() -> int:
    """Run and report."""
    given = _given()
    programs = binaries.find()
    if programs is None:
        NOTES.print(binaries.HOW)
        return 2
    cases = [case for case in rows.full() if given.only in case.name]
    if not cases:
        NOTES.print("no run has that in its name")
        return 2
    with TemporaryDirectory() as folder, ExitStack() as ends:
        sites = [
            ends.enter_context(site(programs, _made(Path(folder) / str(number))))
            for number in range(min(given.sites, len(cases)))
        ]
        results = list(_shown(sites, cases))
    _report(results, as_json=given.output == "json")
    return int(any(result.problems for result in results))


def _given() -> Namespace:
    parser = ArgumentParser("tests.kube.faults", description=__doc__)
    parser.add_argument("--only", default="", help="rows and points whose name has this in it")
    parser.add_argument("--sites", type=int, default=os.cpu_count(), help="API servers at the same time")
    parser.add_argument("--output", choices=("table", "json"), default="table")
    return parser.parse_args()


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _shown(sites: Sequence[Site], cases: Sequence[Case]) -> Iterator[Played]:
    """Every case on a site that is free, with a bar that tells how far it is."""
    free: SimpleQueue[tuple[Site, Mapping[str, EndState]]] = SimpleQueue()

    def play(case: Case) -> Played:
        place = free.get()
        try:
            return played(place[0], case, place[1])
        finally:
            free.put(place)

    with ThreadPoolExecutor(len(sites)) as pool, Progress(console=NOTES) as progress:
        for place in zip(sites, pool.map(undisturbed, sites), strict=True):
            free.put(place)
        for result in progress.track(pool.map(play, cases), len(cases), description="stories"):
            for problem in result.problems:
                progress.console.print(f"{result.case.name}: {problem[-_WORST:]}", markup=False)
            yield result


def _report(results: Sequence[Played], *, as_json: bool) -> None:
    lines = [_line(name, results) for name in dict.fromkeys(result.case.row for result in results)]
    if as_json:
        print(json.dumps({"rows": lines, "problems": _problems(results)}))
        return
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


def _line(name: str, results: Sequence[Played]) -> dict[str, object]:
    mine = [result for result in results if result.case.row == name]
    return {
        "fault": name,
        "runs": len(mine),
        "good": sum(not result.problems for result in mine),
        "calls": sum(result.calls for result in mine),
        "longest_seconds": round(max(result.seconds for result in mine)),
    }


def _problems(results: Sequence[Played]) -> dict[str, list[str]]:
    return {result.case.name: result.problems for result in results if result.problems}


if __name__ == "__main__":
    sys.exit(main())
