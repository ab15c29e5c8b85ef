"""A study: what is varied, over which seeds, and what counts as better.

    trace: load.yaml
    nodes: 8x8
    seeds: [1, 2, 3]
    vary:
      plugins.minruntime.defaultReclaimMinRuntime: [0s, 10m, 30m, 1h]   # a path of the configuration
      quota.research: [8, 16]                                           # GPUs of a queue
    goals:
      - {figure: all.wait.mean, better: lower}
      - {figure: cluster.lost, better: lower}
    constraints:
      - {figure: cluster.goodput, min: 0.5}

Every combination of the values is a point. With `random: {points: 20, seed: 1}` points are drawn instead, and
a value may also be a range such as `{from: 0s, to: 2h}`.
"""

from collections.abc import Mapping
from itertools import product
from random import Random
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from tenure.simulator.jobs import MAX_GPUS, TraceError
from tenure.terms.durations import SECOND, parse_duration

MAX_POINTS: Final = 10_000
QUOTA: Final = "quota."
"""Prefix of what is varied in a queue instead of the configuration."""

Value = str | int | float | bool | list[str]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class ValueRange(_Section):
    """Whole numbers, numbers or durations, both ends included."""

    low: Annotated[int | float | str, Field(alias="from")]
    high: Annotated[int | float | str, Field(alias="to")]

    @model_validator(mode="after")
    def _check(self) -> "ValueRange":
        for end in (self.low, self.high):
            if isinstance(end, str):
                parse_duration(end)
        if isinstance(self.low, str) != isinstance(self.high, str):
            raise ValueError("from and to must both be numbers or both be durations")
        if self._ends()[0] > self._ends()[1]:
            raise ValueError("from is larger than to")
        return self

    def _ends(self) -> tuple[float, float]:
        low, high = (
            parse_duration(each) // SECOND if isinstance(each, str) else each
            for each in (self.low, self.high)
        )
        return low, high

    def draw(self, draws: Random) -> Value:
        """One value; durations in whole seconds."""
        low, high = self._ends()
        if isinstance(self.low, str):
            return f"{draws.randint(int(low), int(high))}s"
        if isinstance(self.low, int) and isinstance(self.high, int):
            return draws.randint(self.low, self.high)
        return round(draws.uniform(low, high), 6)


class RandomPoints(_Section):
    """Points that are drawn instead of a grid."""

    points: Annotated[int, Field(ge=1, le=MAX_POINTS)]
    seed: int = 0


class Goal(_Section):
    """A figure to improve, by its path in the JSON of a run below `metrics`."""

    figure: Annotated[str, Field(min_length=1)]
    better: Literal["lower", "higher"] = "lower"


class Constraint(_Section):
    """Bounds of a figure; its mean over the seeds must keep them."""

    figure: Annotated[str, Field(min_length=1)]
    least: Annotated[float | None, Field(alias="min")] = None
    most: Annotated[float | None, Field(alias="max")] = None


class Study(_Section):
    """The whole file. Times are durations; `settings` has the options of `tenure play` by their names."""

    trace: str
    form: Annotated[str | None, Field(alias="format")] = None
    shard: str | None = None
    """CLUSTER[/POOL], if the trace is a file of records with those of several."""
    nodes: str | None = None
    cluster: str | None = None
    config: str | None = None
    until: str | None = None
    resample: str | None = None
    """Length of the blocks of the trace that each seed draws again; None: the trace as it is."""
    settings: dict[str, StrictBool | str] = {}
    seeds: Annotated[list[int], Field(min_length=1, max_length=1_000)] = [0]
    vary: Annotated[dict[str, list[Value] | ValueRange], Field(min_length=1)]
    random: RandomPoints | None = None
    goals: Annotated[list[Goal], Field(min_length=1)]
    constraints: list[Constraint] = []

    @model_validator(mode="after")
    def _check(self) -> "Study":
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds: a seed occurs twice")
        size = 1
        for key, values in self.vary.items():
            if isinstance(values, ValueRange):
                if self.random is None:
                    raise ValueError(f"vary.{key}: a range needs `random: {{points: ...}}`")
                continue
            if not values:
                raise ValueError(f"vary.{key}: has no value")
            if key.startswith(QUOTA) and not all(_is_quota(value) for value in values):
                raise ValueError(f"vary.{key}: a quota is a number of GPUs from 0 to {MAX_GPUS}")
            size *= len(values)
        if self.random is None and size > MAX_POINTS:
            raise ValueError(f"vary: these are {size} points, more than {MAX_POINTS}; use `random`")
        return self

    @property
    def figures(self) -> list[str]:
        """Of goals and constraints, each once."""
        names = [goal.figure for goal in self.goals] + [each.figure for each in self.constraints]
        return list(dict.fromkeys(names))


class Point(NamedTuple):
    """One combination of values."""

    number: int
    """From 1."""
    values: Mapping[str, Value]

    @property
    def quotas(self) -> dict[str, float]:
        """GPUs by queue."""
        return {
            key.removeprefix(QUOTA): float(str(value))
            for key, value in self.values.items()
            if key.startswith(QUOTA)
        }

    def configuration(self, base: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration file of the point. Raises TraceError for a path through a value."""
        document: dict[str, Any] = _copied(base)
        for key, value in self.values.items():
            if not key.startswith(QUOTA):
                _put(document, key, value)
        return document


def read_study(content: object) -> Study:
    """The study of a parsed file. Raises TraceError, which names the field."""
    if not isinstance(content, dict):
        raise TraceError("must be a mapping with keys such as `trace`, `vary` and `goals`")
    try:
        return Study.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        problem = first["msg"].removeprefix("Value error, ")
        raise TraceError(f"{path}: {problem}" if path else problem) from None


def points_of(study: Study) -> list[Point]:
    """All points, in an order that depends on the study alone."""
    if study.random is None:
        grid = product(*[values for values in study.vary.values() if not isinstance(values, ValueRange)])
        return [
            Point(number, dict(zip(study.vary, values, strict=True)))
            for number, values in enumerate(grid, start=1)
        ]
    return [
        Point(
            number,
            {
                key: _draw(values, Random(f"{study.random.seed}/{number}/{key}"))  # noqa: S311 no secret
                for key, values in study.vary.items()
            },
        )
        for number in range(1, study.random.points + 1)
    ]


def _draw(values: list[Value] | ValueRange, draws: Random) -> Value:
    return values.draw(draws) if isinstance(values, ValueRange) else draws.choice(values)


def _is_quota(value: Value) -> bool:
    try:
        return not isinstance(value, bool) and 0 <= float(str(value)) <= MAX_GPUS
    except ValueError:
        return False


def _copied(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {key: _copied(value) for key, value in content.items()}
    return content


def _put(document: dict[str, Any], path: str, value: Value) -> None:
    *sections, last = path.split(".")
    for section in sections:
        document = document.setdefault(section, {})
        if not isinstance(document, dict):
            raise TraceError(f"vary.{path}: {section} is not a section of the configuration")
    document[last] = value
