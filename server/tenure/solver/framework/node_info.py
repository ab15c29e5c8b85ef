"""Free amounts of a node: idle and releasing, and the GPUs that several tasks share.

An allocated task takes its request from `idle` and, while it terminates, adds it to `releasing`. A pipelined
task takes its request from `releasing` (semantics R1.19). A shared device counts as one whole GPU in these
amounts, by the state of all its tasks (semantics R1.23).
"""

from tenure.solver.model.node import Node
from tenure.solver.model.placement import PIPELINED, RELEASING
from tenure.solver.model.resources import FIXED, NOTHING, WHOLE_GPU, MutableVector
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.ledger_view import FreeDevice, NodeInfoView


class SharedResource:
    """A resource that several tasks use: allocated as a whole while any task uses a part of it."""

    __slots__ = ("allocated", "releasing", "used")

    def __init__(self) -> None:
        self.used = 0
        """Amount used by tasks in any state, including pipelined ones."""
        self.allocated = 0
        """Amount used by allocated tasks, including terminating ones."""
        self.releasing = 0
        """Amount used by terminating tasks, minus that of pipelined tasks."""

    def charge(self, use: int, part: int) -> None:
        """Add the part of a task, or remove it with a negative amount."""
        self.used += part
        if use == PIPELINED:
            self.releasing -= part
            return
        self.allocated += part
        if use == RELEASING:
            self.releasing += part

    @property
    def active(self) -> int:
        """Amount used by allocated and pipelined tasks that do not terminate."""
        return self.allocated - self.releasing

    @property
    def is_releasing(self) -> bool:
        """Whether it will be free as a whole: all of its tasks terminate, and none is pipelined."""
        return self.allocated > 0 and self.used <= self.releasing

    def whole_devices(self) -> tuple[int, int]:
        """Number of whole devices, 0 or 1, that it takes from `idle` and adds to `releasing`."""
        if self.allocated > 0:
            return 1, int(self.used <= self.releasing)
        return 0, -int(self.used > 0)


class SharedGpu(SharedResource):
    """One device that tasks share. Amounts are MiB of its memory."""

    __slots__ = ()

    def copy(self) -> "SharedGpu":
        """Independent copy."""
        other = SharedGpu()
        other.used, other.allocated, other.releasing = self.used, self.allocated, self.releasing
        return other

    def fits(self, memory: int, device_memory: int) -> bool:
        """Whether a task fits, now or when the terminating tasks are gone (semantics R1.24)."""
        if self.used == 0 or self.allocated == self.releasing:
            return False
        return device_memory - self.allocated + self.releasing - memory >= 0

    def fits_now(self, memory: int, device_memory: int) -> bool:
        """Whether a task fits now (semantics R1.25)."""
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

    @staticmethod
    def of(node: Node, mig: tuple[tuple[int, int], ...] = ()) -> "NodeInfo":
        """Free amounts of a node without tasks."""
        offered = node.allocatable
        nothing = MutableVector(NOTHING if len(offered) == FIXED else (0,) * len(offered))
        return NodeInfo(MutableVector(offered), nothing, node.gpu_memory_mib, mig)

    def copy(self) -> "NodeInfo":
        """Independent copy."""
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
        """Sum of idle and releasing amounts."""
        both = self.idle.copy()
        both.add(self.releasing)
        return both

    def charge_gpu(self, group: str, use: int, memory: int) -> None:
        """Add or remove the part of a task on a shared device, and the whole GPU that it counts as."""
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
        """Number of shared devices with this much free memory, in MiB."""
        return sum(gpu.fits(memory, self.device_memory) for gpu in self.gpus.values())

    def largest_free_share(self) -> int:
        """Most MiB that a task can get on a shared device, now or soon; -1 without shared devices."""
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

    def free_shared_milli(self) -> int:
        """Free parts of devices in shared use, in thousandths. A device that is released is whole again."""
        shared = [gpu for gpu in self.gpus.values() if gpu.used > 0 and not gpu.is_releasing]
        free = [max(0, self.device_memory - gpu.allocated + gpu.releasing) for gpu in shared]
        return sum([memory * WHOLE_GPU // self.device_memory for memory in free])

    def free_parts(self) -> tuple[int, ...]:
        """MiB that are free now or soon on each device in shared use that has any, smallest first."""
        if not self.gpus:
            return ()
        parts = list[int]()
        for gpu in self.gpus.values():
            free = self.device_memory - gpu.allocated + gpu.releasing
            if gpu.allocated != gpu.releasing and free > 0:
                parts.append(free)
        parts.sort()
        return tuple(parts)

    def shared_devices(self) -> tuple[FreeDevice, ...]:
        """Each device in shared use that has a free part, by name."""
        found, size = list[FreeDevice](), self.device_memory
        for name, gpu in sorted(self.gpus.items()):
            free = size - gpu.allocated + gpu.releasing
            if gpu.allocated != gpu.releasing and free > 0:
                found.append(FreeDevice(name, free, size))
        return tuple(found)

    def overused_gpu_milli(self) -> int:
        """Use of devices beyond their memory, in thousandths of a GPU. Other devices cannot serve it."""
        used = [_milli_rounded_up(gpu.allocated, self.device_memory) for gpu in self.gpus.values()]
        return sum([max(0, milli - WHOLE_GPU) for milli in used])


def _milli_rounded_up(memory: int, device_memory: int) -> int:
    """Part of a device in thousandths, rounded up to a hundredth."""
    return -(-memory * 100 // device_memory) * 10
