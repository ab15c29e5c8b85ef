"""Amounts that depend on the input only: they prove that the snapshot asks for what the case asks for."""

from collections.abc import Iterator

from tenure.v1 import snapshot_pb2

from tests.conformance.cases import Json
from tests.conformance.conversion.workload import task_shape

TOLERANCE = 1e-9


def amount_differences(job: Json, tasks: list[Json], wanted: Json) -> Iterator[str]:
    """Compares requested GPUs, and CPU and memory where the case says them, with the snapshot's shapes."""
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
    """Whole devices and portions, in hundredths; sizes given as memory count nothing before placement."""
    gpu = shape.gpu
    if gpu.WhichOneof("share") == "memory_mib":
        return 0.0
    portion_milli = gpu.portion_milli if gpu.WhichOneof("share") else 1000
    return round(portion_milli / 10) * gpu.devices / 100
