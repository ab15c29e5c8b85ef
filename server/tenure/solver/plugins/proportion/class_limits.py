"""Limits and quotas of queues for GPUs on nodes of one class (semantics R19.1, R19.2).

They only decide where pods may start. A class is open or closed for a task and its queues as a whole, so an
attempt checks each class once, not each node.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import final

from tenure.solver.model.placement import Placement
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import GPU, UNLIMITED
from tenure.solver.model.workload import Task
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugins.proportion.initial_usage import FIRM, FIRM_CORE
from tenure.solver.plugins.proportion.queue_rules import class_limits
from tenure.solver.plugins.proportion.usage import Usage
from tenure.terms.formatting import count_gpus
from tenure.terms.reasons import ReasonCode

Key = tuple[int, str]
"""A queue and a class."""


@final
class ClassGate:
    """Usage of classes by queues with a limit; follows every move."""

    def __init__(self, context: PluginContext, usage: Usage, paths: Sequence[Sequence[int]]) -> None:
        self._context = context
        self._tasks, self._groups = context.cluster.tasks, context.cluster.pod_groups
        self._names = [queue.facts.name for queue in context.cluster.queues]
        self._kinds, self._paths = usage.kinds, paths
        self._classes = [node.facts.node_class for node in context.cluster.nodes]
        self._bounds: dict[Key, tuple[int, int]] = {
            (queue.index, each.node_class): (each.quota, each.limit)
            for queue in context.cluster.queues
            for each in class_limits(queue)
        }
        self._limited = frozenset([queue for queue, _ in self._bounds])
        """Queues with a limit."""
        self.is_idle = not self._bounds
        """Whether no queue has a limit."""
        self._used: dict[Key, int] = dict.fromkeys(self._bounds, 0)
        self._firm: dict[Key, int] = dict.fromkeys(self._bounds, 0)
        """The non-preemptible part."""
        self._cores: dict[int, dict[int, tuple[str, int]]] = {}
        """Class and GPUs of the core tasks that are counted, by semi-preemptible pod group."""
        self._changed: set[int] = set()
        """Semi-preemptible pod groups with moves since they were counted."""
        self._eligible: dict[int, frozenset[str]] = {}
        """Classes of nodes that a shape selects."""
        for task in context.cluster.tasks if self._bounds else ():
            if task.placement.is_active_allocated:
                self._count(task, task.placement.node, 1)

    def used(self, queue: int) -> tuple[tuple[str, int], ...]:
        """GPUs of a queue by the classes that it has limits for, in thousandths."""
        limits = self._context.cluster.queues[queue].facts.class_limits
        return tuple([(each.node_class, self._used[queue, each.node_class]) for each in limits])

    def on_move(self, index: int, before: Placement, after: Placement) -> None:
        """Count the task where it is now."""
        counted, counts = before.is_active_allocated, after.is_active_allocated
        if counted == counts and before.node == after.node:
            return
        task = self._tasks[index]
        if counted:
            self._count(task, before.node, -1)
        if counts:
            self._count(task, after.node, 1)

    def find_rejection(self, pod_group: int, tasks: Iterable[int]) -> Rejection | None:
        """Rejection of tasks whose nodes are all of closed classes; together, if of one class."""
        if self._limited.isdisjoint(self._paths[pod_group]):
            return None
        pinned: dict[str, tuple[int, int]] = {}
        for index in tasks:
            task = self._tasks[index]
            gpu = self._context.ledger.unplaced_share(task.shape)[GPU]
            if not gpu:
                continue
            eligible, firm = self._eligible_classes(task.shape), self._firm_part(task, gpu)
            if not eligible or "" in eligible:
                continue
            if len(eligible) == 1:
                (name,) = eligible
                before = pinned.get(name, (0, 0))
                pinned[name] = (before[0] + gpu, before[1] + firm)
                continue
            closed = [self._closed(pod_group, name, gpu, firm) for name in sorted(eligible)]
            if None not in closed:
                return closed[0]
        for name in sorted(pinned):
            rejection = self._closed(pod_group, name, *pinned[name])
            if rejection is not None:
                return rejection
        return None

    def allows_placement(self, index: int) -> Callable[[int], Rejection | None] | None:
        """A check of nodes by their class; None: no limit concerns the task."""
        task = self._tasks[index]
        path = self._paths[task.pod_group]
        if self._limited.isdisjoint(path):
            return None
        verdicts: dict[str, Rejection | None] = {"": None}

        def check(node: int) -> Rejection | None:
            name = self._classes[node]
            if name not in verdicts:
                gpu = self._context.ledger.share(task, node)[GPU]
                firm = self._firm_part(task, gpu)
                verdicts[name] = self._closed(task.pod_group, name, gpu, firm) if gpu else None
            return verdicts[name]

        return check

    def _closed(self, pod_group: int, name: str, gpu: int, firm: int) -> Rejection | None:
        for queue in self._paths[pod_group]:
            bounds = self._bounds.get((queue, name))
            if bounds is None:
                continue
            quota, limit = bounds
            most = f"{count_gpus(limit)} of class {name}"
            if limit != UNLIMITED and self._used[queue, name] + gpu > limit:
                detail = f"queue {self._names[queue]} would exceed its limit of {most}"
                return Rejection(ReasonCode.OVER_LIMIT, detail, for_owner=True)
            if firm and quota != UNLIMITED:
                self._recount()
                if self._firm[queue, name] + firm > quota:
                    detail = (
                        "its non-preemptible pods would exceed the quota of queue "
                        f"{self._names[queue]}, {count_gpus(quota)} of class {name}"
                    )
                    return Rejection(ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA, detail, for_owner=True)
        return None

    def _firm_part(self, task: Task, gpu: int) -> int:
        kind = self._kinds[task.pod_group]
        if kind == FIRM_CORE:
            entering, _ = self._context.core_shift(task.pod_group, [task.index])
            return gpu if task.index in entering else 0
        return gpu if kind == FIRM else 0

    def _count(self, task: Task, node: int, sign: int) -> None:
        kind, name = self._kinds[task.pod_group], self._classes[node] if node >= 0 else ""
        if kind == FIRM_CORE:
            self._changed.add(task.pod_group)
        if not name:
            return
        gpu = sign * self._context.ledger.share(task, node)[GPU]
        self._add(self._used, task.pod_group, name, gpu)
        if kind == FIRM:
            self._add(self._firm, task.pod_group, name, gpu)

    def _add(self, sums: dict[Key, int], pod_group: int, name: str, gpu: int) -> None:
        for queue in self._paths[pod_group]:
            if (queue, name) in sums:
                sums[queue, name] += gpu

    def _recount(self) -> None:
        """Count the cores of semi-preemptible pod groups that moved."""
        ledger = self._context.ledger
        for pod_group in self._changed:
            for name, gpu in self._cores.pop(pod_group, {}).values():
                self._add(self._firm, pod_group, name, -gpu)
            core: dict[int, tuple[str, int]] = {}
            for index in self._context.core(pod_group):
                node = ledger.placement(index).node
                name = self._classes[node] if node >= 0 else ""
                core[index] = (name, ledger.share(self._tasks[index], node)[GPU] if name else 0)
                self._add(self._firm, pod_group, *core[index])
            self._cores[pod_group] = core
        self._changed.clear()

    def _eligible_classes(self, shape: TaskShape) -> frozenset[str]:
        """Classes of the nodes that a shape selects; "" is that of nodes without one."""
        found = self._eligible.get(shape.index)
        if found is None:
            selects, nodes = shape.constraints.selects, self._context.cluster.nodes
            offered = [node for node in nodes if node.allocatable[GPU] and selects(node.facts.labels)]
            found = self._eligible[shape.index] = frozenset([node.facts.node_class for node in offered])
        return found
