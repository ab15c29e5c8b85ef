"""Times and durations: nanoseconds to messages."""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.solver.model.duration import SECOND


def timestamp(nanoseconds: int) -> Timestamp:
    """The timestamp of a moment."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    return Timestamp(seconds=seconds, nanos=nanos)


def span(nanoseconds: int) -> Duration:
    """A duration that is not negative."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    return Duration(seconds=seconds, nanos=nanos)
