"""Times: nanoseconds since the epoch to timestamp messages."""

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.solver.model.duration import SECOND


def timestamp(nanoseconds: int) -> Timestamp:
    """The timestamp of a moment."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    return Timestamp(seconds=seconds, nanos=nanos)
