"""What becomes of evicted pod groups, what holds pod groups, and notices; numbers as on the wire."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple


class Fate(IntEnum):
    """What becomes of a pod group after its eviction (semantics R14.34)."""

    UNSPECIFIED = 0
    """Neither pod group nor queue has one: it waits again."""
    REQUEUE = 1
    HOLD = 2
    DELETE = 3
    SUSPEND = 4


class AtEvictionLimit(IntEnum):
    """What happens to a pod group that reaches the limit of evictions (semantics R14.33)."""

    UNSPECIFIED = 0
    """The queue inherits."""
    IMMUNE = 1
    HOLD = 2


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
    NOT_BEFORE = 7
    """Nothing but the time before which it may not start."""


class EvictionTally(NamedTuple):
    """What an eviction makes of the counters of a pod group (semantics R14.32, R14.33)."""

    counts: Mapping[str, int]
    """Numbers of evictions by cause, this one included."""
    is_held: bool
    """Whether it must be held until it is released."""


MAX_EVICTIONS: Final = 2**30
"""The largest count that a snapshot may contain."""
NO_EVICTIONS: Final[Mapping[str, int]] = {}
OTHER_CAUSES: Final = ("stale_gang", "reservation", "time_limit", "external")
"""Causes of evictions that are no actions for others: the last one stands for those of the caller."""


def cause_of(action: str) -> str:
    """Cause of the evictions of an action."""
    return _CAUSES.get(action, action)


_CAUSES: Final = {"stalegangeviction": "stale_gang", "timelimit": "time_limit"}


HOLDS_OF_EVICTIONS: Final = (HoldReason.EVICTION_LIMIT, HoldReason.EVICTED, HoldReason.TIME_LIMIT)
"""Holds that follow an eviction."""


class NoticeSignal(IntEnum):
    """What a pod should do between its notice and its eviction."""

    CHECKPOINT = 1
