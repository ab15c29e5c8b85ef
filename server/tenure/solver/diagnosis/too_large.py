"""Whether a pod group is larger than its queue permits, so that no end of other work lets it start."""

from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.facts import QueueFacts
from tenure.solver.model.resources import CPU, GPU, MEMORY, UNLIMITED, Share
from tenure.solver.model.workload import Member, PodSet
from tenure.solver.model.workload_parts import TaskShape
from tenure.terms.reasons import ReasonCode

_RESOURCES: Final = (CPU, MEMORY, GPU)


def is_too_large(cluster: Cluster, pod_group: int, code: ReasonCode) -> bool:
    """Whether its minimum alone exceeds the bound of its queue, or of an ancestor, that the code is about.

    Shares of devices by memory do not count: what they are depends on the node.
    """
    if code not in (ReasonCode.OVER_LIMIT, ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA):
        return False
    group = cluster.pod_groups[pod_group]
    needed = [_least(cluster, group.root, resource) for resource in _RESOURCES]
    queue = group.queue
    while queue is not None:
        most = _bound(cluster.queues[queue].facts, code)
        if any(UNLIMITED != most[r] < amount for r, amount in zip(_RESOURCES, needed, strict=True)):
            return True
        queue = cluster.queues[queue].parent
    return False


def _least(cluster: Cluster, member: Member, resource: int) -> int:
    """The least amount with which a subgroup is satisfied, as `min_pods` counts its pods."""
    if isinstance(member, PodSet):
        shapes = [cluster.tasks[task].shape for task in member.tasks]
        return member.min_available * min([_requested(shape, resource) for shape in shapes], default=0)
    return sum(sorted([_least(cluster, each, resource) for each in member.members])[: member.required])


def _requested(shape: TaskShape, resource: int) -> int:
    if resource != GPU:
        return shape.request[resource]
    return 0 if shape.gpu.memory_mib else shape.gpu.gpu_milli()


def _bound(facts: QueueFacts, code: ReasonCode) -> Share:
    return facts.limit if code is ReasonCode.OVER_LIMIT else facts.quota
