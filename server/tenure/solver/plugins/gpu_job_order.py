"""Order of victims by their size (semantics R14.36-R14.38)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

from tenure.solver.model.placement import NOWHERE, TaskStatus
from tenure.solver.model.resources import GPU
from tenure.solver.model.workload import Counts, Task
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import VictimOrder
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.traits import Traits

NAME: Final = "gpujoborder"
LARGER_FIRST: Final = "evict-larger-first"
SMALLER_FIRST: Final = "evict-smaller-first"
_SIZES: Final = 1 << 48
"""More than the thousandths of a GPU that any pod group has, also with pending pods that fit nowhere."""


def larger_first(text: str) -> bool:
    """Whether larger victims yield first. Raises ValueError."""
    if text not in (LARGER_FIRST, SMALLER_FIRST):
        raise ValueError(f"{text!r} is neither {LARGER_FIRST} nor {SMALLER_FIRST}")
    return text == LARGER_FIRST


class _PodSetSize(NamedTuple):
    """GPUs of a pod set at the start of the cycle, in thousandths."""

    pod_set: int
    gpu_milli: int
    """Of all its pods that run or wait."""
    running: int
    """Of those that run."""
    running_pods: int
    """Number of those that run."""


class GpuJobOrder(VictimOrder):
    """Among victims of a queue with equal priority, those with more GPUs yield first, or those with fewer."""

    TRAITS: ClassVar = Traits(victims_in_order=True)
    ARGUMENTS: ClassVar[Parsers] = {"mode": larger_first}
    DEFAULTS: ClassVar[Mapping[str, str]] = {"mode": LARGER_FIRST}

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._ledger = context.ledger
        self._groups, self._tasks = context.cluster.pod_groups, context.cluster.tasks
        self._sign = -1 if larger_first(arguments.get("mode", LARGER_FIRST)) else 1
        self._sizes: dict[int, tuple[_PodSetSize, ...]] = {}
        """By pod group."""

    def victim_keys(self, pod_group: int, active: Counts, tasks: Sequence[int]) -> tuple[int, int]:
        """Priority and then size, before all other orders."""
        priority = self._groups[pod_group].facts.priority
        return (priority * _SIZES + self._sign * self._size(pod_group, active), 0)

    def _size(self, pod_group: int, active: Counts) -> int:
        """Thousandths of a GPU. Running pods that are taken already no longer count: each as much as the mean
        of its subgroup.
        """
        sizes = self._sizes.get(pod_group)
        if sizes is None:
            sizes = self._sizes[pod_group] = self._measure(pod_group)
        total = 0
        for each in sizes:
            total += each.gpu_milli
            gone = each.running_pods - active[each.pod_set]
            if gone > 0:
                total -= each.running * gone // each.running_pods
        return total

    def _measure(self, pod_group: int) -> tuple[_PodSetSize, ...]:
        group, amounts = self._groups[pod_group], dict[int, list[int]]()
        for pod_set in group.pod_sets:
            amounts[pod_set.index] = [0, 0, 0]
        for index in group.tasks:
            task = self._tasks[index]
            runs = task.placement.is_active_allocated
            if task.pod_set is None or not (runs or task.placement.status is TaskStatus.PENDING):
                continue
            gpus, sums = self._gpus(task), amounts[task.pod_set]
            sums[0] += gpus
            if runs:
                sums[1] += gpus
                sums[2] += 1
        return tuple([_PodSetSize(index, sums[0], sums[1], sums[2]) for index, sums in amounts.items()])

    def _gpus(self, task: Task) -> int:
        """What a pod requests; of a share by memory, on the node where it runs."""
        node, shape = task.placement.node, task.shape
        share = self._ledger.unplaced_share(shape) if node == NOWHERE else self._ledger.share(task, node)
        return share[GPU] + shape.shared_gpu_milli
