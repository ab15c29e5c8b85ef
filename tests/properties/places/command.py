"""The check `placement-gangs`: how often a cycle starts as many GPUs as places permit, on random clusters.

The optimum shares no code with the solver: `most_gpus` reads what is free from the snapshot and proves the
most GPUs that can start where no pod group has fewer pods than the decision gave it.
"""

from collections.abc import Sequence
from functools import partial
from multiprocessing import Pool
from typing import Annotated, Final, NamedTuple

import typer
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.checks import Counts
from tests.properties.checks.many_seeds import PROCESSES
from tests.properties.places.judged_places import Judged, Placing, judge

AT_OPTIMUM: Final = 0.95
"""Least part of the clusters in which no more GPUs could start."""
STRANDED: Final = 0.007
"""Largest part of the GPUs that could start and do not."""
WIDTH: Final = 100


class Summary(NamedTuple):
    """Figures of many seeds."""

    clusters: int
    proven: int
    at_optimum: int
    started: int
    most: int
    certified: int
    """Clusters below the optimum in which the product starts more, told the nodes."""
    free: int

    @property
    def part_at_optimum(self) -> float:
        """Of the proven clusters."""
        return self.at_optimum / max(self.proven, 1)

    @property
    def stranded(self) -> float:
        """The part of the GPUs at the optimum that does not start."""
        return 1 - self.started / max(self.most, 1)


def main(
    count: Annotated[int, typer.Argument(min=1, help="Number of clusters")] = 230,
    first: Annotated[int, typer.Option(help="Seed of the first cluster; the next has the next one")] = 0,
    placing: Annotated[Placing, typer.Option(help="What chooses nodes")] = Placing.DEFAULT,
) -> Counts:
    """Compare the GPUs that start with a proven optimum in which no pod group has fewer pods."""
    with Pool(PROCESSES) as pool:
        results = pool.imap(partial(judge, placing), range(first, first + count), 5)
        cases = list(track(results, "comparing", total=count, console=Console(stderr=True)))
    found = summary(cases)
    console = Console(width=WIDTH)
    console.print(_figures(found))
    below = [case for case in cases if case.most is not None and case.started < case.most]
    for case in below:
        console.print(f"seed {case.seed}: {case.started} of {case.most} GPUs, {case.free} are free")
    verdicts = (found.part_at_optimum >= AT_OPTIMUM, found.stranded <= STRANDED)
    return Counts(verdicts.count(True), verdicts.count(False))


def summary(cases: Sequence[Judged]) -> Summary:
    """Sums over the proven cases."""
    proven = [(case, case.most) for case in cases if case.most is not None]
    return Summary(
        len(cases),
        len(proven),
        sum(case.started == most for case, most in proven),
        sum(case.started for case, _ in proven),
        sum(most for _, most in proven),
        sum(case.certified > case.started for case, _ in proven),
        sum(case.free for case, _ in proven),
    )


def _figures(found: Summary) -> Table:
    table = Table("", "found", "required", box=box.SIMPLE)
    below = found.proven - found.at_optimum
    table.add_row("clusters, with a proven optimum", f"{found.clusters:,}, {found.proven:,}", "")
    table.add_row("GPUs free, started", f"{found.free:,}, {found.started:,}", "")
    table.add_row("GPUs at the optimum", f"{found.most:,}", "")
    table.add_row("clusters below it, certified", f"{below}, {found.certified}", "")
    table.add_row("clusters at the optimum", f"{found.part_at_optimum:.1%}", f"at least {AT_OPTIMUM:.0%}")
    table.add_row("GPUs stranded", f"{found.stranded:.2%}", f"at most {STRANDED:.1%}")
    return table
