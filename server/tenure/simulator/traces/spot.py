"""Jobs of Alibaba's cluster with spot GPUs (cluster-trace-v2026-spot-gpu, `job_info_df.csv`).

`job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type`: requests
are of each worker, CPU in cores, times in seconds since the first job. It is the trace of the GFS study.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tenure.simulator.jobs import WHOLE_GPU, Job, Trace, count, seconds
from tenure.simulator.traces.csv_lines import read_csv
from tenure.terms.preemptibility import Preemptibility

COLUMNS: Final = (
    "job_name",
    "organization",
    "gpu_model",
    "cpu_request",
    "gpu_request",
    "worker_num",
    "submit_time",
    "duration",
    "job_type",
)
NOTES: Final = (
    "spot: queues are the GPU models, each a cluster of its own in the study; HP jobs have priority 125 and "
    "are non-preemptible, Spot jobs have priority 50 and are preemptible; all workers of a job start "
    "together.",
)


class _Kind(NamedTuple):
    priority: int
    preemptibility: Preemptibility


_KINDS: Final = {
    "HP": _Kind(125, Preemptibility.NON_PREEMPTIBLE),
    "Spot": _Kind(50, Preemptibility.PREEMPTIBLE),
}
_CORE: Final = 1_000
"""Milli-cores."""


def read_spot(lines: Iterable[str]) -> Trace:
    """Jobs with one pod for each worker."""
    return read_csv(lines, COLUMNS, _job, NOTES)


def _job(line: int, row: Mapping[str, str]) -> Job:
    for key in ("job_name", "gpu_model"):
        if not row[key]:
            raise ValueError(f"{key} is empty")
    kind = _KINDS.get(row["job_type"])
    if kind is None:
        raise ValueError(f"job_type {row['job_type']!r} is not one of {', '.join(_KINDS)}")
    return Job(
        name=row["job_name"],
        queue=row["gpu_model"],
        submit=seconds(row["submit_time"]),
        runtime=seconds(row["duration"]),
        gpu_milli=_whole(row, "gpu_request") * WHOLE_GPU,
        pods=_whole(row, "worker_num", 1),
        priority=kind.priority,
        preemptibility=kind.preemptibility,
        cpu_milli=_whole(row, "cpu_request") * _CORE,
    )


def _whole(row: Mapping[str, str], key: str, least: int = 0) -> int:
    """Programs for tables write whole numbers as 8.0 if the column has a gap."""
    return count(row[key].removesuffix(".0"), key, least)
