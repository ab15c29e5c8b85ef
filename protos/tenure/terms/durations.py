"""The one grammar for durations: all that Go's `time.ParseDuration` takes, plus days and weeks.

Examples: `90s`, `1h30m`, `.5h`, `5d8h40m`, `1w`.
"""

import re
from functools import lru_cache
from typing import Final

NANOSECOND: Final = 1
SECOND: Final = 1_000_000_000
_UNITS: Final = {
    "ns": NANOSECOND,
    "us": 1_000,
    "\u00b5s": 1_000,  # the micro sign
    "\u03bcs": 1_000,  # the Greek letter mu
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3_600 * SECOND,
    "d": 86_400 * SECOND,
    "w": 604_800 * SECOND,
}
MAX_DURATION: Final = 100 * 365 * 86_400 * SECOND
"""The longest duration in nanoseconds, in texts and in messages: 100 years of 365 days."""
MAX_TEXT: Final = 64
"""The longest text of a duration, in characters."""
MAX_CACHED: Final = 1_024
"""Texts that are not read again: few are used, and used by many."""
_MAX_FRACTION: Final = 19
"""Digits of a fraction that count, as in Go: those that fit into 63 bits."""
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h|d|w)")


def parse_duration(text: str) -> int:
    """Nanoseconds of a duration that is not negative, such as `90s` or `1d12h`; `0` alone is zero.

    Raises ValueError for anything else: bare numbers, negatives, unknown units, the empty text, more than 100
    years.
    """
    nanoseconds = parse_signed_duration(text)
    if nanoseconds < 0:
        raise ValueError(f"{text!r} is not a duration of zero or more: write it like 30s, 1h30m or 2d")
    return nanoseconds


class LongDurationError(ValueError):
    """A duration that is longer than the longest."""


@lru_cache(MAX_CACHED)
def parse_signed_duration(text: str) -> int:
    """Nanoseconds of a duration that may be negative. Raises ValueError, or LongDurationError."""
    if len(text) > MAX_TEXT:
        raise _not_a_duration(f"{text[:MAX_TEXT]}...")
    start = 1 if text.startswith(("+", "-")) else 0
    total, position = 0, start
    while match := _PART.match(text, position):
        whole, fraction, unit = match.groups()
        if not (whole or fraction):
            raise _not_a_duration(text)
        total += int(whole or "0") * _UNITS[unit]
        if fraction:
            total += _fraction(fraction, _UNITS[unit])
        position = match.end()
    if (position == start or position != len(text)) and text[start:] != "0":
        raise _not_a_duration(text)
    if total > MAX_DURATION:
        raise LongDurationError(f"{text!r} is longer than 100 years")
    return -total if text.startswith("-") else total


def _fraction(digits: str, unit: int) -> int:
    """Nanoseconds of a decimal fraction of a unit, rounded as in Go."""
    counted = digits[:_MAX_FRACTION]
    if int(counted) > 2**63:
        counted = counted[:-1]
    return int(float(int(counted)) * (unit / 10.0 ** len(counted)))


def _not_a_duration(text: str) -> ValueError:
    return ValueError(f"{text!r} is not a duration: write it like 30s, 1h30m or 2d")


def format_duration(nanoseconds: int) -> str:
    """The duration in the largest units that are exact to the second: `1h30m`, `45s`."""
    seconds, rest = divmod(abs(nanoseconds), SECOND)
    parts = []
    for unit in ("d", "h", "m", "s"):
        amount, seconds = divmod(seconds, _UNITS[unit] // SECOND)
        if amount:
            parts.append(f"{amount}{unit}")
    if rest and not parts:
        parts.append(f"{rest // 1_000_000}ms")
    return ("-" if nanoseconds < 0 else "") + ("".join(parts) or "0s")
