"""Orders of pod groups in a queue, of tasks in a pod set, and of members in a subgroup (R3.9-R3.12)."""

from collections.abc import Mapping
from typing import ClassVar, Final

from tenure.solver.model.workload import Counts
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import PodGroupOrder, SubGroupOrder, TaskOrder
from tenure.solver.plugin_api.traits import Traits, Validity


class Priority(PodGroupOrder):
    """Pod groups of higher priority first (semantics R3.9)."""

    TRAITS: ClassVar = Traits(order_keys=Validity.FACTS)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._groups = context.cluster.pod_groups

    def pod_group_key(self, pod_group: int, active: Counts) -> int:
        """Smaller for higher priority."""
        return -self._groups[pod_group].facts.priority


BELOW: Final = 0
AT: Final = 1
ABOVE: Final = 2


class Elastic(PodGroupOrder):
    """Pod groups below their minimum first, pod groups above it last (semantics R3.9, R3.10)."""

    TRAITS: ClassVar = Traits(order_keys=Validity.FACTS)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._groups = context.cluster.pod_groups

    def pod_group_key(self, pod_group: int, active: Counts) -> int:
        """BELOW if a pod set is below its minimum, else ABOVE if a pod set is above it, else AT."""
        state = AT
        for pod_set in self._groups[pod_group].pod_sets:
            count = active[pod_set.index]
            if count < pod_set.min_available:
                return BELOW
            if count > pod_set.min_available:
                state = ABOVE
        return state


class MinimumFirstSubGroups(SubGroupOrder):
    """Subgroups below their threshold first, then members with the smallest part of it (semantics R3.12)."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        pass

    def sub_group_key(self, name: str, count: int, threshold: int) -> tuple[bool, bool, float]:
        """Smaller goes first."""
        if count < threshold:
            return (False, False, 0.0)
        if threshold == 0:
            return (True, True, float(count))
        return (True, False, count / threshold)


class TaskPriority(TaskOrder):
    """Pods with a priority of their own first, higher priorities first (semantics R3.11)."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._tasks = context.cluster.tasks

    def task_key(self, task: int) -> tuple[bool, int]:
        """Smaller goes first."""
        priority = self._tasks[task].facts.priority
        return (priority is None, -(priority or 0))


class LeaderFirst(TaskOrder):
    """The launcher or head of a distributed job first (semantics R3.11)."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._tasks = context.cluster.tasks

    def task_key(self, task: int) -> bool:
        """False, for leaders, goes first."""
        return not self._tasks[task].facts.leader
