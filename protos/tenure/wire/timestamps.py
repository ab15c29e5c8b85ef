"""Times and durations: between nanoseconds and messages."""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.terms.durations import SECOND


def nanoseconds(seconds: int) -> int:
    """As many as so many seconds have, in two parts: compiled code multiplies numbers of 30 bits quickly."""
    high, low = seconds >> 16, seconds & 0xFFFF
    return (high * SECOND << 16) + low * SECOND


def timestamp(nanoseconds: int) -> Timestamp:
    """The timestamp of a moment."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    return Timestamp(seconds=seconds, nanos=nanos)


def span(nanoseconds: int) -> Duration:
    """A duration that is not negative."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    return Duration(seconds=seconds, nanos=nanos)
