"""The check `delta-sequences`: 100,000 random sequences of valid and invalid deltas (F18)."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final

from rich.progress import track

from tests.checks import Counts
from tests.state.delta_walk import run_walk

SEQUENCES: Final = 100_000
BATCH: Final = 100


def walk_batch(number: int) -> list[str]:
    """Run a batch of sequences and return those that failed, with their errors."""
    wrong = []
    for seed in range(number * BATCH, (number + 1) * BATCH):
        try:
            run_walk(seed)
        except Exception as failure:
            wrong.append(f"sequence {seed}: {failure!r}")
    return wrong


def main() -> Counts:
    """Apply random sequences of deltas in parallel on all cores, and compare every state."""
    batches, failed = SEQUENCES // BATCH, 0
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        for wrong in track(pool.map(walk_batch, range(batches)), "hundreds of sequences", batches):
            failed += len(wrong)
            for line in wrong:
                print(line)
    if not failed:
        print(f"{SEQUENCES:,} sequences: what was kept was always what had to be kept")
    return Counts(SEQUENCES - failed, failed)
