"""The order of tasks, and the core of a pod group: the tasks of its minimum. Other tasks are surplus.

Quotas and evictions use the same core. The core of a semi-preemptible pod group is non-preemptible usage of
its queue, its surplus is not (semantics R8.30, R8.32). A victim that keeps its minimum loses surplus only
(R8.31). The core is:

- Of a pod set: the first `min_available` active tasks, in task order.
- Of a subgroup: the cores of the required number of members, the first in subgroup order whose own minimum is
  met. Other members are surplus, including members below their minimum.
- Of a pod group below its minimum: the first `min_available` tasks of every pod set, because it may lack any
  of them.

The core depends on the active tasks only, so undoing a move restores it. Tasks start in task order, so
running tasks stay in the core when others join; only a task that precedes them and starts late replaces one.
A snapshot has no start times of pods, which would otherwise decide (semantics R8.35).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from tenure.solver.framework.chains import Chains
from tenure.solver.framework.ledger import Ledger
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.workload import Counts, Member, PodGroup, PodSet, Task

TasksByPodSet = Mapping[int, Sequence[int]]
"""Tasks by pod set, in task order."""


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
            key = self._task_keys[task] = (*parts, facts.facts.creation, facts.facts.uid)
        return key

    def _member_key(self, member: Member, active: Counts) -> tuple[Any, ...]:
        if isinstance(member, PodSet):
            count, threshold = active[member.index], member.min_available
        else:
            count = sum(inner.is_met(active) for inner in member.members)
            threshold = member.required
        return (*self._chains.sub_group_key(member.name, count, threshold), member.name)


class Cores:
    """Computes cores, and how they change when tasks are placed."""

    def __init__(
        self,
        pod_groups: PersistentVector[PodGroup],
        ledger: Ledger,
        order: Order,
        fair_share_actions: AbstractSet[str],
    ) -> None:
        """`fair_share_actions`: names of the actions by which other queues reclaim resources."""
        self._pod_groups = pod_groups
        self._ledger = ledger
        self._order = order
        self._fair_share_actions = fair_share_actions

    def current(self, pod_group: int) -> frozenset[int]:
        """The core in the current state of the ledger."""
        return self.among(pod_group, self._present_tasks(pod_group, frozenset(), frozenset()))

    def among(self, pod_group: int, tasks_by_pod_set: TasksByPodSet) -> frozenset[int]:
        """The core if these tasks, given for all pod sets of the pod group, were the active tasks."""
        group = self._pod_groups[pod_group]
        counts = {pod_set: len(tasks) for pod_set, tasks in tasks_by_pod_set.items()}
        if group.root.is_met(counts):
            return frozenset(self._minimum(group.root, tasks_by_pod_set, counts))
        return frozenset(
            task for s in group.pod_sets for task in tasks_by_pod_set[s.index][: s.min_available]
        )

    def shift(self, pod_group: int, tasks: Collection[int]) -> tuple[frozenset[int], frozenset[int]]:
        """Tasks that enter the core because these tasks are active, and the tasks that they replace.

        The result is the same before and after they are placed.
        """
        given, none = frozenset(tasks), frozenset[int]()
        without = self.among(pod_group, self._present_tasks(pod_group, none, given))
        beside = self.among(pod_group, self._present_tasks(pod_group, given, none))
        return beside - without, without - beside

    def has_firm_request(self, pod_group: int, tasks: Collection[int]) -> bool:
        """Whether any of these tasks must be within quota, because it cannot be reclaimed (R4.61)."""
        group = self._pod_groups[pod_group]
        if group.is_firm(self._fair_share_actions):
            return True
        return group.is_semi_preemptible and bool(self.shift(pod_group, tasks)[0])

    def _present_tasks(self, pod_group: int, also: frozenset[int], but: frozenset[int]) -> TasksByPodSet:
        """The active tasks and those of `also`, without those of `but`."""
        placements = self._ledger.placements

        def holds(task: int) -> bool:
            return task in also or (task not in but and placements[task].is_active_allocated)

        return {
            pod_set.index: self._order.tasks([task for task in pod_set.tasks if holds(task)])
            for pod_set in self._pod_groups[pod_group].pod_sets
        }

    def _minimum(self, member: Member, tasks_by_pod_set: TasksByPodSet, counts: Counts) -> list[int]:
        """The core of a member whose minimum is met."""
        if isinstance(member, PodSet):
            return list(tasks_by_pod_set[member.index][: member.min_available])
        met = [inner for inner in member.members if inner.is_met(counts)]
        cores = {inner.name: self._minimum(inner, tasks_by_pod_set, counts) for inner in met}
        spare = len(met) - member.required
        if spare > 0:
            kept = {task for core in cores.values() for task in core}
            left = {
                pod_set: sum(task in kept for task in tasks) for pod_set, tasks in tasks_by_pod_set.items()
            }
            running = [inner.name for inner in self._order.members(met, left) if cores[inner.name]]
            cores.update({name: [] for name in running[-spare:]})
        return [task for core in cores.values() for task in core]
