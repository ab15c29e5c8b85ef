"""CSV files of the openb trace: one row per node, one row per pod.

Files are checked completely first: every row is parsed into a frozen model, and the first error is a
TraceError with file, line and column.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

WHOLE_GPU_MILLI = 1000
"""`gpu_milli` of a pod with whole GPUs."""

Amount = Annotated[int, Field(ge=0, le=10**12)]
Seconds = Annotated[int, Field(ge=0, le=10**10)]
Name = Annotated[str, Field(min_length=1, max_length=253)]
OptionalSeconds = Annotated[Seconds | None, BeforeValidator(lambda text: None if text == "" else text)]
Qos = Literal["LS", "Guaranteed", "Burstable", "BE"]


class TraceError(ValueError):
    """A file of the trace is invalid. The message has the position and the expected value."""


class TraceNode(BaseModel):
    """A row of the node list."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    sn: Name
    cpu_milli: Amount
    memory_mib: Amount
    gpu: Amount
    """Number of GPUs."""
    model: str
    """GPU model."""

    @property
    def key(self) -> str:
        """Unique key of the row."""
        return self.sn


class TracePod(BaseModel):
    """A row of the pod list. Times are seconds since the start of the trace."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: Name
    cpu_milli: Amount
    memory_mib: Amount
    num_gpu: Amount
    gpu_milli: Annotated[int, Field(ge=0, le=WHOLE_GPU_MILLI)]
    """Share of each GPU in thousandths; below 1000 only with one GPU."""
    gpu_spec: str
    """Permitted GPU models, separated by `|`; empty: any."""
    qos: Qos
    creation_time: Seconds
    scheduled_time: OptionalSeconds

    @model_validator(mode="after")
    def _gpu_share_is_a_share(self) -> Self:
        if self.num_gpu and not self.gpu_milli:
            raise ValueError("gpu_milli is 0 although num_gpu is not")
        if self.num_gpu > 1 and self.gpu_milli < WHOLE_GPU_MILLI:
            raise ValueError("gpu_milli must be 1000 when num_gpu is more than 1")
        return self

    @property
    def key(self) -> str:
        """What makes the row unique."""
        return self.name

    @property
    def start_time(self) -> int:
        """Scheduling time, else creation time."""
        return self.creation_time if self.scheduled_time is None else self.scheduled_time

    @property
    def gpu_models(self) -> tuple[str, ...]:
        """Models of `gpu_spec`, sorted, without duplicates; empty: any."""
        return tuple(sorted({model for model in self.gpu_spec.split("|") if model}))

    @property
    def gpu_demand_milli(self) -> int:
        """Requested GPUs in thousandths."""
        return self.num_gpu * self.gpu_milli


Row = TypeVar("Row", TraceNode, TracePod)


def read_nodes(path: Path) -> list[TraceNode]:
    """All nodes in file order. Raises TraceError."""
    return _read(path, TraceNode)


def read_pods(path: Path) -> list[TracePod]:
    """All pods by creation time and name. Raises TraceError."""
    return sorted(_read(path, TracePod), key=lambda pod: (pod.creation_time, pod.name))


def _read(path: Path, model: type[Row]) -> list[Row]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(_unique(path, _rows(path, csv.DictReader(file), model)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TraceError(f"{path}: not a valid CSV file: {error}") from error


def _rows(path: Path, reader: "csv.DictReader[str]", model: type[Row]) -> Iterator[tuple[int, Row]]:
    missing = sorted(set(model.model_fields) - set(reader.fieldnames or ()))
    if missing:
        expected = ", ".join(model.model_fields)
        raise TraceError(f"{path}:1: missing columns {', '.join(missing)}; expected {expected}")
    for fields in reader:
        try:
            yield reader.line_num, model.model_validate(fields)
        except ValidationError as error:
            raise TraceError(f"{path}:{reader.line_num}: {_first_error(error)}") from error


def _first_error(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    message = fault["msg"].removeprefix("Value error, ")
    if not fault["loc"]:
        return message
    return f"column {fault['loc'][0]}: {message[:1].lower()}{message[1:]}, got {fault['input']!r}"


def _unique(path: Path, rows: Iterator[tuple[int, Row]]) -> Iterator[Row]:
    lines: dict[str, int] = {}
    for line, row in rows:
        if (first := lines.setdefault(row.key, line)) != line:
            raise TraceError(f"{path}:{line}: {row.key!r} is already on line {first}")
        yield row
