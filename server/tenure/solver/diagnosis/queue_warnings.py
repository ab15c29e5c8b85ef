"""Warnings about quotas and limits of queues that contradict each other or the cluster (semantics R19.6).

They count as written. Each queue is compared with its parent and its children only, so that the work is
linear in the queues.
"""

from collections.abc import Iterator
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.queue import Queue
from tenure.solver.model.resources import CPU, GPU, MEMORY, UNLIMITED
from tenure.solver.model.snapshot_warning import SnapshotWarning, WarningCode
from tenure.solver.plugin_api.derived import Derived
from tenure.terms.formatting import count_gpus, format_amount

_RESOURCES: Final = (("GPU", GPU), ("CPU", CPU), ("memory", MEMORY))


def find_queue_warnings(cluster: Cluster) -> tuple[SnapshotWarning, ...]:
    """Bounds that contradict those of a parent, then quotas above the cluster, then limits of 0."""
    contradictions = (text for queue in cluster.queues for text in _contradictions(cluster, queue))
    zeros = (text for queue in cluster.queues for text in _zeros(queue))
    return (
        *[SnapshotWarning(WarningCode.QUEUE_BOUNDS_CONTRADICT, (), text) for text in contradictions],
        *[SnapshotWarning(WarningCode.QUOTAS_ABOVE_CLUSTER, (), text) for text in _above_cluster(cluster)],
        *[SnapshotWarning(WarningCode.QUEUE_LIMIT_ZERO, (), text) for text in zeros],
    )


QUEUE_WARNINGS: Final = Derived(find_queue_warnings)
"""Of queues and nodes alone: other changes of a cluster do not concern them."""


def _contradictions(cluster: Cluster, queue: Queue) -> Iterator[str]:
    name, facts = queue.facts.name, queue.facts
    parent = None if queue.parent is None else cluster.queues[queue.parent].facts
    for what, slot in _RESOURCES:
        quota, limit = facts.quota[slot], facts.limit[slot]
        below = _sum_of_quotas(cluster, queue.children, slot)
        if UNLIMITED != quota < below:
            yield (
                f"queue {name}: the {what} quotas of its child queues are {_amount(below, slot)} together, "
                f"more than its own, {_amount(quota, slot)}"
            )
        if UNLIMITED != limit < quota:
            yield (
                f"queue {name}: its {what} quota, {_amount(quota, slot)}, is above its limit, "
                f"{_amount(limit, slot)}, and is never used in full"
            )
        most = UNLIMITED if parent is None else parent.limit[slot]
        if parent is None or most == UNLIMITED:
            continue
        if most < limit:
            yield (
                f"queue {name}: its {what} limit, {_amount(limit, slot)}, is above that of its parent queue "
                f"{parent.name}, {_amount(most, slot)}, which counts"
            )
        if most < quota and (limit == UNLIMITED or limit >= quota):
            yield (
                f"queue {name}: its {what} quota, {_amount(quota, slot)}, is above the limit of its parent "
                f"queue {parent.name}, {_amount(most, slot)}, and is never used in full"
            )


def _above_cluster(cluster: Cluster) -> Iterator[str]:
    top = [queue.index for queue in cluster.queues if queue.parent is None]
    for what, slot in _RESOURCES:
        total = sum([node.allocatable[slot] for node in cluster.nodes])
        quotas = _sum_of_quotas(cluster, top, slot)
        if cluster.nodes and quotas > total:
            yield (
                f"the {what} quotas of the top-level queues are {_amount(quotas, slot)} together, more than "
                f"the nodes have, {_amount(total, slot)}: not all of them can be used at once"
            )


def _zeros(queue: Queue) -> Iterator[str]:
    for what, slot in _RESOURCES:
        if queue.facts.limit[slot] == 0:
            yield (
                f"queue {queue.facts.name}: its {what} limit is 0, so no pods with {what} requests start in "
                "it; only -1 means unlimited"
            )


def _sum_of_quotas(cluster: Cluster, queues: list[int] | tuple[int, ...], slot: int) -> int:
    """Of queues with a quota; one that is unlimited, or not set, claims no amount."""
    return sum([max(0, cluster.queues[each].facts.quota[slot]) for each in queues])


def _amount(amount: int, slot: int) -> str:
    """`1.5 GPUs`, `1 CPU core`, `1,204 CPU cores`, `64 GiB`."""
    if slot == GPU:
        return count_gpus(amount)
    if slot == MEMORY:
        return f"{format_amount(amount, 2**30)} GiB"
    return f"{format_amount(amount, 1000)} CPU {'core' if amount == 1000 else 'cores'}"
