"""Times and durations of Kubernetes objects as messages."""

import re
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

MAX_SECONDS: Final = 100 * 365 * 86_400
"""Longest duration of a snapshot. An unreadable duration counts as this if a long one protects."""
FOREVER: Final = Duration(seconds=MAX_SECONDS)
_NANOS: Final = 10**9
_LATEST_SECONDS: Final = 2**63 // _NANOS - 1
"""Maximum distance of times from 1970: years 1677 to 2262."""
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": _NANOS,
    "m": 60 * _NANOS,
    "h": 3600 * _NANOS,
    "d": 86_400 * _NANOS,
    "w": 7 * 86_400 * _NANOS,
}
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h|d|w)", re.ASCII)
_WHOLE: Final = re.compile(rf"[+-]?(?:0|(?:{_PART.pattern})+)", re.ASCII)
_LONGEST_TEXT: Final = 64


def timestamp(moment: datetime | None) -> Timestamp:
    """A time of an object; 1970 if it is missing or out of range."""
    result = Timestamp()
    if moment is not None:
        result.FromDatetime(moment)
    return result if abs(result.seconds) <= _LATEST_SECONDS else Timestamp()


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
    return result if abs(result.seconds) <= _LATEST_SECONDS else None


def write_time(moment: Timestamp) -> str:
    """Format a time as RFC 3339 in UTC."""
    return moment.ToJsonString()


def read_duration(text: str) -> Duration | None:
    """Parse a Go duration ("1h30m", "-1s"), also with d and w; None: unreadable or too long."""
    if len(text) > _LONGEST_TEXT or not _WHOLE.fullmatch(text):
        return None
    try:
        nanos = sum(int(Decimal(number) * _UNITS[unit]) for number, unit in _PART.findall(text))
    except InvalidOperation:
        return None
    if nanos > MAX_SECONDS * _NANOS:
        return None
    result = Duration()
    result.FromNanoseconds(-nanos if text.startswith("-") else nanos)
    return result


def write_duration(span: Duration) -> str:
    """Format a duration in seconds."""
    return span.ToJsonString()
