"""Next tasks of a pod group to place, and first tasks to evict (semantics R3.20, R5.25)."""

from collections.abc import Container, Sequence
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import Share
from tenure.solver.model.workload import Counts, Member, PodGroup, PodSet, SubGroupSet

SCHEDULABLE: Final = (False, *(status.is_alive and status is not TaskStatus.GATED for status in TaskStatus))
"""By status: whether a task is alive and not gated."""


class _Found:
    """Cached results for a pod group."""

    def __init__(self, version: int, attempt: list[int], request: Share, is_ready: bool) -> None:
        self.version = version
        """Version of the pod group in the ledger at that time."""
        self.attempt = attempt
        self.request = request
        self.is_ready = is_ready


class GangPlanner:
    """Walks subgroup trees: satisfied, below, above; in plugin order."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ledger = session.ledger
        self._order = session.order
        self._found: list[_Found | None] = [None] * len(session.cluster.pod_groups)
        """Cached results by pod group."""
        self._ordered: dict[int, list[int]] = {}
        self._blocked = session.blocked

    def close(self) -> None:
        """Drop cached results."""
        self._found.clear()
        self._ordered.clear()

    def is_ready(self, pod_group: int) -> bool:
        """Whether enough tasks are alive and not gated (semantics R1.54)."""
        return self._find(pod_group).is_ready

    def blocked_reason(self, pod_group: int) -> Rejection | None:
        """Rejection for its first blocked task, if any."""
        if not self._blocked:
            return None
        tasks = self._session.cluster.pod_groups[pod_group].tasks
        return next((self._blocked[task] for task in tasks if task in self._blocked), None)

    def is_satisfied(self, pod_group: int) -> bool:
        """Whether the gang's minimum is used, in the subgroup-aware sense of R1.55."""
        return self._session.cluster.pod_groups[pod_group].root.is_met(self._ledger.active_used)

    def has_pending(self, pod_group: int) -> bool:
        """Whether any task is pending."""
        return self._ledger.pending[pod_group] > 0

    def pending(self) -> list[int]:
        """Pod groups with pending tasks, in order."""
        return [index for index, tasks in enumerate(self._ledger.pending) if tasks]

    def tasks_to_allocate(self, pod_group: int) -> list[int]:
        """Tasks of the next attempt to place the pod group, in order (semantics R3.20).

        The core while the minimum is not met, then one task at a time.
        """
        return self._find(pod_group).attempt

    def request(self, pod_group: int) -> Share:
        """Request of these tasks to their queue."""
        return self._find(pod_group).request

    def _find(self, pod_group: int) -> _Found:
        """Results for the placements of its tasks, updated if any moved since."""
        version, found = self._ledger.versions[pod_group], self._found[pod_group]
        if found is None or found.version != version:
            tasks = self.next_tasks(pod_group, ())
            is_ready = self._ready(self._session.cluster.pod_groups[pod_group].root)
            found = self._found[pod_group] = _Found(
                version, tasks, self._session.ledger.demand(tasks), is_ready
            )
        return found

    def next_tasks(self, pod_group: int, evicted: Container[int]) -> list[int]:
        """Next tasks in a simulation, in which `evicted` tasks may be placed again (semantics R1.43).

        Of a pod group that cannot have its minimum, no pending task starts.
        """
        root = self._session.cluster.pod_groups[pod_group].root
        tasks = list(self._next(root, evicted))
        if not evicted or not self.has_pending(pod_group):
            return tasks
        if self._can_run(root, self._ledger.active_allocated, evicted):
            return tasks
        return [task for task in tasks if task in evicted]

    def active_tasks(self, pod_set: PodSet) -> list[int]:
        """Allocated or pipelined tasks, first in task order."""
        placements = self._ledger.placements
        return [task for task in self._in_order(pod_set) if placements[task].is_active_allocated]

    def evictable_tasks(self, pod_set: PodSet) -> list[int]:
        """Active tasks that may be victims: those with the placement from before the cycle.

        A cycle does not evict what it placed or relocate what it relocated, unless the profile allows it.
        Tasks of in-flight groups are never victims.
        """
        if len(pod_set.tasks) == 1:
            return [pod_set.tasks[0]] if self._is_evictable(pod_set.tasks[0]) else []
        active = self.active_tasks(pod_set)
        if self._session.reserved_tasks:
            active = [task for task in active if task not in self._session.reserved_tasks]
        if self._session.options.allow_same_cycle_eviction:
            return active
        tasks, placements = self._session.cluster.tasks, self._ledger.placements
        return [task for task in active if placements[task] == tasks[task].placement]

    def has_evictable(self, group: PodGroup) -> bool:
        """Whether the pod group has evictable tasks."""
        if len(group.pod_sets) == 1:
            return self._has_evictable(group.pod_sets[0])
        active = self._ledger.active_allocated
        return any(active[s.index] and self._has_evictable(s) for s in group.pod_sets)

    def _has_evictable(self, pod_set: PodSet) -> bool:
        if len(pod_set.tasks) == 1:
            return self._is_evictable(pod_set.tasks[0])
        return bool(self.evictable_tasks(pod_set))

    def _is_evictable(self, task: int) -> bool:
        """Whether a task of a pod set may be a victim."""
        placement = self._ledger.placements[task]
        if not placement.is_active_allocated or task in self._session.reserved_tasks:
            return False
        before = self._session.cluster.tasks[task].placement
        is_where_it_was = placement is before or placement == before
        return is_where_it_was or self._session.options.allow_same_cycle_eviction

    def _next(self, member: Member, evicted: Container[int]) -> list[int]:
        active = self._ledger.active_allocated
        if isinstance(member, PodSet):
            missing = member.min_available - active[member.index]
            return self._allocatable(member, evicted, max(missing, 1))
        if member.is_lone:
            return self._next(member.members[0], evicted)
        if member.is_met(active):
            for inner in self._order.members(member.members, active):
                tasks = self._next(inner, evicted)
                if not self._can_run(inner, active, evicted):
                    tasks = [task for task in tasks if task in evicted]
                if tasks:
                    return tasks
            return []
        tasks = []
        members = self._order.members(member.members, active)
        if member.required < len(members):
            members = [inner for inner in members if self._can_run(inner, active, evicted)]
        for inner in members[: member.required]:
            if not inner.is_met(active):
                tasks.extend(self._next(inner, evicted))
        return tasks

    def _can_run(self, member: Member, active: Counts, evicted: Container[int]) -> bool:
        """Whether the member's minimum is met, or can be by its tasks (stricter than R3.21)."""
        if isinstance(member, PodSet):
            missing = member.min_available - active[member.index]
            return missing <= 0 or len(self._allocatable(member, evicted, missing)) == missing
        return sum(self._can_run(inner, active, evicted) for inner in member.members) >= member.required

    def _allocatable(self, pod_set: PodSet, evicted: Container[int], most: int) -> list[int]:
        """Pending tasks, first in task order, at most `most`."""
        placements, blocked = self._ledger.placements, self._blocked
        tasks = []
        for task in self._in_order(pod_set):
            status = placements[task].status
            if status is TaskStatus.PENDING:
                waits = task not in blocked
            else:
                waits = status is TaskStatus.RELEASING and task in evicted
            if waits:
                tasks.append(task)
                if len(tasks) == most:
                    break
        return tasks

    def _in_order(self, pod_set: PodSet) -> Sequence[int]:
        """All tasks of the pod set in task order, which does not depend on moves."""
        if len(pod_set.tasks) < 2:
            return pod_set.tasks
        ordered = self._ordered.get(pod_set.index)
        if ordered is None:
            ordered = self._ordered[pod_set.index] = self._order.tasks(list(pod_set.tasks))
        return ordered

    def _ready(self, member: Member) -> bool:
        if isinstance(member, SubGroupSet):
            ready = 0
            for inner in member.members:
                ready += self._ready(inner)
            return ready >= member.required
        placements, blocked = self._ledger.placements, self._blocked
        usable = 0
        for task in member.tasks:
            if SCHEDULABLE[placements[task].status] and not (blocked and task in blocked):
                usable += 1
        return usable >= member.min_available
