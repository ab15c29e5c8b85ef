"""Rows of `squeue --json` and `sinfo --json`: the fields that the adapter reads.

Slurm 22.05 writes plain numbers, null and one state. From 23.02 on numbers are objects with `set`,
`infinite` and `number`, and states are lists of flags; both are read. Names may contain any bytes: what is
not UTF-8 becomes the replacement character.
"""

from typing import Final, TypeVar

import msgspec

FINISHED: Final = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    }
)
"""States of jobs that hold nothing and do not return."""


class ListingError(ValueError):
    """The output of a command of Slurm is not what this version reads. The message names the command."""


class Number(msgspec.Struct, frozen=True, gc=False):
    """A number of Slurm 23.02 and later."""

    number: int = 0
    set: bool = False
    infinite: bool = False


AnyNumber = int | Number | None
_Rows = TypeVar("_Rows")


def number(value: AnyNumber) -> int | None:
    """The number; None if it is not set or unlimited."""
    if isinstance(value, Number):
        return value.number if value.set and not value.infinite else None
    return value


class JobRow(msgspec.Struct, frozen=True, gc=False):
    """A job, a task of an array that was touched, or all other pending tasks of an array."""

    job_id: int
    job_state: str | list[str]
    user_id: int
    user_name: str | None = ""
    name: str | None = ""
    account: str | None = ""
    partition: str = ""
    qos: str | None = ""
    comment: str | None = ""
    admin_comment: str | None = ""
    submit_time: AnyNumber = 0
    eligible_time: AnyNumber = 0
    start_time: AnyNumber = 0
    end_time: AnyNumber = 0
    time_limit: AnyNumber = None
    priority: AnyNumber = 0
    restart_cnt: int = 0
    requeue: bool = False
    batch_flag: bool = False
    nodes: str | None = ""
    required_nodes: str | None = ""
    excluded_nodes: str | None = ""
    node_count: AnyNumber = 0
    max_nodes: AnyNumber = 0
    tasks: AnyNumber = 1
    memory_per_node: AnyNumber = None
    memory_per_cpu: AnyNumber = None
    memory_per_tres: str | None = ""
    minimum_cpus_per_node: AnyNumber = None
    minimum_tmp_disk_per_node: AnyNumber = None
    cpus_per_tres: str | None = ""
    tasks_per_node: AnyNumber = None
    sockets_per_node: AnyNumber = None
    tres_req_str: str | None = ""
    tres_alloc_str: str | None = ""
    tres_per_node: str | None = ""
    tres_per_job: str | None = ""
    tres_per_task: str | None = ""
    tres_per_socket: str | None = ""
    features: str | None = ""
    shared: str | list[str] | None = ""
    dependency: str | None = ""
    licenses: str | None = ""
    resv_name: str | None = ""
    state_reason: str | None = ""
    array_job_id: AnyNumber = 0
    array_task_id: AnyNumber = None
    array_task_string: str | None = ""
    array_max_tasks: AnyNumber = 0
    het_job_id: AnyNumber = 0
    gres_detail: list[str] = []
    """GPUs that it holds, by node."""

    @property
    def state(self) -> str:
        """The state, such as PENDING; COMPLETING while its processes end, whatever comes next."""
        if isinstance(self.job_state, str):
            return self.job_state
        return "COMPLETING" if "COMPLETING" in self.job_state else next(iter(self.job_state), "")

    @property
    def is_held(self) -> bool:
        """Whether Slurm does not start it, whatever the reason says."""
        return number(self.priority) == 0

    @property
    def is_exclusive(self) -> bool:
        """Whether it shares its nodes with no job."""
        return self.shared == "none" or (isinstance(self.shared, list) and "none" in self.shared)

    @property
    def is_over(self) -> bool:
        """Whether it has ended and does not return."""
        return self.state in FINISHED


class NodeRow(msgspec.Struct, frozen=True, gc=False):
    """A node."""

    name: str
    state: str | list[str]
    cpus: int
    real_memory: int
    state_flags: list[str] = []
    gres: str | None = ""
    gres_used: str | None = ""
    slurmd_start_time: AnyNumber = None
    active_features: str | list[str] | None = ""
    partitions: list[str] = []
    reason: str = ""

    @property
    def all_states(self) -> frozenset[str]:
        """The state and its flags, in upper case."""
        states = [self.state] if isinstance(self.state, str) else self.state
        return frozenset(flag.upper() for flag in (*states, *self.state_flags))

    @property
    def has_reported(self) -> bool:
        """Whether its slurmd has reported to the slurmctld that runs now; True if nothing says so."""
        return number(self.slurmd_start_time) != 0

    @property
    def features(self) -> list[str]:
        """Active features."""
        listed = self.active_features or ""
        return [name for name in (listed.split(",") if isinstance(listed, str) else listed) if name]


class _Error(msgspec.Struct):
    description: str = ""
    error: str = ""


class _Jobs(msgspec.Struct):
    jobs: list[JobRow]
    errors: list[_Error] = []


class _Nodes(msgspec.Struct):
    nodes: list[NodeRow]
    errors: list[_Error] = []


_JOBS: Final = msgspec.json.Decoder(_Jobs)
_NODES: Final = msgspec.json.Decoder(_Nodes)


def read_jobs(listing: bytes) -> list[JobRow]:
    """Jobs of `squeue --json`. Raises ListingError."""
    found = _decode(_JOBS, listing, "squeue")
    _check(found.errors, "squeue")
    return found.jobs


def read_nodes(listing: bytes) -> list[NodeRow]:
    """Nodes of `sinfo --json`. Raises ListingError."""
    found = _decode(_NODES, listing, "sinfo")
    _check(found.errors, "sinfo")
    return found.nodes


def _check(errors: list[_Error], command: str) -> None:
    """Without a controller, both commands print an empty list and errors, and exit with 0."""
    if errors:
        text = errors[0].description or errors[0].error or "an error without a text"
        raise ListingError(f"{command} --json failed: {text}")


def _decode(decoder: msgspec.json.Decoder[_Rows], listing: bytes, command: str) -> _Rows:
    try:
        return decoder.decode(listing.decode(errors="replace"))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ListingError(f"cannot read the output of {command} --json: {error}") from None
