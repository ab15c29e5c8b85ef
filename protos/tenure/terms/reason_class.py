"""Codes and classes of reasons, and outcomes of pod groups."""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Final


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
    PROTECTED = 42
    RESERVED = 43
    QUEUE_ORDER = 44
    TOPOLOGY = 45
    FRAGMENTED = 46
    NO_CAPACITY = 47
    VICTIM_COOLDOWN = 48
    HELD = 49
    IN_PROGRESS = 50
    COMPLETED = 51
    EXPIRED = 52
    GONE = 53
    DISRUPTION_BUDGET = 56
    EVICTION_RATE = 57
    NOTICE_GIVEN = 58
    NOT_NEEDED = 59
    BACKFILL_ENDED = 61
    NOT_BEFORE = 65
    KEPT_FOR_LENDER = 66
    TIME_LIMIT = 67


class ReasonClass(StrEnum):
    """What kind of reason it is; the outcome kind of a pending pod group follows from it."""

    APPLIED = "applied"
    """Of a decision or of a scheduled pod group."""
    INVALID = "invalid"
    """The pod group must be changed first."""
    QUOTA = "quota"
    """A limit, quota or fair share is reached."""
    DELAY = "delay"
    """The pod group has to wait for a time."""
    PROTECTION = "protection"
    """A guard protects the candidates; with an end, the pod group is delayed until then."""
    IMPOSSIBLE = "impossible"
    """The pod group cannot run on the cluster as it is."""
    CAPACITY = "capacity"
    """Others have the capacity that the pod group could use."""
    HELD = "held"
    """The pod group waits until it is released."""
    EFFORT = "effort"
    """The search stopped before it was complete."""
    IN_FLIGHT = "in_flight"
    """State of an in-flight group."""


OUTCOMES: Final[Mapping[int, str]] = MappingProxyType(
    {
        1: "is scheduled",
        2: "is waiting for terminating pods",
        3: "is waiting for evicted pods to terminate",
        4: "is waiting for quota",
        5: "is delayed",
        6: "cannot be scheduled now",
        7: "was not evaluated within the search budget",
        8: "has an invalid definition",
        9: "has no capacity",
        10: "is held",
    }
)
"""Predicates of pod groups by number of their `OutcomeKind`."""
