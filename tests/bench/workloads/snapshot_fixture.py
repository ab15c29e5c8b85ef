"""Snapshots with the conventions of the reference scheduler's benchmarks.

Nodes have eight GPUs and ample CPU and memory. Pods request one core, 1 GB and whole GPUs. A job is a gang.
Jobs are added from the oldest to the youngest, a minute apart; running jobs started a minute ago. Queues have
a quota and an over-quota weight for GPUs, and no limit.
"""

from collections.abc import Sequence
from typing import Final

from tenure.v1 import snapshot_pb2 as pb

NOW_S: Final = 1_700_000_000
GPUS: Final = 8
"""GPUs of a node."""
MINUTE_S: Final = 60
PRIORITY: Final = 50
"""Default priority of jobs."""


class SnapshotFixture:
    """Builder of a snapshot, row by row. `build` completes it."""

    def __init__(self, nodes: int, *, cores: int = 20_000, gpus: int = GPUS, racks: int = 0) -> None:
        self._snapshot = pb.ClusterSnapshot(cluster_id="bench", version=1)
        self._snapshot.now.seconds = NOW_S
        for i in range(nodes):
            node = self._snapshot.nodes.add(name=f"node{i}")
            amounts = node.allocatable
            amounts.cpu_milli, amounts.memory_bytes = cores * 1_000, 20 * 10**9
            amounts.gpu_milli, amounts.pods = gpus * 1_000, 500
            if racks:
                node.labels["rack"] = f"rack{i % racks}"

    def queue(
        self, name: str, parent: str = "", gpus: float = -1, weight: float = 0, **fields: object
    ) -> None:
        """A queue with a quota of GPUs, -1 for any number; `fields` are those of the message."""
        queue = self._snapshot.queues.add(name=name, parent=parent, **fields)
        queue.creation_time.seconds = NOW_S + MINUTE_S * len(self._snapshot.queues)
        queue.gpu_milli.quota = -1 if gpus < 0 else round(gpus * 1_000)
        queue.gpu_milli.limit, queue.gpu_milli.over_quota_weight = -1, weight

    def shape(self, name: str, gpus: int, milli_cores: int = 1_000) -> pb.PodShape:
        """Add a pod shape with the name as its id."""
        requests = {"cpu_milli": milli_cores, "memory_bytes": 10**9}
        return self._snapshot.shapes.add(id=name, requests=requests, gpu={"devices": gpus})

    def job(
        self,
        uid: str,
        queue: str,
        tasks: int = 1,
        gpus: int = 1,
        *,
        on: Sequence[int] = (),
        shape: str = "",
        priority: int = PRIORITY,
    ) -> pb.PodGroup:
        """Add a job and its pods. The pods are pending, or run on the nodes with these numbers, one each."""
        group = self._snapshot.pod_groups.add(uid=uid, name=uid, queue=queue, min_member=tasks)
        group.priority, group.preemptibility = priority, pb.PREEMPTIBILITY_PREEMPTIBLE
        if on:
            group.last_start_time.seconds = NOW_S - MINUTE_S
        for task in range(tasks):
            pod = self._snapshot.pods.add(uid=f"{uid}-{task}", pod_group=uid, shape=shape or self._gpus(gpus))
            pod.status = pb.POD_STATUS_RUNNING if on else pb.POD_STATUS_PENDING
            if on:
                pod.node = f"node{on[task]}"
        return group

    @property
    def rows(self) -> pb.ClusterSnapshot:
        """The rows so far, for fields without a method here."""
        return self._snapshot

    def build(self) -> pb.ClusterSnapshot:
        """The snapshot, with the ages of all jobs."""
        jobs = self._snapshot.pod_groups
        for i, group in enumerate(jobs):
            group.creation_time.seconds = NOW_S - MINUTE_S * (len(jobs) - i)
        return self._snapshot

    def _gpus(self, gpus: int) -> str:
        name = f"gpu{gpus}"
        if all(shape.id != name for shape in self._snapshot.shapes):
            self.shape(name, gpus)
        return name
