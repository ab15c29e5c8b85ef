"""Times and durations of Kubernetes objects as messages."""

from datetime import datetime
from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.terms.durations import parse_signed_duration
from tenure.wire.limits import MAX_DURATION_SECONDS, MAX_TIME_SECONDS

FOREVER: Final = Duration(seconds=MAX_DURATION_SECONDS)
"""Longest duration of a snapshot. An unreadable duration counts as this if a long one protects."""
"""Maximum distance of times from 1970: years 1677 to 2262."""
_LONGEST_TEXT: Final = 64


def timestamp(moment: datetime | None) -> Timestamp:
    """A time of an object; 1970 if it is missing or out of range."""
    result = Timestamp()
    if moment is not None:
        result.FromDatetime(moment)
    return result if abs(result.seconds) <= MAX_TIME_SECONDS else Timestamp()


def read_time(text: str) -> Timestamp | None:
    """Parse an RFC 3339 time; None: unreadable or out of range."""
    result = Timestamp()
    try:
        if "T" not in text[:_LONGEST_TEXT].upper():
            return None
        datetime.fromisoformat(text)
        result.FromJsonString(text)
    except ValueError:
        return None
    return result if abs(result.seconds) <= MAX_TIME_SECONDS else None


def write_time(moment: Timestamp) -> str:
    """Format a time as RFC 3339 in UTC."""
    return moment.ToJsonString()


def read_duration(text: str) -> Duration | None:
    """Parse a Go duration ("1h30m", "-1s"), also with d and w; None: unreadable or too long."""
    result = Duration()
    try:
        result.FromNanoseconds(parse_signed_duration(text))
    except ValueError:
        return None
    return result


def write_duration(span: Duration) -> str:
    """Format a duration in seconds."""
    return span.ToJsonString()
