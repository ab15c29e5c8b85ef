"""Clusters for the proofs through gRPC: what a caller sends, written with few words.

Every pod of these clusters needs whole GPUs and nothing else that is scarce.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, Self

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.terms.durations import SECOND, parse_duration
from tenure.v1 import snapshot_pb2 as pb

NOW: Final = 1_700_000_000
"""Time of every cluster, in seconds since the Unix epoch."""
_OLD: Final = NOW - 365 * 86_400
_QUEUE_DURATIONS: Final = ("preempt_min_runtime", "reclaim_min_runtime", "expected_runtime", "requeue_delay")


def seconds(text: str) -> int:
    """Seconds of a duration such as 1h30m."""
    return parse_duration(text) // SECOND


def ago(text: str) -> Timestamp:
    """The time so long before `NOW`."""
    return Timestamp(nanos=0, seconds=NOW - seconds(text))


class ClusterText:
    """A snapshot that grows row by row. Older rows come first among equals."""

    def __init__(self) -> None:
        self.snapshot = pb.ClusterSnapshot(cluster_id="proof", version=1, now=Timestamp(seconds=NOW))
        self._rows = 0
        self._pod_counts: Counter[str] = Counter()

    def node(self, name: str = "n", gpus: int = 1, **labels: str) -> Self:
        """A node with this many GPUs."""
        row = self.snapshot.nodes.add(name=name, labels=labels)
        row.allocatable.cpu_milli, row.allocatable.memory_bytes = 1_000_000, 1 << 50
        row.allocatable.gpu_milli, row.allocatable.pods = gpus * 1_000, 1_000
        return self

    def queue(
        self,
        name: str,
        parent: str = "",
        quota: int | None = None,
        limit: int | None = None,
        weight: float | None = None,
        **durations: Any,
    ) -> Self:
        """A queue with a quota and a limit in GPUs; None: not restricted. Durations by their fields."""
        row = self.snapshot.queues.add(name=name, parent=parent, creation_time=self._next_time())
        if quota is not None:
            row.gpu_milli.quota = quota * 1_000
        if limit is not None:
            row.gpu_milli.limit = limit * 1_000
        if weight is not None:
            row.gpu_milli.over_quota_weight = weight
        for field, text in durations.items():
            assert field in _QUEUE_DURATIONS, field
            getattr(row, field).CopyFrom(Duration(seconds=seconds(text)))
        return self

    def runs(
        self,
        name: str,
        queue: str,
        *,
        node: str = "n",
        ran: str | None = "1h",
        status: str = "RUNNING",
        **more: Any,
    ) -> Self:
        """A running pod group. None: nothing says when it started."""
        group = self._pod_group(name, queue, **more)
        if ran is not None:
            group.last_start_time.CopyFrom(ago(ran))
        self._pods(name, status, node, more)
        return self

    def waits(self, name: str, queue: str, *, status: str = "PENDING", **more: Any) -> Self:
        """A pending pod group."""
        self._pod_group(name, queue, **more)
        self._pods(name, status, "", more)
        return self

    def pods(
        self, name: str, status: str, *, node: str = "", pods: int = 1, gpus: int = 1, **more: Any
    ) -> Self:
        """Further pods of a pod group."""
        self._pods(name, status, node, {"pods": pods, "gpus": gpus, **more})
        return self

    def group(self, name: str) -> pb.PodGroup:
        """The row of a pod group, for a change of it."""
        return next(group for group in self.snapshot.pod_groups if group.uid == name)

    def _pod_group(self, name: str, queue: str, **more: Any) -> pb.PodGroup:
        pods = more.get("pods", 1)
        minimum = more.get("minimum", pods)
        mode = str(more.get("mode", "UNSPECIFIED"))
        priority = more.get("priority", 50)
        group = self.snapshot.pod_groups.add(
            uid=name,
            name=name,
            namespace="team",
            queue=queue,
            priority=priority,
            preemptibility=pb.Preemptibility.Value(f"PREEMPTIBILITY_{mode}"),
            min_member=minimum,
            creation_time=self._next_time(),
        )
        for field in ("expected_runtime", "requeue_delay"):
            if field in more:
                getattr(group, field).CopyFrom(Duration(seconds=seconds(str(more[field]))))
        if "annotations" in more:
            group.annotations.update(more["annotations"])
        for sub_group, least in more.get("sub_groups", {}).items():
            group.sub_groups.add(name=sub_group, min_member=least)
        if group.sub_groups:
            group.ClearField("min_member")
        return group

    def _pods(self, name: str, status: str, node: str, more: dict[str, Any]) -> None:
        gpus, count = more.get("gpus", 1), more.get("pods", 1)
        zone = str(more.get("zone", ""))
        shape = f"{gpus}{zone}"
        if all(row.id != shape for row in self.snapshot.shapes):
            row = self.snapshot.shapes.add(id=shape, node_selector={"zone": zone} if zone else {})
            row.requests.cpu_milli, row.requests.memory_bytes = 100, 100
            row.gpu.devices = gpus
        first = self._pod_counts[name]
        self._pod_counts[name] += count
        for number in range(first, first + count):
            self.snapshot.pods.add(
                uid=f"{name}-{number}",
                pod_group=name,
                sub_group=str(more.get("sub_group", "")),
                shape=shape,
                status=pb.PodStatus.Value(f"POD_STATUS_{status}"),
                node=node,
                creation_time=self._next_time(),
            )

    def _next_time(self) -> Timestamp:
        self._rows += 1
        return Timestamp(seconds=_OLD + self._rows)


def tree(
    parents: Mapping[str, str], rich: str, gpus: int = 1, *, values: Mapping[str, Mapping[str, str]]
) -> ClusterText:
    """Queues by name and parent. Only `rich` and its ancestors have a quota, so `rich` reclaims from all.

    `values` has durations by field and queue.
    """
    cluster, path, above = ClusterText(), set(), rich
    while above:
        path.add(above)
        above = parents[above]
    for name, parent in parents.items():
        durations: dict[str, Any] = {field: each[name] for field, each in values.items() if name in each}
        cluster.queue(name, parent, quota=gpus if name in path else 0, **durations)
    return cluster
