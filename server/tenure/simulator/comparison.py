"""Figures of a policy over several seeds, and differences of two policies that met the same luck."""

from collections.abc import Callable, Mapping, Sequence
from statistics import mean, stdev
from typing import Any, NamedTuple

Metrics = Mapping[str, Any]
Value = Callable[[Metrics], float | None]
"""A figure of the metrics of a run; None: the run has no such figure, such as a mean over no jobs."""


class Spread(NamedTuple):
    """A figure over several seeds."""

    mean: float
    deviation: float
    """Sample standard deviation; 0 for one seed."""
    runs: int


def spread_of(values: Sequence[float | None]) -> Spread | None:
    """Mean and deviation; None if a value is missing, since a mean over other seeds could not be compared."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return Spread(mean(known), stdev(known) if len(known) > 1 else 0.0, len(known))


class Policy(NamedTuple):
    """What is compared: one policy, played once for each seed."""

    name: str
    metrics: Sequence[Metrics]
    """By seed, in the same order for all policies."""

    def spread(self, value: Value) -> Spread | None:
        """A figure over the seeds."""
        return spread_of([value(metrics) for metrics in self.metrics])

    def difference(self, base: "Policy", value: Value) -> Spread | None:
        """This policy minus another one, seed by seed: what luck does to both alike is not in it."""
        pairs = [
            (value(before), value(after)) for before, after in zip(base.metrics, self.metrics, strict=True)
        ]
        return spread_of([None if a is None or b is None else b - a for a, b in pairs])


def value_at(*path: str) -> Value:
    """The figure of metrics at a path."""

    def found(metrics: Metrics) -> float | None:
        value: Any = metrics
        for key in path:
            value = value.get(key)
            if value is None:
                return None
        return float(value)

    return found
