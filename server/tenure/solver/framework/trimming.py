"""Which batches of a scenario stay, if all of them together take too much (semantics R15.5, R15.10)."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from tenure.solver.framework.pacing import Cap, Pacing
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.workload import Counts
from tenure.solver.plugin_api.scenario import Batch


class Allowance(Protocol):
    """What is left of budgets, by name."""

    pacing: Pacing

    def left(self, name: str) -> int:
        """How many more tasks a budget allows to disrupt."""

    def spends(self, task: int) -> tuple[str, ...]:
        """Budgets that the task spends from."""


def choose_batches(
    cluster: Cluster,
    batches: Sequence[Batch],
    nodes: Collection[int],
    active: Counts,
    allowance: Allowance,
    caps: Sequence[Cap],
) -> set[int]:
    """Numbers of the batches that fit: those with tasks on these nodes first, then the others in order.

    No pod group that has its minimum is left with less than that, unless with nothing. `active` are the
    numbers of active tasks by pod set.
    """
    tasks_of, pacing = cluster.tasks, allowance.pacing
    is_elsewhere = [not any(tasks_of[t].placement.node in nodes for t in b.tasks) for b in batches]
    kept, spent, seen = set[int](), Counter[str](), set[int]()
    left = [cap.left for cap in caps]
    for number in sorted(range(len(batches)), key=is_elsewhere.__getitem__):
        tasks = [task for task in batches[number].tasks if task not in seen]
        need = Counter([name for task in tasks for name in allowance.spends(task)])
        counts = [sum(pacing.is_below(task, cap.queue) for task in tasks) for cap in caps]
        if any(count > has for count, has in zip(counts, left, strict=True)):
            continue
        if all(spent[name] + count <= allowance.left(name) for name, count in need.items()):
            spent.update(need)
            kept.add(number)
            seen.update(tasks)
            left = [has - count for has, count in zip(left, counts, strict=True)]
    for pod_group in {batch.pod_group for number, batch in enumerate(batches) if number not in kept}:
        _keep_minimum(cluster, pod_group, batches, kept, active)
    return kept


def _keep_minimum(
    cluster: Cluster, pod_group: int, batches: Sequence[Batch], kept: set[int], active: Counts
) -> None:
    """Drop the last batches of a pod group of which some are left out, until it keeps its minimum."""
    group = cluster.pod_groups[pod_group]
    numbers = [number for number in sorted(kept) if batches[number].pod_group == pod_group]
    while numbers and group.is_cut(active, _by_pod_set(cluster, batches, numbers)):
        kept.discard(numbers.pop())


def _by_pod_set(cluster: Cluster, batches: Sequence[Batch], numbers: Iterable[int]) -> Counter[int]:
    """Numbers of tasks of these batches by pod set."""
    tasks = {task for number in numbers for task in batches[number].tasks}
    pod_sets = [cluster.tasks[task].pod_set for task in tasks]
    return Counter([pod_set for pod_set in pod_sets if pod_set is not None])
