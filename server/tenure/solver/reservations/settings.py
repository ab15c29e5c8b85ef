"""Arguments of the plugin reservation (semantics R17.3, R17.5-R17.7, R17.14)."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from tenure.solver.plugin_api.profile import Parsers, Profile
from tenure.terms.durations import parse_duration

NAME: Final = "reservation"
"""Name of the plugin."""
BACKFILL_ACTION: Final = "reservation"
"""Name of the action that ends backfills: without it, capacity is lent to none."""
_MOST: Final = 1_000
"""Most planned starts and probes: the work of a cycle is bounded by them."""


def _count(text: str) -> int:
    number = int(text) if text.strip().isdecimal() else 0
    if not 1 <= number <= _MOST:
        raise ValueError(f"{text!r} is not a whole number from 1 to {_MOST:,}")
    return number


def _fraction(text: str) -> int:
    """Thousandths."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError(f"{text!r} is not a number from 0 to 1")
    return round(value * 1_000)


def _positive(text: str) -> int:
    value = parse_duration(text)
    if value <= 0:
        raise ValueError(f"{text!r} is not longer than 0s")
    return value


ARGUMENTS: Final[Parsers] = {
    "perQueue": _count,
    "total": _count,
    "minWait": parse_duration,
    "maxProbes": _count,
    "horizon": _positive,
    "resolution": parse_duration,
    "maxHold": _positive,
    "maxFraction": _fraction,
    "patience": parse_duration,
}
DEFAULTS: Final[Mapping[str, str]] = {
    "perQueue": "1",
    "total": "8",
    "minWait": "5m",
    "maxProbes": "16",
    "horizon": "7d",
    "resolution": "1m",
    "maxHold": "2h",
    "maxFraction": "0.25",
    "patience": "0s",
}


class ReservationSettings(NamedTuple):
    """Durations in nanoseconds."""

    per_queue: int
    """Planned starts of a leaf queue."""
    total: int
    min_wait: int
    """How long a pod group waits before it gets a planned start."""
    max_probes: int
    """Placements that are tried for one planned start."""
    horizon: int
    """How far ahead starts are planned."""
    resolution: int
    """A plan is replaced by one that is earlier by at least this."""
    max_hold: int
    """How long capacity is held without a planned start while it does not grow."""
    max_fraction: int
    """Thousandths of the GPUs of all nodes for all planned starts but the oldest."""
    patience: int
    """With a bounded start within this time, a pod group evicts no others."""


def reservation_settings(profile: Profile) -> ReservationSettings | None:
    """The settings of a profile; None: it plans no starts."""
    for plugin in profile.plugins:
        if plugin.name == NAME:
            return parse_settings(plugin.arguments)
    return None


def parse_settings(arguments: Mapping[str, str]) -> ReservationSettings:
    """Settings by valid arguments."""
    chosen = {**DEFAULTS, **arguments}
    return ReservationSettings(
        per_queue=_count(chosen["perQueue"]),
        total=_count(chosen["total"]),
        min_wait=parse_duration(chosen["minWait"]),
        max_probes=_count(chosen["maxProbes"]),
        horizon=_positive(chosen["horizon"]),
        resolution=parse_duration(chosen["resolution"]),
        max_hold=_positive(chosen["maxHold"]),
        max_fraction=_fraction(chosen["maxFraction"]),
        patience=parse_duration(chosen["patience"]),
    )
