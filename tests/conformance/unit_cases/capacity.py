"""Recorded calls of the capacity policy: limits, and quotas for non-preemptible jobs."""

from collections.abc import Mapping
from typing import NamedTuple

from tenure.solver.framework.ledger import Ledger
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import SHARE_NAMES, Share
from tenure.solver.plugins.proportion.plugin import over_limit, over_quota

from tests.conformance.cases import Json
from tests.conformance.unit_cases.queues import QueueTable, queue_table
from tests.conformance.unit_cases.shares import ZERO, add, quantities
from tests.conformance.unit_cases.values import Adapter, Results
from tests.conformance.unit_cases.workloads import cluster_of


class Policy(NamedTuple):
    """A capacity policy of the reference."""

    table: QueueTable
    max_gpu_memory_mib: int


def _new(_: None, queues: Mapping[str, Json], max_gpu_memory_mib: int) -> Results:
    return (Policy(queue_table(queues), max_gpu_memory_mib),)


def _tasks_to_allocate(_: None, job: Json, *_order: object) -> Results:
    """All tasks of the job: recorded jobs have one task in one pod set."""
    return ([task for part in job["PodSets"].values() for task in part["podInfos"].values()],)


def _job_over_capacity(policy: Policy, job: Json, _tasks: list[Json]) -> Results:
    demand = _job_demand(policy, job)
    return _verdict(_limit(policy, job, demand) or _quota(policy, job, demand))


def _job_over_quota(policy: Policy, job: Json, _tasks: list[Json]) -> Results:
    return _verdict(_quota(policy, job, _job_demand(policy, job)))


def _task_over_capacity(policy: Policy, _task: Json, job: Json, node: Json) -> Results:
    cluster = cluster_of([job], policy.table.queues, node.get("MemoryOfEveryGpuOnNode", 100))
    (task,) = cluster.tasks
    demand = Ledger(cluster).share(task, 0)
    return _verdict(_limit(policy, job, demand) or _quota(policy, job, demand))


def _results_over_limit(policy: Policy, demand: Json, job: Json) -> Results:
    return _verdict(_limit(policy, job, quantities(demand)))


def _results_over_quota(policy: Policy, demand: Json, job: Json) -> Results:
    return _verdict(_quota(policy, job, quantities(demand)))


def _is_over_limit(_: None, queue: Json, demand: Json) -> Results:
    table = queue_table({"queue": queue})
    return _exceeded_resource(over_limit(table.queues, table.usage.allocated, quantities(demand)))


def _is_over_quota(_: None, queue: Json, demand: Json) -> Results:
    table = queue_table({"queue": queue})
    return _exceeded_resource(over_quota(table.queues, table.usage.non_preemptible, quantities(demand)))


def _job_demand(policy: Policy, job: Json) -> Share:
    """Requests of the job's tasks before a node is known (semantics R1.18 b)."""
    cluster = cluster_of([job], policy.table.queues, policy.max_gpu_memory_mib)
    ledger, total = Ledger(cluster), ZERO
    for task in cluster.tasks:
        total = add(total, ledger.share_on(task.shape, cluster.max_gpu_memory_mib))
    return total


def _limit(policy: Policy, job: Json, demand: Share) -> Rejection | None:
    return over_limit(policy.table.path_up(job["Queue"]), policy.table.usage.allocated, demand)


def _quota(policy: Policy, job: Json, demand: Share) -> Rejection | None:
    (group,) = cluster_of([job], policy.table.queues).pod_groups
    if group.is_preemptible:
        return None
    return over_quota(policy.table.path_up(job["Queue"]), policy.table.usage.non_preemptible, demand)


def _verdict(rejection: Rejection | None) -> Results:
    return ({"IsSchedulable": rejection is None},)


def _exceeded_resource(rejection: Rejection | None) -> Results:
    """Whether a limit is exceeded, and the resource that the rejection names."""
    if rejection is None:
        return False, ""
    (resource,) = (name for name in SHARE_NAMES if f" {name} " in rejection.detail)
    return True, {"memory": "Memory"}.get(resource, resource)


CAPACITY_CALLS: dict[str, Adapter] = {
    "New": _new,
    "podgroup_info.GetTasksToAllocate": _tasks_to_allocate,
    "CapacityPolicy.IsJobOverQueueCapacity": _job_over_capacity,
    "CapacityPolicy.IsNonPreemptibleJobOverQuota": _job_over_quota,
    "CapacityPolicy.IsTaskAllocationOnNodeOverCapacity": _task_over_capacity,
    "CapacityPolicy.resultsOverLimit": _results_over_limit,
    "CapacityPolicy.resultsWithNonPreemptibleOverQuota": _results_over_quota,
    "isOverLimit": _is_over_limit,
    "isAllocatedNonPreemptibleOverQuota": _is_over_quota,
}
