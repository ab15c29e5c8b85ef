"""Classes of reasons, and outcomes of pod groups."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


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
