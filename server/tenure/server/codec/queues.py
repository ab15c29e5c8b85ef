"""Queues: from messages to specs that the model links into a tree."""

from collections.abc import Sequence

from tenure.server.codec.checks import duration, quota, time, weight
from tenure.server.codec.trees import tree_problems
from tenure.server.codec.violations import Findings
from tenure.solver.model.resources import UNLIMITED
from tenure.solver.model.specs import QueueSpec
from tenure.v1 import snapshot_pb2 as pb

_RESOURCES = ("cpu_milli", "memory_bytes", "gpu_milli")


def decode_queues(messages: Sequence[pb.Queue], findings: Findings) -> list[QueueSpec]:
    """One spec per queue. A resource that a queue does not mention is not governed by it."""
    problems = tree_problems([(message.name, message.parent) for message in messages])
    return [_decode_queue(i, message, problems.get(i, ""), findings) for i, message in enumerate(messages)]


def _decode_queue(i: int, message: pb.Queue, parent_problem: str, findings: Findings) -> QueueSpec:
    if parent_problem:
        findings.add(i, "parent", parent_problem)
    creation = time(message.creation_time, findings, i, "creation_time")
    cpu, memory, gpu = (_decode_resource(i, message, name, findings) for name in _RESOURCES)
    return QueueSpec(
        name=message.name,
        parent=message.parent,
        creation=creation,
        priority=message.priority if message.HasField("priority") else 100,
        quota=(cpu[0], memory[0], gpu[0]),
        limit=(cpu[1], memory[1], gpu[1]),
        weight=(cpu[2], memory[2], gpu[2]),
        preempt_min_runtime=_inherited(i, message, "preempt_min_runtime", findings),
        reclaim_min_runtime=_inherited(i, message, "reclaim_min_runtime", findings),
        expected_runtime=_inherited(i, message, "expected_runtime", findings),
        requeue_delay=_inherited(i, message, "requeue_delay", findings),
    )


def _decode_resource(i: int, queue: pb.Queue, name: str, findings: Findings) -> tuple[int, int, float]:
    """Quota, limit and over-quota weight of one resource."""
    if not queue.HasField(name):
        return UNLIMITED, UNLIMITED, 1.0
    message: pb.QueueResource = getattr(queue, name)
    return (
        quota(message.quota, findings, i, f"{name}.quota"),
        quota(message.limit, findings, i, f"{name}.limit") if message.HasField("limit") else UNLIMITED,
        weight(message.over_quota_weight, findings, i, f"{name}.over_quota_weight")
        if message.HasField("over_quota_weight")
        else 1.0,
    )


def _inherited(i: int, queue: pb.Queue, name: str, findings: Findings) -> int | None:
    """Nanoseconds; None when unset, which inherits, unlike an explicit zero."""
    if not queue.HasField(name):
        return None
    return duration(getattr(queue, name), findings, i, name)
