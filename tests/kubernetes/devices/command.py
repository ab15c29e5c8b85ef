"""The check `device-claims`: in random runs of the allocator, two claims never get one device."""

from collections import Counter
from typing import Annotated

import typer
from rich.progress import track

from tests.checks import Counts
from tests.kubernetes.devices.random_runs import RandomRun


def main(
    count: Annotated[int, typer.Argument(min=1, help="Runs; each number below is the seed of one")] = 1000,
) -> Counts:
    """Allocate devices in random runs; judge the claims by their API objects alone, after every write."""
    failed, total = 0, Counter[str]()
    for seed in track(range(count), "running"):
        found = RandomRun(seed).run()
        total.update(found.counts)
        if found.twice or found.wrong:
            failed += 1
            print(f"seed {seed}: two claims have {found.twice[:3]}; {found.wrong[:3]}")
    print(", ".join(f"{number:,} {name}" for name, number in sorted(total.items())))
    return Counts(count - failed, failed)
