"""Tenure's own CSV of jobs, which has every property that the simulation knows.

It needs the columns `job,submit,runtime,gpus`; all others are optional, and an empty value is the default.
Times are in seconds, GPUs, CPU (cores) and memory (GiB) are those of each pod, or of the whole job if it does
not say its pods; kinds of GPUs are joined by `|`, such as `T4|P100`.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final, TextIO

from tenure.simulator.jobs import (
    DEFAULT_MODE,
    DEFAULT_PRIORITY,
    FROM_ZERO,
    MAX_GPUS,
    ONE_QUEUE,
    WHOLE_GPU,
    Job,
    Trace,
    count,
    mode_text,
    read_kinds,
    read_mode,
    seconds,
)
from tenure.simulator.traces.amounts import CORE, GIB, number, request
from tenure.simulator.traces.csv_lines import read_csv
from tenure.terms.durations import SECOND

REQUIRED_COLUMNS: Final = ("job", "submit", "runtime", "gpus")
"""Columns that a file must have."""
OPTIONAL_COLUMNS: Final = (
    *("queue", "pods", "priority", "preemptibility", "min_member", "expected_runtime"),
    *("checkpoint_interval", "notice", "checkpoint_on_notice", "time_limit", "cpu", "memory", "gpu_kind"),
)
"""Further columns, whose values may be empty."""
_YES_NO: Final = {"yes": True, "no": False}
NEVER: Final = "never"
"""Checkpoint interval of a job that keeps no work."""
_MAX_PRIORITY: Final = 10**9


def read_own(lines: Iterable[str]) -> Trace:
    """Jobs as they are written."""
    return read_csv(lines, REQUIRED_COLUMNS, _job, optional=OPTIONAL_COLUMNS)


def write_own(jobs: Sequence[Job], file: TextIO) -> None:
    """Write jobs; reading them gives the same jobs."""
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow((*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS))
    for job in jobs:
        interval = job.checkpoint_interval
        kept = "" if interval is None else NEVER if interval == FROM_ZERO else _text(interval, SECOND)
        rows.writerow(
            (
                job.name,
                _text(job.submit, SECOND),
                _text(job.runtime, SECOND),
                _text(job.gpu_milli, WHOLE_GPU),
                job.queue,
                job.pods or "",
                job.priority,
                mode_text(job.preemptibility),
                job.min_member or "",
                _text(job.expected_runtime, SECOND) if job.expected_runtime else "",
                kept,
                "" if job.notice is None else _text(job.notice, SECOND),
                _saves(job.checkpoint_on_notice),
                _text(job.time_limit, SECOND) if job.time_limit else "",
                _text(job.cpu_milli, CORE) if job.cpu_milli else "",
                _text(job.memory_bytes, GIB) if job.memory_bytes else "",
                "|".join(job.gpu_kinds),
            )
        )


def _saves(value: bool | None) -> str:
    return "" if value is None else next(text for text, meaning in _YES_NO.items() if meaning is value)


def _text(amount: int, unit: int) -> str:
    return format(Decimal(amount) / unit, "f")


def _job(line: int, row: Mapping[str, str]) -> Job:
    if not row["job"]:
        raise ValueError("job is empty")
    value = {name: row.get(name, "") for name in OPTIONAL_COLUMNS}
    pods = count(value["pods"], "pods", 1) if value["pods"] else 0
    least = count(value["min_member"], "min_member", 1) if value["min_member"] else 0
    if least > (pods or 1):
        raise ValueError(f"min_member {least} is more than pods")
    interval, notice, saves = value["checkpoint_interval"], value["notice"], value["checkpoint_on_notice"]
    if saves and saves not in _YES_NO:
        raise ValueError(f"checkpoint_on_notice {saves!r} is neither yes nor no")
    return Job(
        name=row["job"],
        queue=value["queue"] or ONE_QUEUE,
        submit=seconds(row["submit"]),
        runtime=seconds(row["runtime"]),
        gpu_milli=_gpus(row["gpus"]),
        pods=pods,
        min_member=least,
        priority=_priority(value["priority"]),
        preemptibility=read_mode(value["preemptibility"]) if value["preemptibility"] else DEFAULT_MODE,
        cpu_milli=request(value["cpu"] or "0", "cpu", CORE),
        memory_bytes=request(value["memory"] or "0", "memory", GIB),
        expected_runtime=seconds(value["expected_runtime"]) if value["expected_runtime"] else 0,
        checkpoint_interval=FROM_ZERO if interval == NEVER else seconds(interval) if interval else None,
        notice=seconds(notice) if notice else None,
        checkpoint_on_notice=_YES_NO[saves] if saves else None,
        time_limit=_limit(value["time_limit"]),
        gpu_kinds=read_kinds(value["gpu_kind"]),
    )


def _limit(text: str) -> int:
    limit = seconds(text) if text else 0
    if text and not limit:
        raise ValueError(f"time_limit {text!r} ends a job at once; leave it empty for none")
    return limit


def _gpus(text: str) -> int:
    value = number(text, "gpus") * WHOLE_GPU
    if (
        not 0 <= value <= MAX_GPUS * WHOLE_GPU
        or value != int(value)
        or (value % WHOLE_GPU and value > WHOLE_GPU)
    ):
        raise ValueError(f"gpus {text!r} is neither a whole number nor a part of one GPU in thousandths")
    return int(value)


def _priority(text: str) -> int:
    if not text:
        return DEFAULT_PRIORITY
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"priority {text!r} is not a whole number") from None
    if abs(value) > _MAX_PRIORITY:
        raise ValueError(f"priority {text!r} is out of range")
    return value
