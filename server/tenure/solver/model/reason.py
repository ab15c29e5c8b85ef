"""Typed reasons, and the rejection every "no" is made of."""

from enum import IntEnum
from typing import Final, NamedTuple


class ReasonCode(IntEnum):
    """Why something was decided or not decided; numbers are those of the wire contract."""

    ALLOCATED = 1
    PIPELINED = 2
    RECLAIMED = 3
    PREEMPTED = 4
    CONSOLIDATED = 5
    STALE_GANG = 6
    VICTIMS_EVICTED = 7
    FIELD_UPDATED = 8
    REQUEUED = 9
    NOT_READY = 20
    INVALID_QUEUE = 21
    OVER_LIMIT = 22
    NON_PREEMPTIBLE_OVER_QUOTA = 23
    OVER_FAIR_SHARE = 24
    NO_NODE_MATCHES = 25
    INSUFFICIENT_RESOURCES = 26
    NO_SOLUTION = 27
    BUDGET_EXHAUSTED = 28
    PREEMPTION_DELAY = 29
    SIMILAR_FAILED = 30
    MIN_RUNTIME = 31
    NON_PREEMPTIBLE = 32
    PRIORITY_NOT_LOWER = 33
    WITHIN_FAIR_SHARE = 34
    BLOCKED = 35
    OPTED_OUT = 36
    EVICTION_LIMIT = 37
    NEAR_COMPLETION = 38
    WAIT_LIMIT = 39
    EVICTION_COOLDOWN = 40
    EVICTION_BACKOFF = 41
    IN_PROGRESS = 50
    COMPLETED = 51
    EXPIRED = 52
    GONE = 53


DOMINANCE: Final = (
    ReasonCode.INVALID_QUEUE,
    ReasonCode.BLOCKED,
    ReasonCode.NOT_READY,
    ReasonCode.NO_NODE_MATCHES,
    ReasonCode.OVER_LIMIT,
    ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA,
    ReasonCode.PREEMPTION_DELAY,
    ReasonCode.BUDGET_EXHAUSTED,
    ReasonCode.MIN_RUNTIME,
    ReasonCode.EVICTION_COOLDOWN,
    ReasonCode.EVICTION_BACKOFF,
    ReasonCode.NEAR_COMPLETION,
    ReasonCode.OVER_FAIR_SHARE,
    ReasonCode.WITHIN_FAIR_SHARE,
    ReasonCode.SIMILAR_FAILED,
    ReasonCode.NO_SOLUTION,
    ReasonCode.INSUFFICIENT_RESOURCES,
)
"""Findings about a pod group that got no room, the one that explains most first."""

PAIR_REASONS: Final = frozenset({ReasonCode.EVICTION_COOLDOWN, ReasonCode.EVICTION_BACKOFF})
"""Findings about a pod group and one victim, which say nothing of others that ask for the same."""


_WEIGHTS: Final = [
    DOMINANCE.index(ReasonCode(number)) if number in DOMINANCE else len(DOMINANCE)
    for number in range(max(ReasonCode) + 1)
]


def weight(code: ReasonCode) -> int:
    """Smaller for a finding that explains more."""
    return _WEIGHTS[code]


class Rejection(NamedTuple):
    """A "no" as a value. `until` (nanoseconds) says when time alone may turn it into a "yes"."""

    code: ReasonCode
    detail: str
    until: int | None = None
    source: str = ""
