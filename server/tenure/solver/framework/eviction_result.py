"""Result of an eviction: whether the preemptor received the capacity.

An eviction and the start that follows from it are cycles apart, so each cycle compares records with the
snapshot:

- Effective: the preemptor runs, and it started after the eviction or has no pending pods.
- Ineffective: the preemptor has pending pods, the victim has no terminating pods, and the preemptor received
  no capacity in this cycle. The victim was not evicted, other pod groups were faster, or the preemptor
  failed.
- Unknown: otherwise, and while a binding of the preemptor is in flight, because it may fail.
"""

from collections.abc import Set as AbstractSet

from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import TaskStatus


def settle(
    cluster: Cluster, reserved_tasks: AbstractSet[int], allocated: AbstractSet[int], record: EvictionRecord
) -> EvictionRecord:
    """The record with its result, or unchanged if the result is unknown.

    `allocated` are the pod groups that received capacity in this cycle, so call this after allocate.
    Evictions of this cycle have no result yet.
    """
    if not record.result_pending or record.last_eviction >= cluster.now:
        return record
    if _is_being_bound(cluster, reserved_tasks, record.preemptor):
        return record
    if _has_started(cluster, record):
        return record._replace(consecutive_failures=0, last_failure=None, result_pending=False)
    has_failed = (
        _has(cluster, record.preemptor, TaskStatus.PENDING)
        and not _has(cluster, record.victim, TaskStatus.RELEASING)
        and record.preemptor not in allocated
    )
    if not has_failed:
        return record
    failures = record.consecutive_failures + 1
    return record._replace(consecutive_failures=failures, last_failure=cluster.now, result_pending=False)


def _has_started(cluster: Cluster, record: EvictionRecord) -> bool:
    """By the snapshot, not by decisions of earlier cycles: bindings may fail."""
    preemptor = cluster.pod_groups[record.preemptor]
    statuses = [cluster.tasks[task].placement.status for task in preemptor.tasks]
    if not any(status.is_allocated for status in statuses):
        return False
    start = preemptor.facts.last_start
    return (start is not None and start > record.last_eviction) or TaskStatus.PENDING not in statuses


def _is_being_bound(cluster: Cluster, reserved_tasks: AbstractSet[int], pod_group: int) -> bool:
    """Whether a binding of a task was decided and is not yet visible."""
    tasks = reserved_tasks & set(cluster.pod_groups[pod_group].tasks)
    return any(cluster.tasks[task].placement.status is TaskStatus.BINDING for task in tasks)


def _has(cluster: Cluster, pod_group: int, status: TaskStatus) -> bool:
    tasks = cluster.pod_groups[pod_group].tasks
    return any(cluster.tasks[task].placement.status is status for task in tasks)
