"""The cluster of a run as a snapshot without workloads: nodes, queues, and the shapes of all jobs."""

import re
from collections.abc import Sequence
from typing import Final

from tenure.simulator.jobs import WHOLE_GPU, Job
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Node, PodShape, Queue

CLUSTER_ID: Final = "simulation"
_PATTERN: Final = re.compile(r"([0-9]{1,6})x([0-9]{1,6})")
_PLENTY: Final = 10**9
"""CPU in milli-cores and memory in MiB of a node for which only the GPUs are known."""
_MIB: Final = 1 << 20
_PODS: Final = 10**6


def parse_nodes(text: str) -> tuple[int, int]:
    """Number of nodes and their GPUs of a text such as `64x8`. Raises ValueError."""
    match = _PATTERN.fullmatch(text)
    if match is None or not int(match[1]) or not int(match[2]):
        raise ValueError(f"{text!r} is not COUNTxGPUS, such as 64x8")
    return int(match[1]), int(match[2])


def equal_nodes(count: int, gpus: int) -> list[Node]:
    """Equal nodes, with more CPU and memory than GPU jobs use."""
    nodes = []
    for number in range(count):
        node = Node(name=f"node-{number:05d}")
        node.allocatable.cpu_milli = _PLENTY
        node.allocatable.memory_bytes = _PLENTY * _MIB
        node.allocatable.gpu_milli = gpus * WHOLE_GPU
        node.allocatable.pods = _PODS
        nodes.append(node)
    return nodes


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
    return f"gpu-{job.gpu_milli}-cpu-{job.cpu_milli}-memory-{job.memory_bytes}"


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
    return [found[key] for key in sorted(found)]


def build_cluster(nodes: Sequence[Node], queues: Sequence[Queue], jobs: Sequence[Job]) -> ClusterSnapshot:
    """The snapshot before the first job."""
    return ClusterSnapshot(cluster_id=CLUSTER_ID, nodes=nodes, queues=queues, shapes=shapes(jobs))


def gpu_milli_of(nodes: Sequence[Node]) -> int:
    """Thousandths of a GPU of all nodes."""
    return sum(node.allocatable.gpu_milli for node in nodes)
