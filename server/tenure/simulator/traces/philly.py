"""Jobs of Microsoft's Philly cluster as CSV: `timestamp,duration,num_gpus,gpu_time,cluster`.

Queues are the virtual clusters. The file has no users, priorities, waits or placements.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from tenure.simulator.jobs import WHOLE_GPU, Job, Trace, count, seconds
from tenure.simulator.traces.csv_lines import read_csv
from tenure.terms.durations import SECOND

COLUMNS: Final = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")
NOTES: Final = (
    "Philly: times are read as UTC; queues are the virtual clusters; every job has priority 50 and is "
    "preemptible.",
)
_LENGTH: Final = 19
_MARKS: Final = ((4, "-"), (7, "-"), (10, " "), (13, ":"), (16, ":"))
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def read_philly(lines: Iterable[str]) -> Trace:
    """Jobs, named after their line. Duplicate rows are jobs of their own."""
    return read_csv(lines, COLUMNS, _job, NOTES)


def _job(line: int, row: Mapping[str, str]) -> Job:
    try:
        submitted = _time(row["timestamp"])
    except ValueError:
        raise ValueError(f"timestamp {row['timestamp']!r} is not YYYY-MM-DD HH:MM:SS") from None
    since = submitted - _EPOCH
    if since.days < 0:
        raise ValueError(f"timestamp {row['timestamp']!r} is before 1970")
    if not row["cluster"]:
        raise ValueError("cluster is empty")
    return Job(
        name=f"job-{line:07d}",
        queue=row["cluster"],
        submit=(since.days * 86_400 + since.seconds) * SECOND,
        runtime=seconds(row["duration"]),
        gpu_milli=count(row["num_gpus"], "num_gpus", 1) * WHOLE_GPU,
    )


def _time(text: str) -> datetime:
    """`strptime` takes most of the time that the whole file takes."""
    if len(text) != _LENGTH or any(text[place] != mark for place, mark in _MARKS):
        raise ValueError
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
