"""Values as text of pages. Names are foreign: every text is escaped, also what is not visible."""

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from markupsafe import Markup, escape
from tenure.terms.durations import SECOND
from tenure.terms.formatting import format_clock, format_gpus
from tenure.wire.violations import escape_control_characters

_GIB: Final = 2**30


def printable(value: Any) -> Any:
    """Text without control and bidi characters, which are shown as codes; markup stays as it is."""
    return escape_control_characters(value) if type(value) is str else value


def name(text: str) -> Markup:
    """A foreign name: isolated from the direction of the text around it, whole in the title."""
    shown = printable(text)
    return Markup('<bdi class="name" title="{0}">{0}</bdi>').format(shown)


def short_id(text: str) -> str:
    """An ID of an element for any text."""
    return "i" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def time_of(nanoseconds: int, now: int) -> Markup:
    """A time of day with its date where it differs, and the full time for programs."""
    return Markup('<time datetime="{}">{}</time>').format(_iso(nanoseconds), clock(nanoseconds, now))


def clock(nanoseconds: int, now: int) -> str:
    """A time of day to the second within ten minutes, else to the minute."""
    text = format_clock(nanoseconds, now)
    if abs(nanoseconds - now) > 600 * SECOND:
        return text
    return text.replace(" UTC", f":{nanoseconds // SECOND % 60:02} UTC")


def until(nanoseconds: int, now: int) -> Markup:
    """A time to come, with a countdown that the browser continues."""
    left = max(0, nanoseconds - now)
    return Markup('<time datetime="{}" data-left="{}" title="{}">{}</time>').format(
        _iso(nanoseconds), left // SECOND, format_clock(nanoseconds, now), f"in {rough(left)}"
    )


def since(nanoseconds: int, now: int) -> Markup:
    """A time that has passed, with its age, which the browser continues."""
    age = max(0, now - nanoseconds)
    return Markup('<time datetime="{}" data-age="{}" title="{}">{}</time>').format(
        _iso(nanoseconds), age // SECOND, format_clock(nanoseconds, now), rough(age)
    )


def rough(nanoseconds: int) -> str:
    """A duration in its two largest units at most."""
    seconds = max(0, nanoseconds) // SECOND
    for size, unit, below, part in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "m"), (60, "m", 1, "s")):
        if seconds >= size:
            rest = seconds % size // below
            return f"{seconds // size}{unit}{f' {rest}{part}' if rest and seconds < 10 * size else ''}"
    return f"{seconds}s"


def amount(value: int, resource: str) -> str:
    """An amount of a resource: GPUs, cores, or GiB; negative is unlimited."""
    if value < 0:
        return "no limit"
    if resource == "memory_bytes":
        return f"{value / _GIB:,.1f} GiB".replace(".0 GiB", " GiB")
    if resource == "cpu_milli":
        return f"{value / 1000:,.1f}".removesuffix(".0")
    return format_gpus(value)


def gpu_time(seconds: int) -> str:
    """An amount of GPU time."""
    return f"{seconds / 3600:,.1f} GPU-hours" if seconds >= 3600 else f"{seconds:,} GPU-seconds"


def action_word(action: str) -> str:
    """An action as a word of a sentence."""
    return {"stalegangeviction": "stale gang eviction", "timelimit": "time limit"}.get(action, action)


def _iso(nanoseconds: int) -> str:
    try:
        return datetime.fromtimestamp(nanoseconds / SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""


FILTERS: Final = {
    "name": name,
    "short_id": short_id,
    "time_of": time_of,
    "until": until,
    "since": since,
    "rough": rough,
    "amount": amount,
    "gpus": format_gpus,
    "action_word": action_word,
    "gpu_time": gpu_time,
    "e": escape,
}
