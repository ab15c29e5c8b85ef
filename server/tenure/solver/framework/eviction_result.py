"""Result of an eviction: whether the preemptor received the capacity.

An eviction and the start that follows from it are cycles apart, so each cycle compares records with the
snapshot:

- Effective: the preemptor runs, and it started after the eviction or has no pending pods.
- Ineffective: the preemptor has pending pods, the victim has no terminating pods, and the preemptor received
  no capacity in this cycle. The victim was not evicted, other pod groups were faster, or the preemptor
  failed.
- Unknown: otherwise, and while a binding of the preemptor is in flight, because it may fail.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import TaskStatus


class EvictionResults:
    """Finds the results of evictions in one cluster. Looks at the tasks of a pod group once."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._statuses: dict[int, frozenset[TaskStatus]] = {}
        """Statuses of the tasks of a pod group in the snapshot."""
        self._reserved: AbstractSet[int] = frozenset()
        self._being_bound: frozenset[int] = frozenset()
        """Pod groups with a reserved task whose binding was decided and is not yet visible."""

    def settle(
        self, reserved_tasks: AbstractSet[int], allocated: AbstractSet[int], record: EvictionRecord
    ) -> EvictionRecord:
        """The record with its result, or unchanged if the result is unknown.

        `allocated` are the pod groups that received capacity in this cycle, so call this after allocate.
        Evictions of this cycle have no result yet.
        """
        if not record.result_pending or record.last_eviction >= self._cluster.now:
            return record
        if record.preemptor in self._bound_groups(reserved_tasks):
            return record
        if self._has_started(record):
            return record._replace(consecutive_failures=0, last_failure=None, result_pending=False)
        has_failed = (
            TaskStatus.PENDING in self._statuses_of(record.preemptor)
            and TaskStatus.RELEASING not in self._statuses_of(record.victim)
            and record.preemptor not in allocated
        )
        if not has_failed:
            return record
        failures = record.consecutive_failures + 1
        return record._replace(
            consecutive_failures=failures, last_failure=self._cluster.now, result_pending=False
        )

    def _has_started(self, record: EvictionRecord) -> bool:
        """By the snapshot, not by decisions of earlier cycles: bindings may fail."""
        statuses = self._statuses_of(record.preemptor)
        if not any(status.is_allocated for status in statuses):
            return False
        start = self._cluster.pod_groups[record.preemptor].facts.last_start
        return (start is not None and start > record.last_eviction) or TaskStatus.PENDING not in statuses

    def _statuses_of(self, pod_group: int) -> frozenset[TaskStatus]:
        statuses = self._statuses.get(pod_group)
        if statuses is None:
            tasks = self._cluster.tasks
            found = [tasks[task].placement.status for task in self._cluster.pod_groups[pod_group].tasks]
            statuses = self._statuses[pod_group] = frozenset(found)
        return statuses

    def _bound_groups(self, reserved_tasks: AbstractSet[int]) -> frozenset[int]:
        if reserved_tasks is not self._reserved:
            tasks = [self._cluster.tasks[task] for task in reserved_tasks]
            binding = [task for task in tasks if task.placement.status is TaskStatus.BINDING]
            bound = frozenset(task.pod_group for task in binding if task.pod_set is not None)
            self._reserved, self._being_bound = reserved_tasks, bound
        return self._being_bound


def pending_by_preemptor(records: Iterable[EvictionRecord]) -> dict[int, list[EvictionRecord]]:
    """Records without a result, by preemptor."""
    found: dict[int, list[EvictionRecord]] = {}
    for record in records:
        if record.result_pending:
            found.setdefault(record.preemptor, []).append(record)
    return found
