"""GPUs of the largest pod group below each queue: the largest chunk that can be reclaimed from it."""

from bisect import bisect_right

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.resources import WHOLE_GPU
from tenure.solver.model.workload import PodGroup
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.resolution.slot_map import SlotChange


class PodGroupSizes:
    """Pod groups by leaf queue and size."""

    def __init__(self, cluster: Cluster) -> None:
        self._sizes: list[dict[int, int]] = [{} for _ in cluster.queues]
        """Number of pod groups by queue and GPUs."""
        self._cluster = cluster
        self._most = [_most_gpus(shape) for shape in cluster.shapes]
        """Largest amount of a task, by shape."""

    @classmethod
    def of(cls, cluster: Cluster) -> "PodGroupSizes":
        """Sizes of all pod groups of a cluster."""
        made = cls(cluster)
        found: list[list[int]] = [[] for _ in cluster.queues]
        for group in cluster.pod_groups:
            if (queue := group.queue) is not None:
                found[queue].append(made._gpus(group))
        made._sizes = [_count_equal(sizes) for sizes in found]
        return made

    def copy(self) -> "PodGroupSizes":
        """Independent copy."""
        other = PodGroupSizes(self._cluster)
        other._sizes = [sizes.copy() for sizes in self._sizes]
        return other

    def follow(self, cluster: Cluster, change: SlotChange) -> None:
        """Update for a cluster with changes."""
        for index in change.pod_groups:
            if index < len(self._cluster.pod_groups):
                self._count(self._cluster.pod_groups[index], -1)
        self._cluster, self._most = cluster, [_most_gpus(shape) for shape in cluster.shapes]
        for index in change.pod_groups:
            self._count(cluster.pod_groups[index], 1)

    def most_gpus(self) -> list[int]:
        """By queue index; at least one thousandth of a GPU."""
        queues = self._cluster.queues
        largest = [1] * len(queues)
        for index, sizes in enumerate(self._sizes):
            most = max((gpus for gpus, count in sizes.items() if count), default=0)
            for queue in queues[index].path:
                largest[queue] = max(largest[queue], most)
        return largest

    def _count(self, group: PodGroup, sign: int) -> None:
        queue = group.queue
        if queue is None:
            return
        sizes, gpus = self._sizes[queue], self._gpus(group)
        sizes[gpus] = sizes.get(gpus, 0) + sign

    def _gpus(self, group: PodGroup) -> int:
        """Largest amount of a pod group."""
        gpus, tasks, most = 0, self._cluster.tasks, self._most
        for task in group.tasks:
            gpus += most[tasks[task].shape.index]
        return gpus


def _count_equal(sizes: list[int]) -> dict[int, int]:
    """How often each size occurs."""
    sizes.sort()
    counts, begin = dict[int, int](), 0
    while begin < len(sizes):
        end = bisect_right(sizes, sizes[begin], begin)
        counts[sizes[begin]] = end - begin
        begin = end
    return counts


def _most_gpus(shape: TaskShape) -> int:
    """Largest amount that a task of this shape counts for in its queue, on any node."""
    gpu = shape.gpu
    whole = gpu.devices * WHOLE_GPU if gpu.memory_mib else gpu.gpu_milli()
    return whole + shape.extra_gpu_milli + shape.shared_gpu_milli
