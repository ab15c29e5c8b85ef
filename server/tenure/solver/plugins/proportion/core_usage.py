"""Usage of the cores of semi-preemptible pod groups, which is non-preemptible (semantics R8.30, R8.32).

The core follows from the placements of all tasks of the pod group. It is computed when non-preemptible usage
is read, for pod groups that moved only, so that moves cost nothing more and undone moves leave no trace.
"""

from collections.abc import Collection

from tenure.solver.model.resources import Share
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugins.proportion.initial_usage import FIRM, FIRM_CORE
from tenure.solver.plugins.proportion.usage import Usage


class CoreUsage:
    """Adds the usage of cores to the non-preemptible usage of queues."""

    def __init__(self, context: PluginContext, usage: Usage) -> None:
        self._context = context
        self._usage = usage
        self._counted: dict[int, dict[int, Share]] = {group: {} for group in usage.changed_cores}
        """Counted shares by pod group and task."""

    def recount(self) -> None:
        """Update the usage of all cores that may have changed."""
        for pod_group in self._usage.changed_cores:
            self._recount(pod_group)
        self._usage.changed_cores.clear()

    def firm_demand(self, group: PodGroup, tasks: Collection[int], demand: Share) -> Share | None:
        """Part of the demand of these tasks that must be within quota, because it cannot be reclaimed.

        None: no part. For a semi-preemptible pod group, the growth of its core: usually the whole demand
        until its minimum is met, and nothing afterwards.
        """
        kind = self._usage.kinds[group.index]
        if kind != FIRM_CORE:
            return demand if kind == FIRM else None
        entering, leaving = self._context.core_shift(group.index, tasks)
        if not entering:
            return None
        cpu, memory, gpu = demand if len(entering) == len(tasks) else self._context.demand(entering)
        for task in leaving:
            share = self._share(task)
            cpu, memory, gpu = cpu - share[0], memory - share[1], gpu - share[2]
        return (cpu, memory, gpu)

    def _recount(self, pod_group: int) -> None:
        counted = self._counted[pod_group]
        core = {task: self._share(task) for task in self._context.core(pod_group)}
        for task, share in counted.items():
            if core.get(task) != share:
                self._usage.enter_core(task, share, -1)
        for task, share in core.items():
            if counted.get(task) != share:
                self._usage.enter_core(task, share, 1)
        self._counted[pod_group] = core

    def _share(self, task: int) -> Share:
        ledger = self._context.ledger
        return ledger.share(self._context.cluster.tasks[task], ledger.placement(task).node)
