"""Converts recorded pod groups to Tenure's pod groups, on one node with capacity for all of them."""

from collections.abc import Iterable, Iterator
from typing import Any

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.facts import NodeFacts, PodGroupFacts, TaskFacts
from tenure.solver.model.node import Node
from tenure.solver.model.placement import NOWHERE, Placement, TaskStatus
from tenure.solver.model.queue import Queue
from tenure.solver.model.resources import WHOLE_GPU, GpuRequest
from tenure.solver.model.workload_parts import Preemptibility, SubGroupFacts, TaskShape
from tenure.solver.resolution.reference_resolution import resolve_workloads

from tests.conformance.cases import Json
from tests.conformance.conversion.times import NOW_NS
from tests.conformance.conversion.workload import POD_STATUS

PREEMPTIBILITY = {
    "": Preemptibility.NON_PREEMPTIBLE,
    "preemptible": Preemptibility.PREEMPTIBLE,
    "non-preemptible": Preemptibility.NON_PREEMPTIBLE,
}
"""A recorded pod group contains the resolved value; the zero value is non-preemptible."""


def cluster_of(jobs: Iterable[Json], queues: tuple[Queue, ...], gpu_memory_mib: int = 100) -> Cluster:
    """Build a cluster with the jobs. Its one node has GPUs with the given memory."""
    jobs = list(jobs)
    recorded = [(job, *part) for job in jobs for part in _tasks(job)]
    shapes = tuple(_shape(index, task) for index, (_, _, task) in enumerate(recorded))
    groups, tasks, doubts, _, _ = resolve_workloads(
        [_pod_group(job) for job in jobs],
        [
            TaskFacts(
                uid=task["UID"],
                pod_group=job_key(job),
                shape=shape,
                placement=_placement(task),
                sub_group=part,
            )
            for (job, part, task), shape in zip(recorded, shapes, strict=True)
        ],
        queues,
    )
    node = Node(
        index=0,
        facts=NodeFacts(name="node", labels={}),
        allocatable=(10**9, 10**15, 10**9, 10**6),
        gpu_memory_mib=gpu_memory_mib,
        gpu_memory_known=True,
    )
    return Cluster(NOW_NS, (node,), queues, groups, tasks, shapes, warnings=doubts)


def job_key(job: Json) -> str:
    """Return the uid of a recorded job, or its name if it has no uid."""
    return str(job.get("UID") or job["Name"])


def _tasks(job: Json) -> Iterator[tuple[str, Json]]:
    for name, pod_set in job.get("PodSets", {}).items():
        for task in pod_set.get("podInfos", {}).values():
            yield name, task


def _pod_group(job: Json) -> PodGroupFacts:
    parts = [(name, pod_set.get("minAvailable", 0)) for name, pod_set in job.get("PodSets", {}).items()]
    return PodGroupFacts(
        uid=job_key(job),
        queue_name=job["Queue"],
        priority=job.get("Priority", 0),
        preemptibility=PREEMPTIBILITY[job.get("Preemptibility", "")],
        sub_groups=tuple(SubGroupFacts(name, min_member=minimum) for name, minimum in parts),
        last_start=job.get("LastStartTimestamp"),
    )


def _placement(task: Json) -> Placement:
    status = TaskStatus(POD_STATUS[task["Status"]])
    return Placement(status, 0 if status.is_active_used else NOWHERE)


def _shape(index: int, task: Json) -> TaskShape:
    vector: dict[str, Any] = task.get("ResReqVector", {})
    cpu, memory = round(vector.get("cpu_milli", 0)), round(vector.get("memory_bytes", 0))
    gpu = _gpu(task.get("GpuRequirement", {}))
    whole = 0 if gpu.is_shared else gpu.devices * WHOLE_GPU
    return TaskShape(index, f"shape-{index}", (cpu, memory, whole, 1), gpu)


def _gpu(requirement: Json) -> GpuRequest:
    portion, memory = requirement.get("portion", 0), requirement.get("gpuMemory", 0)
    if not portion and not memory:
        return GpuRequest()
    return GpuRequest(requirement["count"], round(portion * WHOLE_GPU), memory)
