"""Rows of the openb trace as messages of the contract."""

from collections.abc import Iterable
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.server.importers.openb_csv import WHOLE_GPU_MILLI, TraceNode, TracePod
from tenure.server.importers.openb_queues import NON_PREEMPTIBLE, team_of
from tenure.v1.resources_pb2 import GpuRequest, Resources
from tenure.v1.snapshot_pb2 import (
    POD_STATUS_PENDING,
    PREEMPTIBILITY_NON_PREEMPTIBLE,
    PREEMPTIBILITY_PREEMPTIBLE,
    SELECTOR_OPERATOR_IN,
    Node,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodGroup,
    TaskShape,
)

EPOCH_SECONDS: Final = 1_672_531_200
"""2023-01-01T00:00:00Z, where second 0 of the trace is put."""

MODEL_LABEL: Final = "nvidia.com/gpu.product"
HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
POD_SLOTS: Final = 110
"""Pods per node: what Kubernetes allows unless told otherwise."""
MIB: Final = 1024 * 1024

GPU_MEMORY_MIB: Final = {
    "P100": 16 * 1024,
    "V100M16": 16 * 1024,
    "V100M32": 32 * 1024,
    "T4": 16 * 1024,
    "A10": 24 * 1024,
    "G2": 24 * 1024,
    "G3": 80 * 1024,
}
"""Nominal memory of one GPU by model. The trace hides what G2 and G3 are; theirs is an assumption."""

PRIORITY: Final = {"BE": 50, "Burstable": 75, "LS": 100, "Guaranteed": 125}


def timestamp(trace_seconds: int) -> Timestamp:
    """A time of the trace on the calendar."""
    return Timestamp(seconds=EPOCH_SECONDS + trace_seconds)


def node(row: TraceNode) -> Node:
    """The node, labelled with its GPU model; memory of an unknown GPU model is left unknown."""
    memory_mib = GPU_MEMORY_MIB.get(row.model, 0) if row.gpu else 0
    return Node(
        name=row.sn,
        labels={HOSTNAME_LABEL: row.sn, MODEL_LABEL: row.model},
        allocatable=Resources(
            cpu_milli=row.cpu_milli,
            memory_bytes=row.memory_mib * MIB,
            gpu_milli=row.gpu * WHOLE_GPU_MILLI,
            pods=POD_SLOTS,
        ),
        gpu_memory_mib=memory_mib // 100 * 100,
    )


def pod_group(row: TracePod) -> PodGroup:
    """The pod as a workload of its own, in the queue of its team, not started."""
    protected = row.qos in NON_PREEMPTIBLE
    return PodGroup(
        uid=row.name,
        name=row.name,
        namespace="openb",
        queue=team_of(row).name,
        priority=PRIORITY[row.qos],
        preemptibility=PREEMPTIBILITY_NON_PREEMPTIBLE if protected else PREEMPTIBILITY_PREEMPTIBLE,
        min_member=1,
        creation_time=timestamp(row.creation_time),
    )


def pod(row: TracePod) -> Pod:
    """The pod, pending."""
    return Pod(
        uid=row.name,
        name=row.name,
        pod_group=row.name,
        shape=shape_id(row),
        status=POD_STATUS_PENDING,
        creation_time=timestamp(row.creation_time),
    )


def shapes(rows: Iterable[TracePod]) -> list[TaskShape]:
    """One shape for each distinct request, by id."""
    distinct = {shape_id(row): row for row in rows}
    return [_shape(id, distinct[id]) for id in sorted(distinct)]


def shape_id(row: TracePod) -> str:
    """What the pod asks for, as text: `6000m-12288Mi-1x460-P100|T4`."""
    parts = [f"{row.cpu_milli}m", f"{row.memory_mib}Mi"]
    if row.num_gpu:
        parts.append(f"{row.num_gpu}x{row.gpu_milli}")
    return "-".join([*parts, *filter(None, ["|".join(row.gpu_models)])])


def _shape(id: str, row: TracePod) -> TaskShape:
    shape = TaskShape(id=id, requests=Resources(cpu_milli=row.cpu_milli, memory_bytes=row.memory_mib * MIB))
    if row.num_gpu:
        shape.gpu.CopyFrom(_gpu_request(row))
    if row.gpu_models:
        models = NodeSelectorRequirement(
            key=MODEL_LABEL, operator=SELECTOR_OPERATOR_IN, values=row.gpu_models
        )
        shape.node_affinity.append(NodeSelectorTerm(requirements=[models]))
    return shape


def _gpu_request(row: TracePod) -> GpuRequest:
    if row.gpu_milli == WHOLE_GPU_MILLI:
        return GpuRequest(devices=row.num_gpu)
    return GpuRequest(devices=row.num_gpu, portion_milli=row.gpu_milli)
