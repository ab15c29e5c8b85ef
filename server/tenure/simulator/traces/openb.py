"""Pods of the openb trace: `name,cpu_milli,memory_mib,num_gpu,gpu_milli,...,creation_time,deletion_time`.

Its pods hardly overlap in time: it tests placement, not queues.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from tenure.simulator.jobs import WHOLE_GPU, Job, Trace, count, read_kinds, seconds
from tenure.simulator.traces.amounts import MIB, whole_amount
from tenure.simulator.traces.csv_lines import read_csv

COLUMNS: Final = (
    "name",
    "cpu_milli",
    "memory_mib",
    "num_gpu",
    "gpu_milli",
    "qos",
    "creation_time",
    "deletion_time",
    "scheduled_time",
)
OPTIONAL_COLUMNS: Final = ("gpu_spec", "pod_phase")
NOTES: Final = (
    "openb: a pod runs from its scheduled time to its deletion time; queues are the QoS classes.",
)


def read_openb(lines: Iterable[str]) -> Trace:
    """Jobs of one pod each. A pod that was never scheduled has no run time and is a bad line."""
    return read_csv(lines, COLUMNS, _job, NOTES, OPTIONAL_COLUMNS)


def _job(line: int, row: Mapping[str, str]) -> Job:
    if not row["name"]:
        raise ValueError("name is empty")
    if not row["scheduled_time"]:
        raise ValueError("scheduled_time is empty: the run time is not known")
    submit, started, ended = (
        seconds(row[key]) for key in ("creation_time", "scheduled_time", "deletion_time")
    )
    if ended < started:
        raise ValueError(
            f"deletion_time {row['deletion_time']} is before scheduled_time {row['scheduled_time']}"
        )
    devices, share = count(row["num_gpu"], "num_gpu"), count(row["gpu_milli"], "gpu_milli")
    if (devices > 1 and share != WHOLE_GPU) or (devices == 1 and not 0 < share <= WHOLE_GPU):
        raise ValueError(f"gpu_milli {share} does not fit num_gpu {devices}")
    return Job(
        name=row["name"],
        queue=row["qos"] or "none",
        submit=submit,
        runtime=ended - started,
        gpu_milli=devices * share,
        pods=1,
        cpu_milli=whole_amount(row["cpu_milli"], "cpu_milli"),
        memory_bytes=whole_amount(row["memory_mib"], "memory_mib") * MIB,
        gpu_kinds=read_kinds(row.get("gpu_spec", "")) if devices else (),
    )
