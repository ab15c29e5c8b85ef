"""Times, durations and amounts as people write them, and hints for names that they mistyped."""

from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Final

from tenure.terms.durations import SECOND, format_duration

MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
_ORDINALS: Final = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_SIMILAR: Final = 0.65
"""From which ratio of common letters on a name is proposed: typing errors, not other words (phase, shape)."""


def format_clock(nanoseconds: int, now: int) -> str:
    """A time of day, with the date if it is not today: `10:42 UTC`, `3 Jan 10:42 UTC`."""
    moment, today = _calendar(nanoseconds), _calendar(now)
    day = "" if moment.date() == today.date() else f"{moment.day} {moment:%b} "
    year = "" if moment.year == today.year else f"{moment.year} "
    return f"{day}{year}{moment:%H:%M} UTC"


def format_remaining(until: int, now: int) -> str:
    """A time to come, with the time until then: `10:42 UTC (in 7m)`."""
    return f"{format_clock(until, now)} (in {format_rough(until - now)})"


def format_rough(nanoseconds: int) -> str:
    """A duration, rounded up to seconds below ten minutes, minutes below two days, then hours."""
    unit = SECOND if nanoseconds < 10 * MINUTE else MINUTE if nanoseconds < 2 * DAY else HOUR
    return format_duration(-(-nanoseconds // unit) * unit)


def format_gpus(milli: int) -> str:
    """An amount of GPUs: `3`, `0.5`, `1,204`; from 100 in whole GPUs. A negative amount is unlimited."""
    if milli < 0:
        return "no limit"
    if milli % 1000 == 0 and milli < 1_000_000:
        return str(milli // 1000)
    if milli >= 100_000:
        return f"{milli / 1000:,.0f}"
    return f"{milli / 1000:,.2f}".rstrip("0").rstrip(".")


def count_gpus(milli: int) -> str:
    """An amount of GPUs with its unit: `1 GPU`, `0.5 GPUs`."""
    return f"{format_gpus(milli)} {'GPU' if milli == 1000 else 'GPUs'}"


def format_amount(amount: int, unit: int) -> str:
    """An amount in a unit, exact to a ten-thousandth of it: `64`, `0.5`, `1,048,576.25`."""
    return f"{amount / unit:,.4f}".rstrip("0").rstrip(".")


def format_gpu_time(seconds: int) -> str:
    """GPU-seconds as people say them: `40 GPU seconds`, `12 GPU minutes`, `1.6 GPU hours`."""
    if seconds < 120:
        return format_count(seconds, "GPU second")
    if seconds < 7_200:
        return format_count(round(seconds / 60), "GPU minute")
    return f"{seconds / 3600:,.1f} GPU hours"


def format_count(number: int, noun: str) -> str:
    """A number and its noun: `1 pod`, `3 pods`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_ordinal(number: int) -> str:
    """A place: `first`, `third`, `12th`, `22nd`."""
    if number < len(_ORDINALS):
        return _ORDINALS[number]
    is_teen = number // 10 % 10 == 1
    return f"{number}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def join_words(parts: list[str]) -> str:
    """A list in words: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def known_names_hint(name: str, known: Sequence[str]) -> str:
    """What an unknown name should be: `did you mean minruntime?`, or all known names in their order."""
    close = get_close_matches(name, known, n=1, cutoff=_SIMILAR)
    return f"did you mean {close[0]}?" if close else f"known: {', '.join(known) or 'none'}"


def _calendar(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds // SECOND, UTC)
