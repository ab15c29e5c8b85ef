"""The garbage collector rests while a cycle runs.

Nearly all that a cycle makes lives until its end, from the decoded cluster to the encoded decision, so
looking for garbage again and again finds nothing and takes a fifth of a long cycle. Nor should it come back
before the functions that hold all this have returned: it would look through it once more, while the caller
waits. What a finished cycle leaves is found afterwards. Where cycles overlap, it rests for the first of them:
so there is always an end.

A state that was pushed is there to stay, and a collection that looks through it would hold up some later call
for tens of milliseconds. So it is taken out of the collector's sight (`settling`).
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_gc() -> Iterator[None]:
    """No automatic collection in this process within the block, if there was before."""
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
    """What is made within the block stays: the collector does not look at it, neither now nor later.

    Garbage is collected before, for it would never be afterwards. What stayed is freed when its time is over,
    like everything else that is in no cycle of references.
    """
    gc.collect()
    with pause_gc():
        yield
    gc.collect(0)  # what became garbage within the block, while the collector rested
    gc.freeze()
