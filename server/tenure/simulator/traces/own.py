"""Tenure's own CSV of jobs, which has every property that the simulation knows.

`job,queue,submit,runtime,gpus,pods,priority,preemptibility,min_member,expected_runtime,checkpoint_interval`,
and optionally `notice`, `checkpoint_on_notice` (yes or no) and `time_limit`: times in seconds, GPUs of each
pod, an empty value is the default.
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
    WHOLE_GPU,
    Job,
    Trace,
    count,
    mode_text,
    read_mode,
    seconds,
)
from tenure.simulator.traces.csv_lines import read_csv
from tenure.terms.durations import SECOND

COLUMNS: Final = (
    "job",
    "queue",
    "submit",
    "runtime",
    "gpus",
    "pods",
    "priority",
    "preemptibility",
    "min_member",
    "expected_runtime",
    "checkpoint_interval",
)
OPTIONAL_COLUMNS: Final = ("notice", "checkpoint_on_notice", "time_limit")
"""Columns that a file may lack."""
_YES_NO: Final = {"yes": True, "no": False}
NEVER: Final = "never"
"""Checkpoint interval of a job that keeps no work."""
_MAX_PRIORITY: Final = 10**9


def read_own(lines: Iterable[str]) -> Trace:
    """Jobs as they are written."""
    return read_csv(lines, COLUMNS, _job)


def write_own(jobs: Sequence[Job], file: TextIO) -> None:
    """Write jobs; reading them gives the same jobs, except for CPU and memory."""
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow((*COLUMNS, *OPTIONAL_COLUMNS))
    for job in jobs:
        interval = job.checkpoint_interval
        kept = "" if interval is None else NEVER if interval == FROM_ZERO else _text(interval, SECOND)
        rows.writerow(
            (
                job.name,
                job.queue,
                _text(job.submit, SECOND),
                _text(job.runtime, SECOND),
                _text(job.gpu_milli, WHOLE_GPU),
                job.pods or "",
                job.priority,
                mode_text(job.preemptibility),
                job.min_member or "",
                _text(job.expected_runtime, SECOND) if job.expected_runtime else "",
                kept,
                "" if job.notice is None else _text(job.notice, SECOND),
                _saves(job.checkpoint_on_notice),
                _text(job.time_limit, SECOND) if job.time_limit else "",
            )
        )


def _saves(value: bool | None) -> str:
    return "" if value is None else next(text for text, meaning in _YES_NO.items() if meaning is value)


def _text(amount: int, unit: int) -> str:
    return format(Decimal(amount) / unit, "f")


def _job(line: int, row: Mapping[str, str]) -> Job:
    for key in ("job", "queue"):
        if not row[key]:
            raise ValueError(f"{key} is empty")
    pods = count(row["pods"], "pods", 1) if row["pods"] else 0
    least = count(row["min_member"], "min_member", 1) if row["min_member"] else 0
    if least > (pods or 1):
        raise ValueError(f"min_member {least} is more than pods")
    interval, notice = row["checkpoint_interval"], row.get("notice")
    saves = row.get("checkpoint_on_notice")
    if saves and saves not in _YES_NO:
        raise ValueError(f"checkpoint_on_notice {saves!r} is neither yes nor no")
    return Job(
        name=row["job"],
        queue=row["queue"],
        submit=seconds(row["submit"]),
        runtime=seconds(row["runtime"]),
        gpu_milli=_gpus(row["gpus"]),
        pods=pods,
        min_member=least,
        priority=_priority(row["priority"]),
        preemptibility=read_mode(row["preemptibility"]) if row["preemptibility"] else DEFAULT_MODE,
        expected_runtime=seconds(row["expected_runtime"]) if row["expected_runtime"] else 0,
        checkpoint_interval=FROM_ZERO if interval == NEVER else seconds(interval) if interval else None,
        notice=seconds(notice) if notice else None,
        checkpoint_on_notice=_YES_NO[saves] if saves else None,
        time_limit=_limit(row.get("time_limit") or ""),
    )


def _limit(text: str) -> int:
    limit = seconds(text) if text else 0
    if text and not limit:
        raise ValueError(f"time_limit {text!r} ends a job at once; leave it empty for none")
    return limit


def _gpus(text: str) -> int:
    try:
        value = Decimal(text) * WHOLE_GPU
    except ArithmeticError:
        value = Decimal("NaN")
    if not value.is_finite():
        raise ValueError(f"gpus {text!r} is not a number")
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
