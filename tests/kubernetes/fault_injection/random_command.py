"""The check `random-faults`: the story in random sequences of faults, on real API servers."""

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final, NamedTuple

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tests.checks import Counts
from tests.kubernetes.environment import binaries
from tests.kubernetes.fault_injection.matrix import run_without_faults, wait_for_rest
from tests.kubernetes.fault_injection.random_faults import RandomFaults
from tests.kubernetes.fault_injection.rules import find_violations
from tests.kubernetes.fault_injection.run import EndState, StoryTimeout, open_story_run
from tests.kubernetes.fault_injection.site import Site, open_site
from tests.kubernetes.fault_injection.story import FACTS, run_story

NOTES: Final = Console(stderr=True)
_PATIENCE: Final = 240.0
_LEASE: Final = 3.0
_WORST: Final = 300
"""Number of characters that are printed of a problem."""


class StoryResult(NamedTuple):
    """One story."""

    seed: int
    faults: Counter[str]
    problems: list[str]
    seconds: float


def run_disturbed(site: Site, seed: int, end: Mapping[str, EndState], findings: Path) -> StoryResult:
    """Run the story in random faults: it reaches the end of the undisturbed one and violates no rule.

    The history of a story with problems is a file in `findings`.
    """
    faults, began, problems = RandomFaults(seed), time.monotonic(), []
    with open_story_run(
        site, [faults], patience=_PATIENCE, lease=f"{_LEASE:g}s", adapters=1 + seed % 2
    ) as run:
        try:
            run_story(run)
            faults.calm()
            wait_for_rest(run, end)
        except StoryTimeout as stuck:
            problems.append(str(stuck))
        finally:
            faults.calm()
    problems += find_violations(run.history, FACTS._replace(lease_seconds=_LEASE))
    if problems:
        findings.mkdir(parents=True, exist_ok=True)
        events = sorted([*run.history.lines(), *faults.struck])
        lines = [f"{at:.3f} {what}" for at, what in events]
        logs = [one.program.output for one in run.adapters]
        (findings / f"{seed}.txt").write_text("\n".join([*problems, *lines, *logs]))
    return StoryResult(seed, faults.counts, problems, time.monotonic() - began)


def main(
    faults: Annotated[int, typer.Argument(min=1, help="Number of faults")] = 10_000,
    seed: Annotated[int, typer.Option(help="Of the first story; the next has the next one")] = 1,
    sites: Annotated[int, typer.Option(min=1, help="API servers at the same time")] = os.cpu_count() or 1,
    findings: Annotated[Path, typer.Option(help="Folder for histories of stories with problems")] = Path(
        ".cache/random-faults"
    ),
) -> Counts:
    """Run one story repeatedly on real API servers, in faults that follow each other at random."""
    programs = binaries.available()
    with TemporaryDirectory() as folder, ExitStack() as ends:
        places = [
            ends.enter_context(open_site(programs, _made(Path(folder) / str(number))))
            for number in range(sites)
        ]
        results = list(_shown(places, faults, seed, findings))
    _report(results)
    failed = sum(bool(result.problems) for result in results)
    return Counts(len(results) - failed, failed)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _shown(sites: Sequence[Site], faults: int, seed: int, findings: Path) -> Iterator[StoryResult]:
    """Run stories on all sites until the faults are used up, with a progress bar."""
    seeds, struck = count(seed), 0
    with ThreadPoolExecutor(len(sites)) as pool, Progress(console=NOTES) as progress:
        task = progress.add_task("faults", total=faults)

        def play(site: Site) -> list[StoryResult]:
            nonlocal struck
            end, results = run_without_faults(site), []
            while struck < faults:
                result = run_disturbed(site, next(seeds), end, findings)
                results.append(result)
                struck += result.faults.total()
                progress.update(task, completed=struck)
                for problem in result.problems:
                    progress.console.print(f"seed {result.seed}: {problem[:_WORST]}", markup=False)
                if result.problems:
                    progress.console.print(f"history: {findings / f'{result.seed}.txt'}", markup=False)
            return results

        for results in pool.map(play, sites):
            yield from results


def _report(results: Sequence[StoryResult]) -> None:
    total: Counter[str] = Counter()
    for result in results:
        total.update(result.faults)
    table = Table("fault", "times")
    for kind, times in total.most_common():
        table.add_row(kind, f"{times:,}")
    console = Console()
    console.print(table)
    seconds = max(result.seconds for result in results)
    console.print(f"{total.total():,} faults in {len(results)} stories; the longest took {seconds:.0f} s")
