"""Runtimes of finished pod groups, as callers write them for the plugin `shortest`: one row per queue."""

from typing import Final

from tenure.terms.runtimes import LAST_RUNTIMES
from tenure.v1.snapshot_pb2 import QueueRuntimes

MAX_SIZES: Final = 64
"""Sizes of a queue that are kept: those that finished last."""
LONGEST_RUNTIME: Final = 3_155_760_000
"""A hundred years, in seconds."""


def add_runtime(row: QueueRuntimes, gpu_milli: int, seconds: int, end_seconds: int) -> None:
    """Note that a pod group of so many thousandths of a GPU finished, after it ran for so many seconds.

    `end_seconds` is the time at which it finished, since the Unix epoch.
    """
    row.time.seconds = max(row.time.seconds, end_seconds)
    places = [at for at, size in enumerate(row.sizes) if size.gpu_milli == gpu_milli]
    runs = [*row.sizes[places[0]].seconds, seconds] if places else [seconds]
    if places:
        del row.sizes[places[0]]
    row.sizes.add(gpu_milli=gpu_milli, seconds=runs[-LAST_RUNTIMES:])  # the last size finished last
    del row.sizes[:-MAX_SIZES]
