"""Times of a case. Offsets are relative to one fixed time, so that every run gets identical times."""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

NOW_NS = 1_767_225_600_000_000_000
"""2026-01-01T00:00:00Z, the `now` of every session."""

SECOND_NS = 1_000_000_000


def nanoseconds(seconds: float) -> int:
    """Convert seconds to whole nanoseconds."""
    return round(seconds * SECOND_NS)


def timestamp(offset_s: float, build_order: int = 0) -> Timestamp:
    """Return the time `offset_s` from now. Objects that are built later are younger by nanoseconds."""
    moment = Timestamp()
    moment.FromNanoseconds(NOW_NS + nanoseconds(offset_s) + build_order)
    return moment


def duration(seconds: float) -> Duration:
    """Convert seconds to a protobuf duration."""
    length = Duration()
    length.FromNanoseconds(nanoseconds(seconds))
    return length
