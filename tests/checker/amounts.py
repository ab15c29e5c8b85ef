"""Amounts that a pod shape requests: on a node, on a shared device and in its queue."""

from collections import Counter
from fractions import Fraction

from tenure.v1 import resources_pb2, snapshot_pb2

from tests.checker.rules.claims import devices_of

MIG_PREFIX = "nvidia.com/mig-"
WHOLE_MILLI = 1000


def offered_resources(node: snapshot_pb2.Node) -> Counter[str]:
    """Amounts of every resource that the node offers; GPUs in devices."""
    total = node.allocatable
    return Counter(
        {
            "cpu": total.cpu_milli,
            "memory": total.memory_bytes,
            "pods": total.pods,
            "gpu devices": total.gpu_milli // WHOLE_MILLI,
            **total.extended,
        }
    ) + devices_of(dict(node.devices))


def requested_resources(shape: snapshot_pb2.PodShape) -> Counter[str]:
    """Amounts of every node resource that one pod uses.

    Shared devices are not included; they are counted by device.
    """
    requests = shape.requests
    return Counter(
        {
            "cpu": requests.cpu_milli,
            "memory": requests.memory_bytes,
            "pods": 1,
            "gpu devices": 0 if is_shared(shape.gpu) else shape.gpu.devices,
            **requests.extended,
        }
    )


def is_shared(gpu: resources_pb2.GpuRequest) -> bool:
    """Whether the request is for a share of a device."""
    share = gpu.WhichOneof("share")
    return gpu.devices > 0 and (
        share == "memory_mib" or (share is not None and gpu.portion_milli < WHOLE_MILLI)
    )


def is_mig(shape: snapshot_pb2.PodShape) -> bool:
    """Whether the shape requests slices of a partitioned GPU."""
    return any(name.startswith(MIG_PREFIX) and count for name, count in shape.requests.extended.items())


def device_milli(shape: snapshot_pb2.PodShape, node: snapshot_pb2.Node) -> Fraction:
    """Exact share of one device of the node that a sharing pod uses, in thousandths."""
    if shape.gpu.WhichOneof("share") == "memory_mib":
        return Fraction(shape.gpu.memory_mib * WHOLE_MILLI, node.gpu_memory_mib or 1)
    return Fraction(shape.gpu.portion_milli)


def queue_usage(shape: snapshot_pb2.PodShape, node: snapshot_pb2.Node) -> Counter[str]:
    """Usage that a pod adds to its queue: device shares in hundredths, MIG slices by leading number."""
    slices = sum(
        int(name.removeprefix(MIG_PREFIX).partition("g")[0]) * count * WHOLE_MILLI
        for name, count in shape.requests.extended.items()
        if name.startswith(MIG_PREFIX)
    )
    gpu_milli = shape.gpu.devices * _milli_in_hundredths(shape, node) + slices
    return Counter(cpu=shape.requests.cpu_milli, memory=shape.requests.memory_bytes, gpu=gpu_milli)


def _milli_in_hundredths(shape: snapshot_pb2.PodShape, node: snapshot_pb2.Node) -> int:
    if not is_shared(shape.gpu):
        return WHOLE_MILLI
    if shape.gpu.WhichOneof("share") == "memory_mib":
        return -(-shape.gpu.memory_mib * 100 // (node.gpu_memory_mib or 1)) * 10
    return (shape.gpu.portion_milli + 5) // 10 * 10
