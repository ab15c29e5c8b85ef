"""Classes of reasons."""

from enum import StrEnum


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
