"""What is remembered of evictions, so that pod groups do not evict each other in turn."""

from typing import NamedTuple


class EvictionMemory(NamedTuple):
    """One pod group's evictions for another; pod groups by index, times in nanoseconds."""

    victim: int
    preemptor: int
    last_eviction: int
    failures: int = 0
    """Evictions in a row that came to nothing: the victim was gone and the preemptor did not start."""
    last_failure: int | None = None
    unsettled: bool = False
    """Whether it is still open what came of the last eviction."""
