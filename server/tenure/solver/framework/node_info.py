"""What is free on a node: idle and releasing amounts, and the GPUs that several tasks share.

A task takes from `idle` when it holds room, adds to `releasing` while it terminates, and takes from
`releasing` when it is only promised room (semantics R1.19). A device that tasks share counts as one whole
GPU in these amounts, by what its tasks do together (semantics R1.23).
"""

from tenure.solver.model.node import Node
from tenure.solver.model.placement import PIPELINED, RELEASING
from tenure.solver.model.resources import WHOLE_GPU, MutableVector
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.context import NodeInfoView


class SharedResource:
    """Something of a node that several tasks use: taken as a whole while any of them uses a part."""

    __slots__ = ("allocated", "releasing", "used")

    def __init__(self) -> None:
        self.used = 0
        """By tasks in any state, promised ones included."""
        self.allocated = 0
        """By tasks that are there, terminating ones included."""
        self.releasing = 0
        """By terminating tasks, less what is promised to others."""

    def charge(self, use: int, part: int) -> None:
        """Add (or, with a negative amount, remove) one task's part."""
        self.used += part
        if use == PIPELINED:
            self.releasing -= part
            return
        self.allocated += part
        if use == RELEASING:
            self.releasing += part

    @property
    def active(self) -> int:
        """By tasks that hold it or are promised it, terminating ones not included."""
        return self.allocated - self.releasing

    @property
    def is_releasing(self) -> bool:
        """Whether it will be free altogether: all who use it terminate, nothing is promised."""
        return self.allocated > 0 and self.used <= self.releasing

    def whole_devices(self) -> tuple[int, int]:
        """How much of it, none or the whole, is taken from what is idle and added to what is releasing."""
        if self.allocated > 0:
            return 1, int(self.used <= self.releasing)
        return 0, -int(self.used > 0)


class SharedGpu(SharedResource):
    """One device that tasks share; all amounts in MiB of its memory."""

    __slots__ = ()

    def copy(self) -> "SharedGpu":
        """The same amounts, to be changed apart."""
        other = SharedGpu()
        other.used, other.allocated, other.releasing = self.used, self.allocated, self.releasing
        return other

    def fits(self, memory: int, device_memory: int) -> bool:
        """Whether a task finds room here, now or when the terminating tasks are gone (semantics R1.24)."""
        if self.used == 0 or self.allocated == self.releasing:
            return False
        return device_memory - self.allocated + self.releasing - memory >= 0

    def fits_now(self, memory: int, device_memory: int) -> bool:
        """Whether a task finds idle room here (semantics R1.25)."""
        return self.allocated > 0 and device_memory - self.allocated - memory >= 0


class NodeInfo(NodeInfoView):
    """Free amounts of one node."""

    __slots__ = ("device_memory", "gpus", "idle", "mig", "releasing")

    def __init__(
        self,
        idle: MutableVector,
        releasing: MutableVector,
        device_memory: int,
        mig: tuple[tuple[int, int], ...],
    ) -> None:
        """`memory` of a device, in MiB; `mig`: slots of MIG profiles, with the GPU amount of one slice."""
        self.idle = idle
        self.releasing = releasing
        self.gpus: dict[str, SharedGpu] = {}
        self.device_memory = device_memory
        self.mig = mig

    @classmethod
    def of(cls, node: Node, mig: tuple[tuple[int, int], ...] = ()) -> "NodeInfo":
        """All that a node offers."""
        nothing = MutableVector((0,) * len(node.allocatable))
        return cls(MutableVector(node.allocatable), nothing, node.gpu_memory_mib, mig)

    def copy(self) -> "NodeInfo":
        """The same amounts, to be changed apart."""
        other = NodeInfo(self.idle.copy(), self.releasing.copy(), self.device_memory, self.mig)
        if self.gpus:
            other.gpus = {group: gpu.copy() for group, gpu in self.gpus.items()}
        return other

    def idle_amount(self, slot: int) -> int:
        """Idle amount of one resource."""
        return self.idle[slot]

    def free_amount(self, slot: int) -> int:
        """Idle and releasing amount of one resource."""
        return self.idle[slot] + self.releasing[slot]

    def soon(self) -> MutableVector:
        """What is idle and releasing together."""
        both = self.idle.copy()
        both.add(self.releasing)
        return both

    def charge_gpu(self, group: str, use: int, memory: int) -> None:
        """Add or remove one task's part of a shared device, and the whole GPU it stands for."""
        gpu = self.gpus.get(group)
        if gpu is None:
            gpu = self.gpus[group] = SharedGpu()
        idle, releasing = gpu.whole_devices()
        gpu.charge(use, memory)
        idle_after, releasing_after = gpu.whole_devices()
        self.idle.gpu -= (idle_after - idle) * WHOLE_GPU
        self.releasing.gpu += (releasing_after - releasing) * WHOLE_GPU
        if gpu.used == 0:
            del self.gpus[group]

    def share_memory(self, shape: TaskShape) -> int:
        """MiB that a shared request takes on each device of this node (semantics R1.17)."""
        return shape.gpu.memory_mib or max(1, shape.gpu.portion_milli * self.device_memory // WHOLE_GPU)

    def fitting_gpus(self, memory: int) -> int:
        """Number of devices in shared use that have room for another share."""
        return sum(gpu.fits(memory, self.device_memory) for gpu in self.gpus.values())

    def largest_free_share(self) -> int:
        """MiB that a task may have at most on a device in shared use, now or soon; -1: there is none."""
        most = -1
        for gpu in self.gpus.values():
            if gpu.allocated != gpu.releasing:
                most = max(most, self.device_memory - gpu.allocated + gpu.releasing)
        return most

    def idle_gpu_milli(self) -> int:
        """Idle GPUs, free parts of shared devices included, in thousandths (semantics R1.27)."""
        total = self.idle.gpu + sum(self.idle[slot] * milli for slot, milli in self.mig)
        for gpu in self.gpus.values():
            if gpu.allocated > 0:
                total += WHOLE_GPU - _milli_rounded_up(gpu.allocated, self.device_memory)
        return total

    def releasing_gpu_milli(self) -> int:
        """GPUs being released, parts of shared devices included, in thousandths (semantics R1.27)."""
        total = self.releasing.gpu + sum(self.releasing[slot] * milli for slot, milli in self.mig)
        for gpu in self.gpus.values():
            if gpu.releasing > 0 and not gpu.is_releasing:
                total += _milli_rounded_up(gpu.releasing, self.device_memory)
        return total

    def overused_gpu_milli(self) -> int:
        """By how much devices are in use beyond what they have: that is no other device's room."""
        used = [_milli_rounded_up(gpu.allocated, self.device_memory) for gpu in self.gpus.values()]
        return sum([max(0, milli - WHOLE_GPU) for milli in used])


def _milli_rounded_up(memory: int, device_memory: int) -> int:
    """Part of a device in thousandths, rounded up to a hundredth."""
    return -(-memory * 100 // device_memory) * 10
