"""`make fuzz`: many mutated requests; exit code 1 when one of them did not end as it must."""

import sys
from argparse import ArgumentParser
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.fuzz.campaign import Summary, first_of, run, write_finding
from tests.server.hostile import MIB


def main() -> int:
    """Run and report."""
    parser = ArgumentParser("tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--findings", type=Path, default=Path(".cache/fuzz"))
    given = parser.parse_args()
    console = Console()
    progress = iter(track(range(given.cases), "mutated requests", console=console))
    summary = run(given.seed, given.cases, given.first, lambda: next(progress, None))
    _report(summary, console)
    for finding in summary.findings:
        files = " ".join(map(str, write_finding(finding, given.findings)))
        first = first_of(finding)
        again = f"--seed {given.seed} --first {first} --cases {finding.number - first + 1}"
        console.print(f"case {finding.number}: {finding.what}\n  {files}\n  again: {again}", markup=False)
    return 1 if summary.findings else 0


def _report(summary: Summary, console: Console) -> None:
    table = Table("method and status", "cases")
    for ending, count in sorted(summary.endings.items()):
        table.add_row(ending, f"{count:,}")
    console.print(table)
    console.print(
        f"{summary.cases:,} cases in {summary.seconds:.0f} s; the server grew by "
        f"{summary.growth / MIB:.0f} MiB; findings: {len(summary.findings)}"
    )


if __name__ == "__main__":
    sys.exit(main())
