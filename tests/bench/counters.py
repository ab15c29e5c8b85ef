"""The check `counters`: every benchmark once, compared with the golden file."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from tests.bench import golden_counters
from tests.bench.decide_measurement import UnexpectedCounts, measure_decide
from tests.bench.workloads.case import CallMode, Case
from tests.bench.workloads.catalog import all_cases, select_cases
from tests.checks import CannotRun, Counts


def main(
    only: Annotated[
        list[str] | None, typer.Option(help="Cases by name (W9@500), pattern (W9@*) or workload (W9)")
    ] = None,
    with_long: Annotated[bool, typer.Option("--long", help="Long cases too")] = False,
    update: Annotated[bool, typer.Option("--update", help="Write the golden file first")] = False,
) -> Counts:
    """Decide each benchmark once and compare its exact work and outcome with the golden file."""
    cases = [case for case in select_cases(only or (), with_long=with_long) if CallMode.DECIDE in case.ways]
    if not cases:
        raise CannotRun(f"no case has this name; known: {', '.join(case.name for case in all_cases())}")
    console = Console(stderr=True)
    failed = 0
    for case in track(cases, "deciding", console=console, transient=True, disable=not console.is_terminal):
        different = _differences(case, update)
        for line in different:
            print(line)
        failed += bool(different)
    return Counts(len(cases) - failed, failed)


def _differences(case: Case, update: bool) -> list[str]:
    try:
        sample = measure_decide(case, 1)
    except UnexpectedCounts as unexpected:
        return [str(unexpected)]
    if update:
        golden_counters.store_counters([sample])
    return golden_counters.differences(sample)
