"""Status (semantics R1.41) and rows of pods."""

from datetime import datetime
from typing import Final, NamedTuple

from google.protobuf.duration_pb2 import Duration
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.objects.times import timestamp
from tenure.kubernetes.rows.gpus import from_label, gpu_groups
from tenure.kubernetes.rows.row_table import readable
from tenure.kubernetes.rows.shapes import InternedShape
from tenure.v1 import snapshot_pb2 as pb

STUCK_AFTER: Final = Duration(seconds=120)
"""Seconds after the grace period until a deleted pod counts as stuck (R1.41)."""
LONGEST_WAIT: Final = 3600.0
"""Seconds before the end of the grace period from which on others wait for the resources of a deleted pod.

Users choose the grace period, which can be 68 years.
"""
SUCCEEDED: Final = "Succeeded"
ENDED: Final = (SUCCEEDED, "Failed")
"""Phases of ended pods."""
ON_NODE: Final = frozenset(
    (
        pb.POD_STATUS_BOUND,
        pb.POD_STATUS_RUNNING,
        pb.POD_STATUS_RELEASING,
        pb.POD_STATUS_STUCK_IN_RELEASING,
    )
)
"""Statuses of pods that use resources of their node."""
_LONGEST_PRIORITY: Final = 12


class BuiltPod(NamedTuple):
    """The rows of one pod."""

    row: pb.Pod
    shape: pb.PodShape
    problem: str
    """Why a server would refuse them; "": it would not."""


def uses_resources(pod: Pod) -> bool:
    """Whether a pod is on a node and has not ended; then it uses resources, whichever scheduler placed it."""
    return bool(pod.spec.node_name) and pod.status.phase not in ENDED


def is_running(pod: Pod) -> bool:
    """Whether a pod is on a node, has not ended, and is not deleted."""
    return uses_resources(pod) and pod.metadata.deletion_timestamp is None


def started_at(pod: Pod) -> datetime | None:
    """When a pod started, or else was bound, by its status, which users cannot write."""
    if pod.status.start_time is not None:
        return pod.status.start_time
    return next(
        (
            one.last_transition_time
            for one in pod.status.conditions
            if one.type == "PodScheduled" and one.status == "True"
        ),
        None,
    )


def pod_status(pod: Pod, now_seconds: float) -> pb.PodStatus | None:
    """Status of a pod; None: a deleted pending pod, which has no row."""
    phase, bound = pod.status.phase, bool(pod.spec.node_name)
    if phase in ENDED:
        return pb.POD_STATUS_SUCCEEDED if phase == SUCCEEDED else pb.POD_STATUS_FAILED
    if pod.metadata.deletion_timestamp is not None:
        if not bound:
            return None
        is_waited_for = _waited_for_at(pod) <= now_seconds < _stuck_at(pod)
        return pb.POD_STATUS_RELEASING if is_waited_for else pb.POD_STATUS_STUCK_IN_RELEASING
    if phase == "Running":
        return pb.POD_STATUS_RUNNING if bound else pb.POD_STATUS_UNKNOWN
    if phase == "Unknown":
        return pb.POD_STATUS_UNKNOWN
    if bound:
        return pb.POD_STATUS_BOUND
    return pb.POD_STATUS_GATED if pod.spec.scheduling_gates else pb.POD_STATUS_PENDING


def next_status_time(pod: Pod, now_seconds: float) -> float | None:
    """When the status of a pod changes next through time alone, in seconds since 1970; None: never."""
    if pod.metadata.deletion_timestamp is None:
        return None
    return next((time for time in (_waited_for_at(pod), _stuck_at(pod)) if time > now_seconds), None)


def _stuck_at(pod: Pod) -> float:
    """When a deleted pod counts as stuck, in seconds since 1970."""
    return _end_of_grace(pod) + STUCK_AFTER.seconds


def _waited_for_at(pod: Pod) -> float:
    return _end_of_grace(pod) - LONGEST_WAIT


def _end_of_grace(pod: Pod) -> float:
    """The deletion time of a pod, which includes its grace period."""
    deleted = pod.metadata.deletion_timestamp
    return deleted.timestamp() if deleted else float("inf")


def pod_row(
    pod: Pod, pod_group: str, sub_group: str, status: pb.PodStatus, shaped: InternedShape, warnings: list[str]
) -> pb.Pod:
    """The row of a pod without labels, which depend on affinities of other pods."""
    meta, spec = pod.metadata, pod.spec
    on_node = status in ON_NODE
    row = pb.Pod(
        uid=meta.uid,
        name=meta.name,
        pod_group=pod_group,
        sub_group=sub_group,
        shape=shaped.row.id,
        status=status,
        node=spec.node_name if on_node else "",
        creation_time=timestamp(meta.creation_timestamp),
        leader=any(meta.labels.get(key, "").lower() in roles for key, roles in names.LEADER_LABELS.items()),
        nominated_node=pod.status.nominated_node_name,
        blocked_reason="" if on_node else readable(shaped.blocked_reason),
    )
    if (priority := _task_priority(meta.labels.get(names.TASK_PRIORITY, ""))) is not None:
        row.task_priority = priority
    if on_node and shaped.shared_devices:
        groups = gpu_groups(meta.labels, meta.uid, shaped.shared_devices, warnings)
        row.gpu_groups.extend(from_label(group, spec.node_name) for group in groups)
    return row


def _task_priority(text: str) -> int | None:
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST_PRIORITY:
        return int(text)
    return None
