"""Rows of the openb trace as messages, with a queue tree that the trace lacks.

There are two departments with two teams each. The department of a pod follows from its quality of service,
the team from a checksum of its name, so that every team has pods of high and low priority. The quota of a
team covers its non-preemptible pods and a part of the others that differs by team: some teams are within
their quota and some are above. `docs/use/import.md` has the reasons.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple
from zlib import crc32

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.cli.importers.openb_csv import WHOLE_GPU_MILLI, TraceNode, TracePod
from tenure.simulator.jobs import GPU_KIND_LABEL
from tenure.v1.resources_pb2 import GpuRequest, Resources
from tenure.v1.snapshot_pb2 import (
    POD_STATUS_PENDING,
    PREEMPTIBILITY_NON_PREEMPTIBLE,
    PREEMPTIBILITY_PREEMPTIBLE,
    SELECTOR_OPERATOR_IN,
    Node,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodGroup,
    PodShape,
    Queue,
    QueueResource,
)

NON_PREEMPTIBLE: Final = frozenset({"LS", "Guaranteed"})
"""Qualities of service of non-preemptible pods."""

HOUR: Final = 3600


class Team(NamedTuple):
    """A leaf queue."""

    name: str
    department: str
    covered_percent: int
    """Part of the preemptible demand that the quota covers, beside all other demand."""
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
    """Team of a pod, from its name and quality of service."""
    draw = crc32(pod.name.encode()) % 100
    online, research = TEAMS[:2], TEAMS[2:]
    at_home, away = (online, research) if pod.qos in NON_PREEMPTIBLE else (research, online)
    department = at_home if draw < 70 else away
    return department[draw % 2]


def queue_tree(pods: Iterable[TracePod]) -> list[Queue]:
    """Departments and teams, with quotas from the GPU demand of the pods."""
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


EPOCH_SECONDS: Final = 1_672_531_200
"""2023-01-01T00:00:00Z, second 0 of the trace."""

HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
POD_SLOTS: Final = 110
"""Default pods per node in Kubernetes."""
MIB: Final = 1024 * 1024

GPU_MEMORY_MIB: Final = {
    "P100": 16 * 1024,
    "V100M16": 16 * 1024,
    "V100M32": 32 * 1024,
    "T4": 16 * 1024,
    "A10": 24 * 1024,
    "G2": 24 * 1024,
    "G3": 80 * 1024,
}
"""Nominal memory of one GPU by model. G2 and G3 are anonymous in the trace; their values are assumptions."""

PRIORITY: Final = {"BE": 50, "Burstable": 75, "LS": 100, "Guaranteed": 125}


def timestamp(trace_seconds: int) -> Timestamp:
    """Time of the trace as a timestamp."""
    return Timestamp(seconds=EPOCH_SECONDS + trace_seconds)


def node(row: TraceNode) -> Node:
    """The node, labeled with its GPU model; memory of an unknown model is omitted."""
    memory_mib = GPU_MEMORY_MIB.get(row.model, 0) if row.gpu else 0
    return Node(
        name=row.sn,
        labels={HOSTNAME_LABEL: row.sn, GPU_KIND_LABEL: row.model},
        allocatable=Resources(
            cpu_milli=row.cpu_milli,
            memory_bytes=row.memory_mib * MIB,
            gpu_milli=row.gpu * WHOLE_GPU_MILLI,
            pods=POD_SLOTS,
        ),
        gpu_memory_mib=memory_mib // 100 * 100,
    )


def pod_group(row: TracePod) -> PodGroup:
    """Pod group of a pod in the queue of its team, not started."""
    protected = row.qos in NON_PREEMPTIBLE
    return PodGroup(
        uid=row.name,
        name=row.name,
        namespace="openb",
        queue=team_of(row).name,
        priority=PRIORITY[row.qos],
        preemptibility=PREEMPTIBILITY_NON_PREEMPTIBLE if protected else PREEMPTIBILITY_PREEMPTIBLE,
        min_member=1,
        creation_time=timestamp(row.creation_time),
    )


def pod(row: TracePod) -> Pod:
    """The pod, pending."""
    return Pod(
        uid=row.name,
        name=row.name,
        pod_group=row.name,
        shape=shape_id(row),
        status=POD_STATUS_PENDING,
        creation_time=timestamp(row.creation_time),
    )


def shapes(rows: Iterable[TracePod]) -> list[PodShape]:
    """One shape for each distinct request, by ID."""
    distinct = {shape_id(row): row for row in rows}
    return [_shape(id, distinct[id]) for id in sorted(distinct)]


def shape_id(row: TracePod) -> str:
    """Request of a pod as text: `6000m-12288Mi-1x460-P100|T4`."""
    parts = [f"{row.cpu_milli}m", f"{row.memory_mib}Mi"]
    if row.num_gpu:
        parts.append(f"{row.num_gpu}x{row.gpu_milli}")
    return "-".join([*parts, *filter(None, ["|".join(row.gpu_models)])])


def _shape(id: str, row: TracePod) -> PodShape:
    shape = PodShape(id=id, requests=Resources(cpu_milli=row.cpu_milli, memory_bytes=row.memory_mib * MIB))
    if row.num_gpu:
        shape.gpu.CopyFrom(_gpu_request(row))
    if row.gpu_models:
        models = NodeSelectorRequirement(
            key=GPU_KIND_LABEL, operator=SELECTOR_OPERATOR_IN, values=row.gpu_models
        )
        shape.node_affinity.append(NodeSelectorTerm(requirements=[models]))
    return shape


def _gpu_request(row: TracePod) -> GpuRequest:
    if row.gpu_milli == WHOLE_GPU_MILLI:
        return GpuRequest(devices=row.num_gpu)
    return GpuRequest(devices=row.num_gpu, portion_milli=row.gpu_milli)
