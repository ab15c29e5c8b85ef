"""Rows of what jobs share: nodes, and queues."""

from collections.abc import Iterable, Sequence
from typing import Final

from tenure.slurm.observe.cluster import Scope
from tenure.slurm.observe.rows import NodeRow
from tenure.slurm.observe.tres import MIB, node_gpus
from tenure.v1.snapshot_pb2 import Node, PodGroup, Queue

NODE_LABEL: Final = "slurm.tenure.scheduler/node"
GPU_TYPE_LABEL: Final = "slurm.tenure.scheduler/gpu-type"
FEATURE_PREFIX: Final = "feature.slurm.tenure.scheduler/"
PARTITION_PREFIX: Final = "partition.slurm.tenure.scheduler/"
_UNLIMITED: Final = -1
_RESOURCES: Final = ("cpu_milli", "memory_bytes", "gpu_milli")

_PODS: Final = 1_000
"""Jobs per node; Slurm has no such limit."""
_USABLE: Final = frozenset({"IDLE", "MIXED", "ALLOCATED"})
_UNREADY: Final = frozenset(
    {"NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "REBOOT_ISSUED"}
)
_CLOSED: Final = frozenset({"DRAIN", "MAINTENANCE", "RESERVED", "PLANNED_DOWN"})


def node_row(node: NodeRow, is_reserved: bool) -> Node:
    """The row of a node. A reservation shows in no field of a node, so the caller passes it."""
    gpus = node_gpus(node.gres)
    row = Node(name=node.name)
    row.allocatable.cpu_milli = 1_000 * node.cpus
    row.allocatable.memory_bytes = node.real_memory * MIB
    row.allocatable.gpu_milli = 1_000 * gpus.devices
    row.allocatable.pods = _PODS
    row.labels[NODE_LABEL] = node.name
    if gpus.type:
        row.labels[GPU_TYPE_LABEL] = gpus.type
    for feature in node.features:
        row.labels[f"{FEATURE_PREFIX}{feature}"] = "true"
    for partition in node.partitions:
        row.labels[f"{PARTITION_PREFIX}{partition}"] = "true"
    states = node.all_states
    row.unschedulable = is_reserved or not states.isdisjoint(_CLOSED)
    unready = sorted(states & _UNREADY) if not states.isdisjoint(_USABLE) else sorted(states)
    row.unready_conditions.extend(unready)
    return row


def queue_rows(configured: Sequence[Queue], groups: Iterable[PodGroup], scope: Scope) -> dict[str, Queue]:
    """Rows by name. Groups with a name that is no queue move to the default queue if the list is closed.

    Slurm knows no guarantees. A queue that is not configured has no quota of GPUs, and no limit.
    """
    rows = {queue.name: queue for queue in configured}
    parents = {queue.parent for queue in configured}
    for group in groups:
        if group.queue in parents or (scope.is_closed and group.queue not in rows):
            group.queue = scope.default_queue
        if group.queue not in rows:
            rows[group.queue] = _unlimited(group.queue, scope.parent_queue)
    return rows


def _unlimited(name: str, parent: str) -> Queue:
    row = Queue(name=name, parent=parent)
    for resource in _RESOURCES:
        amounts = getattr(row, resource)
        amounts.limit, amounts.over_quota_weight = _UNLIMITED, 1.0
    row.cpu_milli.quota = row.memory_bytes.quota = _UNLIMITED
    return row
