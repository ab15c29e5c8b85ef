"""Whether a pod group is larger than its queue permits, so that no end of other work lets it start."""

from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.facts import QueueFacts
from tenure.solver.model.resources import CPU, GPU, MEMORY, UNLIMITED, Share
from tenure.solver.model.workload_parts import TaskShape
from tenure.terms.reasons import ReasonCode

_RESOURCES: Final = (CPU, MEMORY, GPU)


def is_too_large(cluster: Cluster, pod_group: int, code: ReasonCode) -> bool:
    """Whether its minimum alone exceeds the bound of its queue, or of an ancestor, that the code is about.

    Shares of devices by memory do not count: what they are depends on the node.
    """
    if code not in (ReasonCode.OVER_LIMIT, ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA):
        return False
    group, needed = cluster.pod_groups[pod_group], [0, 0, 0]
    for part in group.pod_sets:
        shapes = [cluster.tasks[task].shape for task in part.tasks]
        for place, resource in enumerate(_RESOURCES):
            least = min([_requested(shape, resource) for shape in shapes], default=0)
            needed[place] += part.min_available * least
    queue = group.queue
    while queue is not None:
        most = _bound(cluster.queues[queue].facts, code)
        if any(UNLIMITED != most[r] < amount for r, amount in zip(_RESOURCES, needed, strict=True)):
            return True
        queue = cluster.queues[queue].parent
    return False


def _requested(shape: TaskShape, resource: int) -> int:
    if resource != GPU:
        return shape.request[resource]
    return 0 if shape.gpu.memory_mib else shape.gpu.gpu_milli()


def _bound(facts: QueueFacts, code: ReasonCode) -> Share:
    return facts.limit if code is ReasonCode.OVER_LIMIT else facts.quota
