"""The check `fuzz`: send many mutated requests."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.attacks.hostile_requests import MIB
from tests.checks import Counts
from tests.fuzz.campaign import Summary, find_first_case, run, write_finding


def main(
    cases: Annotated[int, typer.Option(min=1, help="Number of requests")] = 100_000,
    seed: Annotated[int, typer.Option(help="Seed of the mutations")] = 1,
    first: Annotated[int, typer.Option(min=0, help="Number of the first case")] = 0,
    findings: Annotated[Path, typer.Option(help="Folder for requests that ended badly")] = Path(
        ".cache/fuzz"
    ),
) -> Counts:
    """Send mutated requests to a server process; each must end in OK or in an error the caller can act on."""
    console = Console()
    progress = iter(track(range(cases), "mutated requests", console=console))
    summary = run(seed, cases, first, lambda: next(progress, None))
    next(progress, None)  # completes the progress bar
    _report(summary, console)
    for finding in summary.findings:
        files = " ".join(map(str, write_finding(finding, findings)))
        begin = find_first_case(finding)
        again = f"--seed {seed} --first {begin} --cases {finding.number - begin + 1}"
        console.print(f"case {finding.number}: {finding.what}\n  {files}\n  again: {again}", markup=False)
    bad = {finding.number for finding in summary.findings}
    return Counts(sum(summary.endings.values()) - len(bad - {first + cases}), len(bad))


def _report(summary: Summary, console: Console) -> None:
    table = Table("method and status", "cases")
    for ending, count in sorted(summary.endings.items()):
        table.add_row(ending, f"{count:,}")
    console.print(table)
    console.print(
        f"{summary.cases:,} cases in {summary.seconds:.0f} s; the server grew by "
        f"{summary.growth / MIB:.0f} MiB; findings: {len(summary.findings)}"
    )
