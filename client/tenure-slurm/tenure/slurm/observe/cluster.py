"""What the adapter drives, and one reading of it: nodes, jobs and arrays of the partitions of Tenure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tenure.slurm.observe.accounts import Associations
from tenure.slurm.observe.dependencies import Dependencies
from tenure.slurm.observe.hostlist import HostListError, expand
from tenure.slurm.observe.reservations import Reservation
from tenure.slurm.observe.rows import JobRow, NodeRow, number

MAX_TASKS: Final = 200
"""Maximum number of pending tasks of an array that are scheduled at once; the others follow."""
RELEASING: Final = frozenset({"COMPLETING", "STOPPED", "STAGE_OUT", "SIGNALING"})
HOLDING: Final = frozenset({"RUNNING", "CONFIGURING", "SUSPENDED", "RESIZING"})
"""States in which a job has its nodes."""


class Reading(NamedTuple):
    """One reading of a cluster."""

    jobs: Sequence[JobRow]
    nodes: Sequence[NodeRow]
    reservations: Sequence[Reservation] = ()
    associations: Associations = Associations()


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a cluster that Tenure schedules, and how jobs are mapped."""

    cluster_id: str
    partitions: tuple[str, ...]
    node_pool: str = ""
    queue_from: str = "account"
    """What names the queue of a job: `account`, `qos` or `partition`."""
    default_queue: str = "default"
    """Queue of jobs without a name, and of names that are not in `queues`, if `is_closed`."""
    parent_queue: str = ""
    """Parent of the queues that are made for names that are not in `queues`; "": none."""
    is_closed: bool = False
    """Whether jobs use only the queues that are configured."""
    priorities: Mapping[str, int] = field(default_factory=dict)
    """Priority by QOS, or by partition: without slurmdbd there are no QOS."""
    default_priority: int = 50
    expected_runtime_percent: int = 0
    """Part of the time limit that is the expected runtime of a job without one. 0: none."""


class Run(NamedTuple):
    """A job or a task of an array, as it is listed."""

    reference: str
    """What scontrol calls it: `7`, or `7_3` for a task."""
    key: str
    """Reference that does not change when the task is touched."""
    job: JobRow
    is_throttled: bool = False
    """Whether the array lets no further task run, as with `--array=0-9%2`."""
    is_dependent: bool = False
    """Whether it waits for other jobs."""
    is_impossible: bool = False
    """Whether it waits for an end that other jobs do not have any more."""

    @property
    def submit(self) -> int:
        """Submit time; a requeue changes it."""
        return number(self.job.submit_time) or 0

    @property
    def nodes(self) -> list[str]:
        """Nodes that it holds."""
        try:
            return expand(self.job.nodes or "")
        except HostListError:
            return []


def list_runs(jobs: Sequence[JobRow], scope: Scope) -> Iterator[Run]:
    """Jobs of the partitions that have not ended; an array by tasks."""
    dependencies = Dependencies(jobs)
    owned_by_partition = {job.partition: is_owned(job.partition, scope) for job in jobs}
    owned = [job for job in jobs if owned_by_partition[job.partition] and not job.is_over]
    arrays = [(array, job) for job in owned if (array := number(job.array_job_id))]
    running = Counter([array for array, job in arrays if job.state in HOLDING or job.state in RELEASING])
    for job in owned:
        is_dependent, array = not dependencies.is_satisfied(job), number(job.array_job_id)
        if not array:
            reference = job_key(job)
            is_impossible = is_dependent and dependencies.is_impossible(job)
            yield Run(reference, reference, job, is_dependent=is_dependent, is_impossible=is_impossible)
            continue
        most = number(job.array_max_tasks) or 0
        left = max(most - running[array], 0) if most else MAX_TASKS
        if number(job.array_task_id) is None:
            for position, index in enumerate(read_tasks(job.array_task_string or "")):
                reference = f"{array}_{index}"
                yield Run(reference, reference, job, position >= left, is_dependent)
        else:
            key = job_key(job)
            yield Run(key, key, job, job.state == "PENDING" and left == 0, is_dependent)


def job_key(job: JobRow) -> str:
    """What scontrol calls a job, or a task of an array that was touched."""
    array, task = number(job.array_job_id), number(job.array_task_id)
    return f"{array}_{task}" if array and task is not None else str(job.job_id)


def is_owned(partition: str, scope: Scope) -> bool:
    """Whether a job with these partitions, separated by commas, is in one of Tenure's."""
    return not set(partition.split(",")).isdisjoint(scope.partitions)


def read_tasks(text: str) -> list[int]:
    """The first tasks of a pending array, such as `0-5,9%2`."""
    tasks: list[int] = []
    for part in text.partition("%")[0].split(","):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        if not first.isdecimal():
            continue
        end = int(last) if last.isdecimal() else int(first)
        stride = int(step) if step.isdecimal() and int(step) else 1
        tasks += range(int(first), min(end, int(first) + MAX_TASKS * stride) + 1, stride)
        if len(tasks) >= MAX_TASKS:
            break
    return tasks[:MAX_TASKS]


def foreign_partitions(nodes: Iterable[NodeRow], scope: Scope) -> dict[str, list[str]]:
    """Partitions of others on nodes of Tenure, with these nodes: a second scheduler may fill them."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        if not set(node.partitions).isdisjoint(scope.partitions):
            for name in set(node.partitions) - set(scope.partitions):
                found.setdefault(name, []).append(node.name)
    return found
