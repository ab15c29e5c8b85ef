"""Judge the clusters of many seeds in processes, with progress, and report what was counted."""

from collections import Counter
from collections.abc import Callable, Iterable
from multiprocessing import Pool
from typing import Final

from rich.progress import track

from tests.checks import Counts

PROCESSES: Final = 2


def count_all(
    judge: Callable[[int], Counter[str]], seeds: Iterable[int], count: int, batch: int, title: str
) -> Counter[str]:
    """Sum of what `judge` counts for each seed. `batch` seeds are given to a process at a time."""
    total: Counter[str] = Counter()
    with Pool(PROCESSES) as pool:
        for found in track(pool.imap_unordered(judge, seeds, batch), title, total=count):
            total.update(found)
    return total


def report(total: Counter[str], count: int) -> Counts:
    """Print every number that is not zero. `wrong` are the failed clusters."""
    for name in sorted(total):
        if total[name]:
            print(f"{total[name]:>9,} {name}")
    return Counts(count - total["wrong"], total["wrong"])
