"""Counts retaliatory evictions, with and without eviction history and in-flight groups.

The check `eviction-thrash` prints a table with one row per family of clusters and three callers in each cell.
The first caller stores no eviction records and keeps no in-flight groups. The second stores records. The
third does both. Nothing else differs.
"""

from collections import Counter
from itertools import product
from multiprocessing import Pool
from typing import Annotated, Final, NamedTuple

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from tenure.terms.durations import SECOND, parse_duration

from tests.checks import Counts
from tests.properties.thrash.contention_patterns import FAMILIES
from tests.properties.thrash.simulated_caller import STEP, Cycle, JobEviction, SimulatedCaller

COOLDOWN: Final = parse_duration("5m") // (STEP * SECOND)
"""The default cooldown of the plugin evictionbackoff, in cycles."""
PROCESSES: Final = 2


class CallerBehavior(NamedTuple):
    """What a caller stores of responses."""

    stores_history: bool
    keeps_in_flight: bool


CALLERS: Final = (CallerBehavior(False, False), CallerBehavior(True, False), CallerBehavior(True, True))
NEITHER, MEMORY, BOTH = CALLERS


class EvictionCounts(NamedTuple):
    """Counts of a run."""

    evictions: int
    """How often a job lost pods to another job in a cycle."""
    retaliatory: int
    """Of these, evictions by a job that had lost pods to the victim within the cooldown."""
    ineffective: int
    """Of these, repetitions of an ineffective eviction.

    An eviction is ineffective if its pods have terminated or the evictions were rejected, and no pod of the
    preemptor has started.
    """
    worked: int
    """Cycles in which jobs ran with their minimum, summed over all jobs."""


def simulate(
    family: str, seed: int, cycles: int, habits: CallerBehavior
) -> tuple[SimulatedCaller, list[Cycle]]:
    """A run: the caller at its end, with all requests and responses."""
    caller = SimulatedCaller(FAMILIES[family](seed, cycles), f"{family} {seed}", *habits)
    return caller, [caller.step() for _ in range(cycles)]


def count(caller: SimulatedCaller) -> EvictionCounts:
    """Count the evictions of a run."""
    latest: dict[tuple[str, str], JobEviction] = {}
    in_turn = in_vain = 0
    for eviction in caller.evictions:
        _, victim, preemptor, _ = eviction
        reverse, same = latest.get((preemptor, victim)), latest.get((victim, preemptor))
        in_turn += reverse is not None and eviction.cycle - reverse.cycle < COOLDOWN
        in_vain += same is not None and _was_ineffective(caller, same, eviction.cycle)
        latest[victim, preemptor] = eviction
    return EvictionCounts(len(caller.evictions), in_turn, in_vain, caller.worked)


def _was_ineffective(caller: SimulatedCaller, eviction: JobEviction, cycle: int) -> bool:
    starts = caller.starts.get(eviction.preemptor, ())
    is_over = eviction.cycle < cycle and eviction.gone <= cycle
    return is_over and not any(eviction.cycle <= start <= cycle for start in starts)


Run = tuple[str, CallerBehavior, int, int]
"""Family, behavior of the caller, seed, cycles."""


def _run_one(run: Run) -> tuple[Run, EvictionCounts]:
    family, habits, seed, cycles = run
    caller, _ = simulate(family, seed, cycles, habits)
    return run, count(caller)


def table(cycles: int, seeds: int) -> dict[tuple[str, CallerBehavior], Counter[str]]:
    """Sums over all seeds, by family and behavior of the caller, with a progress bar.

    In addition to the counts, `turning` is the number of runs in which a pod group evicted its evictor.
    """
    runs = [(*key, cycles) for key in product(FAMILIES, CALLERS, range(seeds))]
    sums: dict[tuple[str, CallerBehavior], Counter[str]] = {
        key: Counter() for key in product(FAMILIES, CALLERS)
    }
    with Pool(PROCESSES) as pool:
        done = track(
            pool.imap_unordered(_run_one, runs), "simulating", len(runs), console=Console(stderr=True)
        )
        for (family, habits, _, _), found in done:
            sums[family, habits].update(found._asdict(), turning=int(found.retaliatory > 0))
    return sums


def main(
    cycles: Annotated[int, typer.Option(min=1, help="Cycles of a run")] = 1000,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of a family")] = 20,
) -> Counts:
    """Simulate callers of every behavior. Fails on a retaliatory eviction in a run with eviction history."""
    sums = table(cycles, seeds)
    legend = "neither / memory / memory and groups in flight"
    shown = Table(title=f"{seeds} runs of {cycles} cycles: {legend}")
    shown.add_column("family", no_wrap=True)
    for name in EvictionCounts._fields:
        shown.add_column(name.replace("_", " "), justify="right")
    for family in FAMILIES:
        cells = [[f"{sums[family, habits][name]:,}" for habits in CALLERS] for name in EvictionCounts._fields]
        shown.add_row(family, *map(" / ".join, cells))
    Console(width=120).print(shown)
    remembering = [habits for habits in CALLERS if habits.stores_history]
    failed = sum(sums[key]["turning"] for key in product(FAMILIES, remembering))
    return Counts(len(FAMILIES) * len(remembering) * seeds - failed, failed)
