"""The one grammar for durations: Go durations plus days and weeks (`1h30m`, `5d8h40m`, `1w`)."""

import re
from functools import lru_cache
from typing import Final

NANOSECOND: Final = 1
SECOND: Final = 1_000_000_000
_UNITS: Final = {
    "ns": NANOSECOND,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3_600 * SECOND,
    "d": 86_400 * SECOND,
    "w": 604_800 * SECOND,
}
MAX_CACHED: Final = 1_024
"""Texts that are not read again: few are used, and used by many."""
_PART: Final = re.compile(r"([0-9]+)(?:\.([0-9]+))?(ns|us|µs|ms|s|m|h|d|w)")


@lru_cache(MAX_CACHED)
def parse_duration(text: str) -> int:
    """Nanoseconds of a duration such as `90s` or `1d12h`; `0` alone is zero.

    Raises ValueError for anything else: bare numbers, negatives, unknown units, the empty text.
    """
    if text == "0":
        return 0
    total = position = 0
    while match := _PART.match(text, position):
        whole, fraction, unit = match.groups()
        total += int(whole) * _UNITS[unit]
        if fraction:
            total += int(fraction) * _UNITS[unit] // 10 ** len(fraction)
        position = match.end()
    if position == 0 or position != len(text):
        raise ValueError(f"{text!r} is not a duration: write it like 30s, 1h30m or 2d")
    return total


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
