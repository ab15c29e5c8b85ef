"""How the past use of queues is kept, by the arguments of the plugin proportion (semantics R18)."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from tenure.terms.durations import SECOND, parse_duration

PLUGIN: Final = "proportion"
"""Name of the plugin."""
STEPS: Final = 1_024
"""Steps in a half-life."""
NO_HALF_LIFE: Final = "none"
"""The half-life of profiles without a history."""
NO_RESET: Final = "none"


def half_life(text: str) -> int | None:
    """Seconds of a step; None for `none`. Raises ValueError for a half-life of less than 1,024 seconds."""
    if text == NO_HALF_LIFE:
        return None
    seconds = parse_duration(text) // SECOND
    if seconds < STEPS:
        raise ValueError(f"{text!r} is too short: write at least {STEPS}s, or {NO_HALF_LIFE}")
    return seconds // STEPS


def usage_scope(text: str) -> bool:
    """Whether past use is relative to the share of the parent."""
    if text not in ("cluster", "parent"):
        raise ValueError(f"{text!r} is neither cluster nor parent")
    return text == "parent"


def max_gap(text: str) -> int:
    """Seconds. Raises ValueError for less than one."""
    seconds = parse_duration(text) // SECOND
    if seconds < 1:
        raise ValueError(f"{text!r} is too short: write at least 1s")
    return seconds


class UsageReset(NamedTuple):
    """When the history begins again, in seconds since the Unix epoch."""

    anchor: int
    period: int

    def last(self, time: int) -> int:
        """The last reset that is not after a time."""
        return time - (time - self.anchor) % self.period


def usage_reset(text: str) -> UsageReset | None:
    """A reset such as `2025-01-06T00:00:00Z/7d`; None for `none`. Raises ValueError."""
    if text == NO_RESET:
        return None
    anchor, _, period = text.partition("/")
    try:
        begin = datetime.fromisoformat(anchor)
        seconds = parse_duration(period) // SECOND
    except ValueError:
        begin, seconds = datetime.min, 0
    if begin.tzinfo is None or seconds < 1:
        form = "a time with a zone and a period, like 2025-01-06T00:00:00Z/7d"
        raise ValueError(f"{text!r} is not a reset: write {form}, or {NO_RESET}")
    return UsageReset(int(begin.timestamp()), seconds)


HALF_LIFE: Final = "usageHalfLife"
PARSERS: Final[Mapping[str, Callable[[str], object]]] = {
    HALF_LIFE: half_life,
    "usageScope": usage_scope,
    "usageMaxGap": max_gap,
    "usageReset": usage_reset,
}
DEFAULTS: Final[Mapping[str, str]] = {
    HALF_LIFE: NO_HALF_LIFE,
    "usageScope": "cluster",
    "usageMaxGap": "15m",
    "usageReset": NO_RESET,
}


class UsageSettings(NamedTuple):
    """How a history is kept. Times are in seconds."""

    step: int
    max_gap: int
    """Of the time between two cycles, what is charged at most (semantics R18.6)."""
    is_relative_to_parent: bool
    reset: UsageReset | None = None
    """When averages begin again (semantics R18.6)."""


def usage_settings(arguments: Mapping[str, str]) -> UsageSettings | None:
    """Settings by the arguments of the plugin proportion; None: no history is kept."""
    step = half_life(arguments.get(HALF_LIFE, NO_HALF_LIFE))
    if step is None:
        return None
    chosen = {**DEFAULTS, **arguments}
    is_relative = usage_scope(chosen["usageScope"])
    return UsageSettings(step, max_gap(chosen["usageMaxGap"]), is_relative, usage_reset(chosen["usageReset"]))


def follows_past_use(arguments: Mapping[str, str]) -> bool:
    """Whether fair shares depend on a history, by the arguments of the plugin."""
    if arguments.get(HALF_LIFE, NO_HALF_LIFE) == NO_HALF_LIFE:
        return False
    return float(arguments.get("kValue", "1")) > 0
