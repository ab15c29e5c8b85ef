"""A queue tree for the openb trace, which knows no queues.

Two departments with two teams each. A pod goes to the department that its quality of service suggests
and to a team by a checksum of its name, so that every team has pods of high and of low priority. Quotas
come from what the pods of a team ask for: each covers all that may not be interrupted, and a part of the
rest that differs from team to team, so that some teams are within their quota and some live on borrowed
GPUs. `docs/openb.md` gives the reasons.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple
from zlib import crc32

from google.protobuf.duration_pb2 import Duration
from tenure.server.importers.openb_csv import WHOLE_GPU_MILLI, TracePod
from tenure.v1.snapshot_pb2 import Queue, QueueResource

NON_PREEMPTIBLE: Final = frozenset({"LS", "Guaranteed"})
"""Qualities of service that are never interrupted."""

HOUR: Final = 3600


class Team(NamedTuple):
    """A leaf queue."""

    name: str
    department: str
    covered_percent: int
    """How much of the interruptible demand the quota covers, beside all of the other demand."""
    over_quota_weight: float
    preempt_min_hours: int | None


class Department(NamedTuple):
    """A top-level queue."""

    name: str
    reclaim_min_hours: int


DEPARTMENTS: Final = (Department("online", 12), Department("research", 36))

TEAMS: Final = (
    Team("online-search", "online", 150, 1.0, preempt_min_hours=None),
    Team("online-ads", "online", 60, 1.0, preempt_min_hours=48),
    Team("research-vision", "research", 60, 1.0, preempt_min_hours=48),
    Team("research-language", "research", 20, 0.0, preempt_min_hours=None),
)


def team_of(pod: TracePod) -> Team:
    """The team a pod belongs to. Depends on nothing but its name and quality of service."""
    draw = crc32(pod.name.encode()) % 100
    online, research = TEAMS[:2], TEAMS[2:]
    at_home, away = (online, research) if pod.qos in NON_PREEMPTIBLE else (research, online)
    department = at_home if draw < 70 else away
    return department[draw % 2]


def queue_tree(pods: Iterable[TracePod]) -> list[Queue]:
    """Departments and teams with quotas computed from the GPU demand of the given pods."""
    demand = {team.name: [0, 0] for team in TEAMS}
    for pod in pods:
        demand[team_of(pod).name][pod.qos not in NON_PREEMPTIBLE] += pod.gpu_demand_milli
    quotas = {team.name: _quota(team, *demand[team.name]) for team in TEAMS}
    departments = [_department_queue(department, quotas) for department in DEPARTMENTS]
    return departments + [_team_queue(team, quotas[team.name]) for team in TEAMS]


def _quota(team: Team, non_preemptible_milli: int, preemptible_milli: int) -> int:
    milli = non_preemptible_milli + preemptible_milli * team.covered_percent // 100
    return -(-milli // WHOLE_GPU_MILLI) * WHOLE_GPU_MILLI


def _department_queue(department: Department, quotas: dict[str, int]) -> Queue:
    quota = sum(quotas[team.name] for team in TEAMS if team.department == department.name)
    return Queue(
        name=department.name,
        gpu_milli=QueueResource(quota=quota),
        reclaim_min_runtime=Duration(seconds=department.reclaim_min_hours * HOUR),
    )


def _team_queue(team: Team, quota: int) -> Queue:
    queue = Queue(
        name=team.name,
        parent=team.department,
        gpu_milli=QueueResource(quota=quota, over_quota_weight=team.over_quota_weight),
    )
    if team.preempt_min_hours is not None:
        queue.preempt_min_runtime.FromSeconds(team.preempt_min_hours * HOUR)
    return queue
