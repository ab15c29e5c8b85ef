"""Jobs of the clusters that Microsoft published with ElasticFlow: `job_id,submission_time,duration,num_gpu`.

Each file is a cluster of its own. It has no users, queues, priorities or waits.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from tenure.simulator.jobs import ONE_QUEUE, WHOLE_GPU, Job, Trace, count, seconds
from tenure.simulator.traces.csv_lines import read_csv

COLUMNS: Final = ("job_id", "submission_time", "duration", "num_gpu")
NOTES: Final = ("ITP: all jobs are in one queue; every job has priority 50 and is preemptible.",)


def read_itp(lines: Iterable[str]) -> Trace:
    """Jobs of one cluster, with times since the first one of all clusters."""
    return read_csv(lines, COLUMNS, _job, NOTES)


def _job(line: int, row: Mapping[str, str]) -> Job:
    if not row["job_id"]:
        raise ValueError("job_id is empty")
    return Job(
        name=row["job_id"],
        queue=ONE_QUEUE,
        submit=seconds(row["submission_time"]),
        runtime=seconds(row["duration"]),
        gpu_milli=count(row["num_gpu"], "num_gpu", 1) * WHOLE_GPU,
    )
