"""Eviction rates in the configuration file: token buckets that limit how fast pods are disrupted."""

import re
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from tenure.process.values import AtLeastOne, ConfigSection
from tenure.solver.model.disruption_limits import EvictionRate
from tenure.terms.durations import format_duration, parse_duration

MAX_RATES: Final = 64
_MAX_COUNT: Final = 1_000_000
_RATE: Final = re.compile(r"(\d{1,7})\s*/\s*(\S+)")


def parse_rate(text: str) -> tuple[int, int]:
    """A number and a period in nanoseconds, from a text such as `10/h` or `1/15m`. Raises ValueError."""
    found = _RATE.fullmatch(text.strip())
    if found is None or not 0 < int(found[1]) <= _MAX_COUNT:
        raise ValueError("must be a number and a period, such as 10/h or 1/15m")
    period = parse_duration(found[2] if found[2][0].isdigit() else f"1{found[2]}")
    if period <= 0:
        raise ValueError("the period must be longer than 0s")
    return int(found[1]), period


def _checked_rate(text: str) -> str:
    count, period = parse_rate(text)
    return f"{count}/{format_duration(period)}"


def _texts(value: object) -> object:
    """Split a comma-separated text; lists pass unchanged."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


class EvictionRateSection(ConfigSection):
    """One eviction rate."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    """Unique name, for reasons, metrics and the stored state."""
    scope: Literal["pool", "victimQueue", "preemptorQueue"] = "pool"
    """What counts: every disrupted pod of the node pool, those of `queue`, or those disrupted for it."""
    queue: str = ""
    """A queue, with its descendants; for the scopes `victimQueue` and `preemptorQueue`."""
    actions: Annotated[tuple[str, ...], BeforeValidator(_texts)] = ()
    """Actions that count; none: all."""
    rate: Annotated[str, AfterValidator(_checked_rate)]
    """Tokens that are added, such as `10/h`."""
    burst: AtLeastOne
    """Tokens of a full bucket."""
    unit: Literal["pods", "podGroups"] = "pods"
    """What costs one token."""

    @model_validator(mode="after")
    def _has_its_queue(self) -> Self:
        if (self.scope == "pool") is bool(self.queue):
            needs = "takes no queue" if self.queue else "needs a queue"
            raise ValueError(f"the scope {self.scope} {needs}")
        return self

    def to_rate(self) -> EvictionRate:
        """As the solver takes it."""
        count, period = parse_rate(self.rate)
        return EvictionRate(
            self.name, count, period, self.burst, self.scope, self.queue, self.actions, self.unit
        )


def read_rates(value: object) -> object:
    """`none` is an empty list."""
    return () if value in ("none", None, "") else value


def unique_names(rates: tuple[EvictionRateSection, ...]) -> tuple[EvictionRateSection, ...]:
    """The rates, whose names must differ."""
    names = [rate.name for rate in rates]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the name {name!r} is used twice")
    return rates
