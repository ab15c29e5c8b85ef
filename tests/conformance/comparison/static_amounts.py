"""Amounts that depend only on the input. They prove that snapshot and case request the same resources."""

from collections.abc import Iterator

from tenure.v1 import snapshot_pb2

from tests.conformance.cases import Json
from tests.conformance.conversion.workload import task_shape

TOLERANCE = 1e-9


def amount_differences(job: Json, tasks: list[Json], wanted: Json) -> Iterator[str]:
    """Compare requested GPUs, and CPU and memory if the case sets them, with the shapes of the snapshot."""
    shapes = [task_shape(task) for task in tasks]
    actual = {
        "gpus_required": sum(_gpus(shape) for shape in shapes),
        "cpu_milli_required": sum(shape.requests.cpu_milli for shape in shapes),
        "memory_bytes_required": sum(shape.requests.memory_bytes for shape in shapes),
    }
    for name, amount in actual.items():
        if wanted[name] is not None and abs(wanted[name] - amount) > TOLERANCE:
            yield f"job {job['name']}: expected {name} {wanted[name]}, the snapshot asks for {amount}"


def _gpus(shape: snapshot_pb2.PodShape) -> float:
    """Whole devices and portions, in hundredths. A request for GPU memory counts as 0 before placement."""
    gpu = shape.gpu
    if gpu.WhichOneof("share") == "memory_mib":
        return 0.0
    portion_milli = gpu.portion_milli if gpu.WhichOneof("share") else 1000
    return round(portion_milli / 10) * gpu.devices / 100
