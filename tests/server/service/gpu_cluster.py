"""Snapshots of small GPU clusters in a few lines, as a caller sends them."""

from typing import Self

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.terms.durations import parse_duration
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.timestamps import span, timestamp

NOW = "2025-03-03T10:35:00Z"
AMPLE = 1_000_000


def time_at(text: str) -> Timestamp:
    """Return a time of that day: `10:50`."""
    found = Timestamp()
    found.FromJsonString(f"2025-03-03T{text}:00Z")
    return found


class GpuCluster:
    """Nodes with GPUs, queues with GPU quotas, and pod groups of pods with whole GPUs; memory is ample."""

    def __init__(self) -> None:
        self.snapshot = pb.ClusterSnapshot(cluster_id="gpus", version=1)
        self.snapshot.now.FromJsonString(NOW)
        self._shapes: set[str] = set()

    def node(self, name: str, gpus: int) -> Self:
        """Add a node."""
        node = self.snapshot.nodes.add(name=name)
        node.allocatable.cpu_milli = node.allocatable.memory_bytes = AMPLE
        node.allocatable.gpu_milli, node.allocatable.pods = gpus * 1000, 110
        return self

    def queue(self, name: str, quota: int = 0, parent: str = "", **runtimes: str) -> Self:
        """Add a queue; runtimes are durations by field."""
        queue = self.snapshot.queues.add(name=name, parent=parent)
        queue.gpu_milli.quota = quota * 1000
        for field, value in runtimes.items():
            getattr(queue, field).CopyFrom(span(parse_duration(value)))
        return self

    def job(
        self,
        name: str,
        queue: str,
        gpus: int = 1,
        on: str = "",
        pods: int = 1,
        ran: str = "24h",
        priority: int = 50,
        **fields: object,
    ) -> Self:
        """Add a pod group; it runs on the node, or is pending without one. `gpus` are those of each pod."""
        now = self.snapshot.now.ToNanoseconds()
        minimum = fields.pop("min_member", pods)
        group = self.snapshot.pod_groups.add(
            uid=name, name=name, queue=queue, priority=priority, min_member=minimum, **fields
        )
        group.creation_time.CopyFrom(timestamp(now - parse_duration("48h")))
        if on:
            group.last_start_time.CopyFrom(timestamp(now - parse_duration(ran)))
        shape = f"{gpus}-gpu"
        if shape not in self._shapes:
            self._shapes.add(shape)
            row = self.snapshot.shapes.add(id=shape)
            row.requests.cpu_milli = row.requests.memory_bytes = 1
            row.gpu.devices = gpus
        for number in range(pods):
            self.snapshot.pods.add(
                uid=f"{name}-{number}",
                name=f"{name}-{number}",
                pod_group=name,
                shape=shape,
                node=on,
                status=pb.POD_STATUS_RUNNING if on else pb.POD_STATUS_PENDING,
            )
        return self
