"""Pods that can replace those that no longer exist: a relocated pod returns with another uid."""

from collections.abc import Container, Iterator

from tenure.solver.framework.session import Session
from tenure.solver.model.caller_state import InFlightDecision
from tenure.solver.model.placement import TaskStatus


class _Ordered:
    """Tasks of a subgroup that no reservation names, in order."""

    def __init__(self, tasks: list[int]) -> None:
        self.tasks = tasks
        self.first = 0
        """No task before this position is pending."""


class Successors:
    """Finds them by the reservations that they can have."""

    def __init__(self, session: Session, named: Container[int]) -> None:
        """`named`: tasks that a reservation names; they replace no other."""
        self._session = session
        self._placements = session.ledger.placements
        self._named = named
        self._ordered: dict[tuple[int, str], _Ordered] = {}
        """By pod group and subgroup."""

    def restart(self) -> None:
        """Begin with the first ones again, because placements were undone."""
        for ordered in self._ordered.values():
            ordered.first = 0

    def of(self, reserve: InFlightDecision) -> Iterator[int]:
        """Pending tasks of its pod group and subgroup, in order."""
        key = reserve.pod_group, reserve.sub_group
        if key not in self._ordered:
            self._ordered[key] = _Ordered(self._session.order.tasks(self._free(*key)))
        ordered = self._ordered[key]
        tasks = ordered.tasks
        while ordered.first < len(tasks) and not self._is_pending(tasks[ordered.first]):
            ordered.first += 1
        for at in range(ordered.first, len(tasks)):
            if self._is_pending(tasks[at]):
                yield tasks[at]

    def _is_pending(self, task: int) -> bool:
        return self._placements[task].status is TaskStatus.PENDING

    def _free(self, pod_group: int, sub_group: str) -> list[int]:
        """Tasks of a subgroup, or of all, that may start: it can reach its minimum at every level (R3.20).

        Tasks that still terminate count toward the minimum.
        """
        group, there = self._session.cluster.pod_groups[pod_group], dict[int, int]()
        for pod_set in group.pod_sets:
            status = [self._placements[task].status for task in pod_set.tasks]
            there[pod_set.index] = sum(each.is_alive or each.is_active_used for each in status)
        below = {pod_set.index for pod_set in group.root.below_minimum(there)}
        named = [pod_set.tasks for pod_set in group.pod_sets if pod_set.name == sub_group]
        tasks, facts = named[0] if named else group.tasks, self._session.cluster.tasks
        free = [task for task in tasks if task not in self._named and task not in self._session.blocked]
        return [task for task in free if facts[task].pod_set not in below]
