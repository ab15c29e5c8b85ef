"""The state of every task of a case: what one session starts from and what it ends with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.conformance.cases import Json

ALLOCATED = frozenset({"Allocated", "Binding", "Bound", "Running"})
"""Statuses that hold room for good (semantics R1.40)."""

ON_NODE = ALLOCATED | {"Pipelined", "Releasing", "StuckInReleasing"}
"""Statuses that occupy a node."""


ZoneAmounts = tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
"""Zone ids, each with amounts by resource name."""


class TaskState(NamedTuple):
    """Status and place of one task, by the names of the case format."""

    status: str
    node: str | None
    gpu_groups: tuple[str, ...] = ()
    zones: ZoneAmounts = ()
    """What it takes in which NUMA zones of its node, as far as that is known."""

    def __str__(self) -> str:
        return f"{self.status} on {self.node}" if self.node else self.status


TaskTable = Mapping[str, TaskState]
"""State by task uid."""


@dataclass(frozen=True, slots=True)
class Calls:
    """How many decisions of each kind one session made."""

    binds: int = 0
    evictions: int = 0
    pipelines: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """One session as it is matched: the tasks afterwards and what the answer said about jobs."""

    tasks: TaskTable
    last_start_s: Mapping[str, float]
    """Seconds from now (0 or less) by job; a job that never started is missing."""
    reasons: Mapping[str, str]
    """Why a job is still waiting, in words, by job."""
    calls: Calls = Calls()
    leaving: TaskTable = field(default_factory=dict)
    """Tasks that move, as they are on the node they leave."""


def initial_table(case: Json) -> dict[str, TaskState]:
    """The states the case starts with."""
    return {
        task["uid"]: TaskState(task["state"], task["node"], tuple(task["gpu_groups"]), observed_zones(task))
        for job in case["jobs"]
        for task in job["tasks"]
    }


def observed_zones(task: Json) -> ZoneAmounts:
    """Zones and amounts of a task that runs at the start, if they are known."""
    placement = task.get("numa_observed_placement") or ()
    return tuple((share["zone"], tuple(sorted(share["amount"].items()))) for share in placement)


def last_starts(case: Json, tasks: TaskTable) -> dict[str, float]:
    """Start times at the beginning of a session: jobs with an allocated task started a minute ago."""
    return {
        job["uid"]: -60.0
        for job in case["jobs"]
        if any(tasks[task["uid"]].status in ALLOCATED for task in job["tasks"])
    }
