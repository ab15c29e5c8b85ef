"""What becomes of evicted pod groups, and what holds pod groups; numbers as on the wire."""

from enum import IntEnum
from typing import Final


class Fate(IntEnum):
    """What becomes of a pod group after its eviction (semantics R14.34)."""

    UNSPECIFIED = 0
    """Neither pod group nor queue has one: it waits again."""
    REQUEUE = 1
    HOLD = 2
    DELETE = 3
    SUSPEND = 4


class HoldReason(IntEnum):
    """What holds a pod group: it waits and does not compete (semantics R19.25)."""

    UNSPECIFIED = 0
    """It is not held."""
    USER = 1
    ADMIN = 2
    DEPENDENCY = 3
    EVICTION_LIMIT = 4
    EVICTED = 5
    TIME_LIMIT = 6


HOLDS_OF_EVICTIONS: Final = (HoldReason.EVICTION_LIMIT, HoldReason.EVICTED, HoldReason.TIME_LIMIT)
"""Holds that follow an eviction."""
