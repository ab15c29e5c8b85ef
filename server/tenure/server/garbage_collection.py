"""Pause the garbage collector during a cycle.

Nearly everything that a cycle allocates lives until its end, from the decoded cluster to the encoded
response. Collections during a cycle find nothing and take a fifth of a long cycle. The collector also stays
paused until the functions that hold these objects have returned; otherwise it would scan them once more while
the caller waits. Afterwards it collects what the cycle left. If cycles overlap, it is paused for the first of
them, so that every pause ends.

A pushed state is long-lived, and a collection that scans it would delay a later call by tens of milliseconds.
It is therefore excluded from collection (`freeze_gc`). Objects of other threads are excluded with it, and
those that later become garbage in cycles would stay for ever. So excluded objects are scanned as well from
time to time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

FREEZES_PER_SCAN: Final = 100
"""Frozen objects are scanned before one freeze in this many, because a scan reads all kept states."""
_freezes: Final = count(1)


@contextmanager
def pause_gc() -> Iterator[None]:
    """Disable automatic collection in this process within the block, if it was enabled."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def freeze_gc() -> Iterator[None]:
    """Exclude objects that exist at the end of the block from collection until the next scan.

    Collects garbage first. Frozen objects are freed by reference counting unless they are part of a cycle.
    """
    if next(_freezes) % FREEZES_PER_SCAN == 0:
        gc.unfreeze()
    gc.collect()
    with pause_gc():
        yield
    gc.collect(0)  # garbage from within the block, while the collector was paused
    gc.freeze()
