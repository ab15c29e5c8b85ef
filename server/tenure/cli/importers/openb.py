"""Snapshot from the openb trace: a sample of pods and nodes of a production GPU cluster.

`docs/use/import.md` describes the mapping. The trace does not contain the nodes of pods, so the allocate
action binds them by creation time, in one queue without a quota, as if submitted one by one to an empty
cluster.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.cli.importers import openb_objects as objects
from tenure.cli.importers.openb_csv import TraceError, TraceNode, TracePod, read_nodes, read_pods
from tenure.cli.importers.openb_objects import queue_tree
from tenure.codec.engine import Engine
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.decision_pb2 import Bind
from tenure.v1.snapshot_pb2 import POD_STATUS_RUNNING, ClusterSnapshot, Pod, PodGroup, Queue

BATCH: Final = 1000
"""Pods per cycle. Affects only progress reports: pods are placed in order."""

Progress = Callable[[int, int], None]
"""Called with the number of pods tried so far and the total."""


def place_pods(pending: ClusterSnapshot, engine: Engine, progress: Progress) -> dict[str, Bind]:
    """Bindings by pod uid; pods that do not fit are absent."""
    placed: dict[str, Bind] = {}
    queue = Queue(name="all")
    groups = {group.uid: group for group in pending.pod_groups}
    cluster = ClusterSnapshot(
        cluster_id=pending.cluster_id,
        now=pending.now,
        nodes=pending.nodes,
        shapes=pending.shapes,
        queues=[queue],
    )
    progress(0, len(pending.pods))
    for start in range(0, len(pending.pods), BATCH):
        batch = pending.pods[start : start + BATCH]
        cluster.pods.extend(batch)
        cluster.pod_groups.extend(_in_queue(groups[pod.pod_group], queue) for pod in batch)
        bindings = {bind.pod: bind for bind in _allocate(engine, cluster)}
        _keep_bound(cluster, bindings)
        placed |= bindings
        progress(start + len(batch), len(pending.pods))
    return placed


def mark_running(pod: Pod, bind: Bind) -> None:
    """Make a pending pod a running one with this binding."""
    pod.status = POD_STATUS_RUNNING
    pod.node = bind.node
    pod.gpu_groups.extend(bind.gpu_groups)


def _in_queue(group: PodGroup, queue: Queue) -> PodGroup:
    return PodGroup(uid=group.uid, name=group.name, queue=queue.name, creation_time=group.creation_time)


def _allocate(engine: Engine, cluster: ClusterSnapshot) -> Iterator[Bind]:
    response = engine.decide(DecideRequest(snapshot=cluster, actions=["allocate"])).parse()
    for group in response.groups:
        yield from (step.bind for step in group.decisions if step.HasField("bind"))


def _keep_bound(cluster: ClusterSnapshot, bindings: dict[str, Bind]) -> None:
    """Make bound pods running and remove those that do not fit."""
    for pod in cluster.pods:
        if pod.uid in bindings:
            mark_running(pod, bindings[pod.uid])
    running = [pod for pod in cluster.pods if pod.node]
    groups = {pod.pod_group for pod in running}
    kept = [group for group in cluster.pod_groups if group.uid in groups]
    del cluster.pods[:], cluster.pod_groups[:]
    cluster.pods.extend(running)
    cluster.pod_groups.extend(kept)


@dataclass(frozen=True, slots=True)
class ImportedTrace:
    """Snapshot, and numbers of running, pending and unplaced pods."""

    snapshot: ClusterSnapshot
    running: int
    unplaced: int
    pending: int


def import_openb(
    nodes: Path,
    pods: Path,
    *,
    running: int,
    pending: int,
    engine: Engine,
    now: datetime | None = None,
    progress: Progress = lambda done, total: None,
) -> ImportedTrace:
    """Snapshot of the first pods by creation time: `running` of them run, the next `pending` are pending.

    Pods that fit on no node are pending too, before the others. `now` defaults to the creation time of the
    last pod; no pod started later. Raises TraceError if a file is invalid or too short.
    """
    trace_nodes, trace_pods = read_nodes(nodes), read_pods(pods)
    taken = _take(pods, trace_pods, running + pending)
    snapshot = _all_pending(trace_nodes, taken, now)
    bindings = place_pods(_first(snapshot, running), engine, progress)
    for row, group, pod in zip(taken, snapshot.pod_groups, snapshot.pods, strict=True):
        if bind := bindings.get(pod.uid):
            mark_running(pod, bind)
            started = objects.timestamp(row.start_time)
            group.last_start_time.CopyFrom(min(started, snapshot.now, key=lambda time: time.ToNanoseconds()))
    snapshot.queues.extend(queue_tree(taken))
    return ImportedTrace(snapshot, len(bindings), running - len(bindings), pending)


def _take(file: Path, pods: Sequence[TracePod], count: int) -> Sequence[TracePod]:
    if not count:
        raise TraceError("no pods requested: --running and --pending are both 0")
    if count > len(pods):
        raise TraceError(f"{file}: has {len(pods)} pods, but {count} are requested")
    return pods[:count]


def _all_pending(
    nodes: Sequence[TraceNode], pods: Sequence[TracePod], now: datetime | None
) -> ClusterSnapshot:
    taken_at = objects.timestamp(pods[-1].creation_time)
    if now is not None:
        taken_at = Timestamp()
        taken_at.FromDatetime(now)
    return ClusterSnapshot(
        cluster_id="openb",
        version=1,
        now=taken_at,
        nodes=map(objects.node, nodes),
        pod_groups=map(objects.pod_group, pods),
        pods=map(objects.pod, pods),
        shapes=objects.shapes(pods),
    )


def _first(snapshot: ClusterSnapshot, count: int) -> ClusterSnapshot:
    """Snapshot with the first pods only."""
    return ClusterSnapshot(
        cluster_id=snapshot.cluster_id,
        now=snapshot.now,
        nodes=snapshot.nodes,
        shapes=snapshot.shapes,
        pod_groups=snapshot.pod_groups[:count],
        pods=snapshot.pods[:count],
    )
