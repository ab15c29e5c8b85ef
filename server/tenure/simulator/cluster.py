"""The cluster of a run as a snapshot without workloads: nodes, queues, and the shapes of all jobs."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from tenure.simulator.jobs import GPU_KIND_LABEL, WHOLE_GPU, Job
from tenure.v1.snapshot_pb2 import (
    SELECTOR_OPERATOR_IN,
    ClusterSnapshot,
    Node,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodShape,
    Queue,
)

CLUSTER_ID: Final = "simulation"
_PATTERN: Final = re.compile(r"([0-9]{1,6})x([0-9]{1,6})(?::([^,:]{1,63}))?")
_PLENTY: Final = 10**9
"""CPU in milli-cores and memory in MiB of a node for which only the GPUs are known."""
_MIB: Final = 1 << 20
_PODS: Final = 10**6


class NodeSort(NamedTuple):
    """So many equal nodes."""

    nodes: int
    gpus: int
    gpu_kind: str = ""
    """Kind of their GPUs; empty: not stated."""


def parse_nodes(text: str) -> list[NodeSort]:
    """Nodes of a text such as `64x8` or `8x8:V100,4x2:T4`. Raises ValueError."""
    found = []
    for part in text.split(","):
        match = _PATTERN.fullmatch(part.strip())
        if match is None or not int(match[1]) or not int(match[2]):
            raise ValueError(
                f"{part.strip()!r} is not COUNTxGPUS, such as 64x8, or COUNTxGPUS:KIND, such as 8x8:V100"
            )
        found.append(NodeSort(int(match[1]), int(match[2]), match[3] or ""))
    return found


def build_nodes(sorts: Sequence[NodeSort]) -> list[Node]:
    """Nodes of these sorts, with more CPU and memory than GPU jobs use."""
    nodes: list[Node] = []
    for sort in sorts:
        for _ in range(sort.nodes):
            node = Node(name=f"node-{len(nodes):05d}")
            node.allocatable.cpu_milli = _PLENTY
            node.allocatable.memory_bytes = _PLENTY * _MIB
            node.allocatable.gpu_milli = sort.gpus * WHOLE_GPU
            node.allocatable.pods = _PODS
            if sort.gpu_kind:
                node.labels[GPU_KIND_LABEL] = sort.gpu_kind
            nodes.append(node)
    return nodes


def equal_nodes(count: int, gpus: int) -> list[Node]:
    """Equal nodes, with more CPU and memory than GPU jobs use."""
    return build_nodes([NodeSort(count, gpus)])


def equal_queues(names: Sequence[str], total_gpu_milli: int) -> list[Queue]:
    """Leaf queues that share all GPUs equally, by quota and beyond."""
    queues = []
    for name in names:
        queue = Queue(name=name)
        queue.gpu_milli.quota = total_gpu_milli // len(names)
        queue.gpu_milli.over_quota_weight = 1
        queues.append(queue)
    return queues


def shape_id(job: Job) -> str:
    """ID of the shape of the pods of a job."""
    kinds = f"-kind-{'|'.join(job.gpu_kinds)}" if job.gpu_kinds else ""
    return f"gpu-{job.gpu_milli}-cpu-{job.cpu_milli}-memory-{job.memory_bytes}{kinds}"


def shapes(jobs: Sequence[Job]) -> list[PodShape]:
    """Shapes of all jobs, by ID. All are known from the start, so that a state only changes in workloads."""
    found: dict[str, PodShape] = {}
    for job in jobs:
        key = shape_id(job)
        if key in found:
            continue
        shape = found[key] = PodShape(id=key)
        shape.requests.cpu_milli, shape.requests.memory_bytes = job.cpu_milli, job.memory_bytes
        devices, portion = divmod(job.gpu_milli, WHOLE_GPU)
        if devices or portion:
            shape.gpu.devices = devices or 1
            if portion:
                shape.gpu.portion_milli = portion
        if job.gpu_kinds:
            requirement = NodeSelectorRequirement(
                key=GPU_KIND_LABEL, operator=SELECTOR_OPERATOR_IN, values=job.gpu_kinds
            )
            shape.node_affinity.append(NodeSelectorTerm(requirements=[requirement]))
    return [found[key] for key in sorted(found)]


def build_cluster(nodes: Sequence[Node], queues: Sequence[Queue], jobs: Sequence[Job]) -> ClusterSnapshot:
    """The snapshot before the first job."""
    return ClusterSnapshot(cluster_id=CLUSTER_ID, nodes=nodes, queues=queues, shapes=shapes(jobs))


def gpu_milli_of(nodes: Sequence[Node]) -> int:
    """Thousandths of a GPU of all nodes."""
    return sum(node.allocatable.gpu_milli for node in nodes)
