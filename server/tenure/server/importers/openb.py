"""A snapshot from the openb trace: a sample of the pods and nodes of a production GPU cluster.

The mapping and its reasons are described in `docs/openb.md`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.server.engine import Engine
from tenure.server.importers import openb_objects as objects
from tenure.server.importers.openb_csv import TraceError, TraceNode, TracePod, read_nodes, read_pods
from tenure.server.importers.openb_queues import queue_tree
from tenure.server.importers.placing import Progress, place, run_on
from tenure.v1.snapshot_pb2 import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class ImportedTrace:
    """The snapshot, and how many of the pods that were to run found no room and wait instead."""

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
    """Takes pods in order of creation: `running` of them run, the next `pending` wait.

    A pod that is to run but fits on no node waits as well, ahead of the others. `now` defaults to the
    creation of the last pod that is taken; no pod started later. Raises TraceError when a file has a
    fault or is too short.
    """
    trace_nodes, trace_pods = read_nodes(nodes), read_pods(pods)
    taken = _take(pods, trace_pods, running + pending)
    snapshot = _all_pending(trace_nodes, taken, now)
    bindings = place(_first(snapshot, running), engine, progress)
    for row, group, pod in zip(taken, snapshot.pod_groups, snapshot.pods, strict=True):
        if bind := bindings.get(pod.uid):
            run_on(pod, bind)
            started = objects.timestamp(row.start_time)
            group.last_start_time.CopyFrom(min(started, snapshot.now, key=lambda time: time.ToNanoseconds()))
    snapshot.queues.extend(queue_tree(taken))
    return ImportedTrace(snapshot, len(bindings), running - len(bindings), pending)


def _take(file: Path, pods: Sequence[TracePod], count: int) -> Sequence[TracePod]:
    if not count:
        raise TraceError("no pods to take: --running and --pending are both 0")
    if count > len(pods):
        raise TraceError(f"{file}: has {len(pods)} pods, but {count} are to be taken")
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
    """The same cluster with the first pods only."""
    return ClusterSnapshot(
        cluster_id=snapshot.cluster_id,
        now=snapshot.now,
        nodes=snapshot.nodes,
        shapes=snapshot.shapes,
        pod_groups=snapshot.pod_groups[:count],
        pods=snapshot.pods[:count],
    )
