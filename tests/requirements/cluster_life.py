"""What a caller does with a response: it applies decisions, stores patches, and sends the next snapshot."""

from tenure.v1 import decision_pb2
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse

from tests.requirements.answers import decisions
from tests.requirements.cluster import ClusterText

_FIELDS = (
    "last_start_time",
    "last_eviction_time",
    "stale_since",
    "requeue_not_before",
    "total_eviction_wait",
    "evictions",
    "last_notice_time",
    "backfill_for",
)


def go_on(cluster: ClusterText, answer: DecideResponse, seconds: int) -> None:
    """Apply a response and let this much time pass: bound pods run, and evicted ones wait again."""
    snapshot = cluster.snapshot
    pods = {pod.uid: pod for pod in snapshot.pods}
    for each in decisions(answer):
        kind = each.WhichOneof("kind")
        if kind == "bind":
            pods[each.bind.pod].status, pods[each.bind.pod].node = pb.POD_STATUS_RUNNING, each.bind.node
        elif kind == "evict":
            pods[each.evict.pod].status, pods[each.evict.pod].node = pb.POD_STATUS_PENDING, ""
        elif kind == "patch":
            store(cluster, each.patch)
    changed = (p.set_queue_usage for p in answer.state_patches if p.HasField("set_queue_usage"))
    used = {row.queue: row for row in (*snapshot.queue_usage, *changed)}
    snapshot.ClearField("queue_usage")
    snapshot.queue_usage.extend(used.values())
    reserved = {row.pod_group: row for row in answer.planned_starts}
    snapshot.ClearField("planned_starts")
    snapshot.planned_starts.extend(reserved.values())
    snapshot.version += 1
    snapshot.now.seconds += seconds


def store(cluster: ClusterText, patch: decision_pb2.Patch) -> None:
    """Store a patch."""
    field = patch.WhichOneof("change")
    if field in _FIELDS:
        getattr(cluster.group(patch.pod_group), field).CopyFrom(getattr(patch, field))
    elif field == "clear_stale_since":
        cluster.group(patch.pod_group).ClearField("stale_since")
    elif field in ("eviction_count", "evictions_without_progress", "held_by"):
        setattr(cluster.group(patch.pod_group), field, getattr(patch, field))
    elif field == "set_eviction_record":
        _forget(cluster.snapshot, patch.pod_group, patch.set_eviction_record.preemptor)
        cluster.snapshot.eviction_history.append(patch.set_eviction_record)
    elif field == "delete_eviction_record":
        _forget(cluster.snapshot, patch.pod_group, patch.delete_eviction_record)


def _forget(snapshot: pb.ClusterSnapshot, victim: str, preemptor: str) -> None:
    kept = [r for r in snapshot.eviction_history if (r.victim, r.preemptor) != (victim, preemptor)]
    del snapshot.eviction_history[:]
    snapshot.eviction_history.extend(kept)
