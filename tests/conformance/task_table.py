"""The state of every task of a case, at the start and at the end of a session."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.conformance.cases import Json

ALLOCATED = frozenset({"Allocated", "Binding", "Bound", "Running"})
"""Statuses whose resources are allocated and not releasing (semantics R1.40)."""

ON_NODE = ALLOCATED | {"Pipelined", "Releasing", "StuckInReleasing"}
"""Statuses that occupy a node."""


ZoneAmounts = tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
"""Zone ids with amounts by resource name."""


class TaskState(NamedTuple):
    """Status and placement of one task, with the names of the case format."""

    status: str
    node: str | None
    gpu_groups: tuple[str, ...] = ()
    zones: ZoneAmounts = ()
    """Amounts used in the NUMA zones of its node, if known."""

    def __str__(self) -> str:
        return f"{self.status} on {self.node}" if self.node else self.status


TaskTable = Mapping[str, TaskState]
"""State by task uid."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Number of decisions of each kind in one session."""

    binds: int = 0
    evictions: int = 0
    pipelines: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """One session to match: the tasks after it, and the statements of the response about jobs."""

    tasks: TaskTable
    last_start_s: Mapping[str, float]
    """Seconds from now (0 or less) by job. A job that never started is missing."""
    reasons: Mapping[str, str]
    """Reason, as text, for each job that is still pending."""
    calls: Calls = Calls()
    leaving: TaskTable = field(default_factory=dict)
    """Relocated tasks, with their state on the node that they leave."""


def initial_table(case: Json) -> dict[str, TaskState]:
    """Return the initial states of the case."""
    return {
        task["uid"]: TaskState(task["state"], task["node"], tuple(task["gpu_groups"]), observed_zones(task))
        for job in case["jobs"]
        for task in job["tasks"]
    }


def observed_zones(task: Json) -> ZoneAmounts:
    """Return zones and amounts of a task that runs at the start, if they are known."""
    placement = task.get("numa_observed_placement") or ()
    return tuple((share["zone"], tuple(sorted(share["amount"].items()))) for share in placement)


def last_starts(case: Json, tasks: TaskTable) -> dict[str, float]:
    """Return start times at the beginning of a session. Jobs with an allocated task started a minute ago."""
    return {
        job["uid"]: -60.0
        for job in case["jobs"]
        if any(tasks[task["uid"]].status in ALLOCATED for task in job["tasks"])
    }
