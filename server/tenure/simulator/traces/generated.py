"""A synthetic trace from a small YAML description.

    seed: 1
    days: 7
    start: 2026-01-05T00:00:00Z
    jobs:
      - queue: research
        perHour: 12          # mean number of arrivals
        runtime: 40m         # median; spread is the factor to the 84th percentile
        spread: 3
        gpus: {1: 80, 8: 20} # GPUs of the job, with weights
        priority: 50
        preemptibility: preemptible
        expectedRuntime: 1h  # what the owners say; default: nothing
        timeLimit: 4h        # how long a job may run; default: as its queue says
        dayNight: 0.6        # share of the arrivals that follows working hours, 0 to 1
        weekend: 0.5         # arrivals on Saturday and Sunday, as a part of those of other days

Each group of jobs has its own random numbers, so a change of one does not change the others.
"""

import math
from datetime import UTC, datetime
from random import Random
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from tenure.process.values import PositiveDuration
from tenure.simulator.jobs import (
    DEFAULT_MODE,
    MAX_GPUS,
    MODE_TEXTS,
    WHOLE_GPU,
    Job,
    Trace,
    TraceError,
    in_order,
    mode_text,
    read_mode,
)
from tenure.terms.durations import SECOND

MAX_JOBS: Final = 2_000_000
"""Most jobs that a description may ask for."""
_HOUR: Final = 3_600
_NOON: Final = 14
"""Hour with the most arrivals, in UTC."""
_SATURDAY: Final = 5


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class JobsSection(_Section):
    """A group of similar jobs."""

    queue: Annotated[str, Field(min_length=1, max_length=253)]
    per_hour: Annotated[float, Field(gt=0, le=100_000)]
    runtime: PositiveDuration
    spread: Annotated[float, Field(ge=1, le=100)] = 1.0
    gpus: Annotated[
        dict[Annotated[int, Field(ge=1, le=MAX_GPUS)], Annotated[float, Field(gt=0)]], Field(min_length=1)
    ] = {1: 1.0}
    priority: Annotated[int, Field(ge=-(10**9), le=10**9)] = 50
    preemptibility: str = mode_text(DEFAULT_MODE)
    expected_runtime: PositiveDuration | None = None
    time_limit: PositiveDuration | None = None
    day_night: Annotated[float, Field(ge=0, le=1)] = 0.0
    weekend: Annotated[float, Field(ge=0, le=1)] = 1.0


class Description(_Section):
    """The whole file."""

    seed: int = 0
    days: Annotated[float, Field(gt=0, le=3_660)]
    start: datetime = datetime(2026, 1, 5, tzinfo=UTC)
    jobs: Annotated[list[JobsSection], Field(min_length=1)]


def generate(content: object, seed: int | None = None) -> Trace:
    """Jobs of a description; `seed` replaces its own. Raises TraceError, which names the field."""
    try:
        described = Description.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        raise TraceError(f"{path or 'the description'}: {first['msg']}") from None
    for i, section in enumerate(described.jobs):
        try:
            read_mode(section.preemptibility)
        except ValueError:
            raise TraceError(f"jobs.{i}.preemptibility: use one of {MODE_TEXTS}") from None
    if sum(section.per_hour for section in described.jobs) * described.days * 24 > MAX_JOBS:
        raise TraceError(f"jobs: these are more than {MAX_JOBS} jobs")
    start = described.start if described.start.tzinfo else described.start.replace(tzinfo=UTC)
    first_day, jobs = int(start.timestamp()), []
    chosen = described.seed if seed is None else seed
    for i, section in enumerate(described.jobs):
        draws = Random(f"{chosen}/{i}/{section.queue}")  # noqa: S311 a simulation, no secret
        jobs += _jobs(section, i, draws, first_day, int(described.days * 24 * _HOUR))
    return Trace(in_order(jobs), (), (f"generated with seed {chosen}",))


def _jobs(section: JobsSection, group: int, draws: Random, start: int, span: int) -> list[Job]:
    """Arrivals of a Poisson process whose rate follows day and week, by thinning."""
    jobs: list[Job] = []
    highest = section.per_hour * (1 + section.day_night)
    sizes, weights = list(section.gpus), list(section.gpus.values())
    at = 0.0
    while True:
        at += draws.expovariate(highest / _HOUR)
        if at >= span:
            return jobs
        if draws.random() * highest > section.per_hour * _intensity(section, start + int(at)):
            continue
        runtime = section.runtime / SECOND * math.exp(draws.gauss(0, math.log(section.spread)))
        jobs.append(
            Job(
                name=f"{section.queue}-{group}-{len(jobs):06d}",
                queue=section.queue,
                submit=(start + int(at)) * SECOND,
                runtime=max(1, round(runtime)) * SECOND,
                gpu_milli=draws.choices(sizes, weights)[0] * WHOLE_GPU,
                priority=section.priority,
                preemptibility=read_mode(section.preemptibility),
                expected_runtime=section.expected_runtime or 0,
                time_limit=section.time_limit or 0,
            )
        )


def _intensity(section: JobsSection, second: int) -> float:
    """Arrival rate at a time, as a factor of the mean."""
    moment = datetime.fromtimestamp(second, UTC)
    hour = moment.hour + moment.minute / 60
    wave = 1 + section.day_night * math.cos((hour - _NOON) / 24 * 2 * math.pi)
    return wave * (section.weekend if moment.weekday() >= _SATURDAY else 1.0)
