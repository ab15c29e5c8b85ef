"""Warnings about dubious input and how it was interpreted."""

from enum import IntEnum
from typing import NamedTuple


class WarningCode(IntEnum):
    """Kinds of warnings; numbers as on the wire."""

    UNKNOWN_SUB_GROUP = 1
    LEGACY_PREEMPTIBILITY = 2
    UNKNOWN_PREEMPTIBILITY = 3
    INVALID_EXPECTED_RUNTIME = 4
    INVALID_REQUEUE_DELAY = 5
    INVALID_REQUEUE_NOT_BEFORE = 6
    MISSING_START_TIME = 7
    CLOCK_SKEW = 8
    UNKNOWN_NODE = 9
    INVALID_MIN_RUNTIME = 10
    MIN_RUNTIME_NOT_PERMITTED = 11
    CANNOT_BE_SUSPENDED = 12
    UNKNOWN_DISRUPTION_BUDGET = 14
    NOTICE_ABOVE_MAXIMUM = 15
    INVALID_PLANNED_START = 16
    QUEUE_LIMIT_CUT = 20
    USAGE_WITHOUT_MIN_RUNTIME = 21
    PROTECTION_NOT_IN_FORCE = 22
    QUEUE_BOUNDS_CONTRADICT = 23
    QUOTAS_ABOVE_CLUSTER = 24
    QUEUE_LIMIT_ZERO = 25
    GANG_LACKS_PODS = 26


class SnapshotWarning(NamedTuple):
    """One warning about one or more pod groups, by index."""

    code: WarningCode
    pod_groups: tuple[int, ...]
    detail: str
    is_about_one: bool = False
    """Whether the sentence begins with the name of the only pod group."""
