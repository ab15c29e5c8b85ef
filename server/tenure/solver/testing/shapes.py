"""Amounts from numbers that people write to the vectors of the model."""

from collections.abc import Mapping, Sequence
from typing import Final

from tenure.solver.model.constraints import Constraints
from tenure.solver.model.resources import (
    FIXED_SLOTS,
    GPU,
    WHOLE_GPU,
    Amounts,
    GpuRequest,
    device_slot,
    is_gpu_class,
    mig_gpu_milli,
)
from tenure.solver.model.workload import TaskShape
from tenure.solver.testing.options import PodOptions

CORE: Final = 1000
"""Milli-cores."""
GIB: Final = 1 << 30


class Shapes:
    """Numbers the shapes of a cluster: equal requests have one shape."""

    def __init__(self, extended: Sequence[str]) -> None:
        self.names = (*FIXED_SLOTS, *extended)
        """All resources, in the order of their slots."""
        self.all: list[TaskShape] = []
        self._known: dict[tuple[object, ...], TaskShape] = {}

    def of(self, pod: PodOptions) -> TaskShape:
        """The shape of a pod."""
        gpu, extended = _gpu(pod), pod.get("extended", {})
        whole = 0 if gpu.is_shared else gpu.devices
        request = self.vector(pod.get("cpus", 1), pod.get("memory_gib", 1), whole, 1, extended)
        constraints, guaranteed = _constraints(pod), pod.get("guaranteed", False)
        key = (request, gpu, constraints, guaranteed)
        if key not in self._known:
            mig = sum(mig_gpu_milli(name) * count for name, count in extended.items())
            number = len(self.all)
            name = f"shape-{number}"
            self._known[key] = TaskShape(number, name, request, gpu, mig, constraints, guaranteed)
            self.all.append(self._known[key])
        return self._known[key]

    def devices(self, counts: Mapping[str, int]) -> Amounts:
        """Devices by the slot of their class; GPUs in the GPU slot too."""
        amounts = {self.names.index(device_slot(name)): count for name, count in counts.items()}
        gpus = sum(count for name, count in counts.items() if is_gpu_class(name))
        return tuple(sorted({**amounts, **({GPU: gpus * WHOLE_GPU} if gpus else {})}.items()))

    def vector(
        self, cpus: float, memory_gib: float, gpus: int, pods: int, extended: Mapping[str, int]
    ) -> tuple[int, ...]:
        """One amount per slot."""
        fixed = (round(cpus * CORE), round(memory_gib * GIB), gpus * WHOLE_GPU, pods)
        return (*fixed, *(extended.get(name, 0) for name in self.names[len(FIXED_SLOTS) :]))


def _gpu(pod: PodOptions) -> GpuRequest:
    gpus, memory = pod.get("gpus", 0), pod.get("gpu_memory_mib", 0)
    if memory:
        return GpuRequest(pod.get("devices", 1), 0, memory)
    if 0 < gpus < 1:
        return GpuRequest(pod.get("devices", 1), round(gpus * WHOLE_GPU))
    if gpus != int(gpus):
        raise ValueError(f"gpus={gpus}: ask for whole devices, or for a share of one, less than 1")
    return GpuRequest(int(gpus))


def _constraints(pod: PodOptions) -> Constraints:
    return Constraints(
        tuple(sorted(pod.get("node_selector", {}).items())),
        tuple(tuple(term) for term in pod.get("node_affinity", ())),
        tuple(pod.get("tolerations", ())),
        tuple(pod.get("pod_affinity", ())),
        tuple(pod.get("pod_anti_affinity", ())),
    )
