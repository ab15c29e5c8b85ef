"""Order of the tasks of a pod set and of the members of a subgroup; reversed for evictions."""

from collections.abc import Iterable
from typing import Any

from tenure.solver.framework.chains import Chains
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.workload import Counts, Member, PodSet, Task


class Order:
    """Sorts by the keys of all plugins, so it must not be used before the chains are filled."""

    def __init__(self, tasks: PersistentVector[Task], chains: Chains) -> None:
        self._tasks = tasks
        self._chains = chains
        self._task_keys: dict[int, tuple[Any, ...]] = {}

    def tasks(self, tasks: list[int]) -> list[int]:
        """Tasks of one pod set in the order of placement (semantics R3.11). Sorts the list in place."""
        if len(tasks) > 1:
            tasks.sort(key=self._task_key)
        return tasks

    def members(self, members: Iterable[Member], active: Counts) -> list[Member]:
        """Members of a subgroup in the order of placement, by numbers of active tasks (semantics R3.12)."""
        ordered = list(members)
        if len(ordered) > 1:
            ordered.sort(key=lambda member: self._member_key(member, active))
        return ordered

    def _task_key(self, task: int) -> tuple[Any, ...]:
        key = self._task_keys.get(task)
        if key is None:
            facts = self._tasks[task]
            parts = self._chains.task_key(task)
            key = self._task_keys[task] = (*parts, facts.creation, facts.uid)
        return key

    def _member_key(self, member: Member, active: Counts) -> tuple[Any, ...]:
        if isinstance(member, PodSet):
            count, threshold = active[member.index], member.min_available
        else:
            count = sum(inner.is_met(active) for inner in member.members)
            threshold = member.required
        return (*self._chains.sub_group_key(member.name, count, threshold), member.name)
