"""GPUs of the largest pod group below each queue: the most that is taken from it in one piece."""

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.resources import WHOLE_GPU
from tenure.solver.model.slots import Change
from tenure.solver.model.workload import PodGroup, TaskShape


class Sizes:
    """Pod groups by leaf queue and size. Not changed once it is made."""

    def __init__(self, cluster: Cluster) -> None:
        self._sizes: dict[int, dict[int, int]] = {}
        """Number of pod groups by leaf queue and GPUs."""
        self._cluster = cluster
        self._most = [_most_gpus(shape) for shape in cluster.shapes]
        """The most that a task can count for, by shape."""

    @classmethod
    def of(cls, cluster: Cluster) -> "Sizes":
        """Of all pod groups of a cluster."""
        made = cls(cluster)
        for group in cluster.pod_groups:
            made._count(group, 1)
        return made

    def after(self, cluster: Cluster, change: Change) -> "Sizes":
        """The same of a cluster that differs by a change."""
        other = Sizes(self._cluster)
        other._sizes = {queue: sizes.copy() for queue, sizes in self._sizes.items()}
        for index in change.pod_groups:
            if index < len(self._cluster.pod_groups):
                other._count(self._cluster.pod_groups[index], -1)
        other._cluster, other._most = cluster, [_most_gpus(shape) for shape in cluster.shapes]
        for index in change.pod_groups:
            other._count(cluster.pod_groups[index], 1)
        return other

    def largest(self) -> list[int]:
        """By queue index; at least one thousandth of a GPU."""
        queues = self._cluster.queues
        largest = [1] * len(queues)
        for leaf, sizes in self._sizes.items():
            most = max((gpus for gpus, count in sizes.items() if count), default=0)
            for queue in queues[leaf].path:
                largest[queue] = max(largest[queue], most)
        return largest

    def _count(self, group: PodGroup, sign: int) -> None:
        if group.queue is not None:
            gpus = 0
            for task in group.tasks:
                gpus += self._most[self._cluster.tasks[task].shape.index]
            sizes = self._sizes.get(group.queue)
            if sizes is None:
                sizes = self._sizes[group.queue] = {}
            sizes[gpus] = sizes.get(gpus, 0) + sign


def _most_gpus(shape: TaskShape) -> int:
    """The most a task of this shape can count for in its queue, whatever the node."""
    gpu = shape.gpu
    whole = gpu.devices * WHOLE_GPU if gpu.memory_mib else gpu.gpu_milli()
    return whole + shape.extra_gpu_milli + shape.shared_gpu_milli
