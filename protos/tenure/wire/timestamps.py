"""Convert times and durations between nanoseconds and messages."""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.terms.durations import SECOND


def nanoseconds(seconds: int) -> int:
    """Convert seconds to nanoseconds, in two parts: compiled code multiplies numbers of 30 bits fast."""
    high, low = seconds >> 16, seconds & 0xFFFF
    return (high * SECOND << 16) + low * SECOND


def timestamp(nanoseconds: int) -> Timestamp:
    """Timestamp of a time in nanoseconds."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    return Timestamp(seconds=seconds, nanos=nanos)


def span(nanoseconds: int) -> Duration:
    """Duration of nanoseconds that are not negative."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    return Duration(seconds=seconds, nanos=nanos)
