"""`make delta-sequences`: a hundred thousand random sequences of good and bad deltas (F18)."""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final

from rich.progress import track

from tests.states.walk import walk

SEQUENCES: Final = 100_000
BATCH: Final = 100


def walk_batch(number: int) -> None:
    """A batch of sequences, one after the other. Raises for the first that goes wrong, and names it."""
    for seed in range(number * BATCH, (number + 1) * BATCH):
        try:
            walk(seed)
        except BaseException as wrong:
            raise AssertionError(f"sequence {seed}: {wrong!r}") from wrong


def main() -> None:
    """As many at a time as the machine has processors."""
    batches = SEQUENCES // BATCH
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        for _ in track(pool.map(walk_batch, range(batches)), "hundreds of sequences", batches):
            pass
    print(f"{SEQUENCES:,} sequences: what was kept was always what had to be kept")


if __name__ == "__main__":
    sys.exit(main())
