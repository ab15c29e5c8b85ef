"""Amounts of resources: dense integer vectors over one shared list of names (semantics R1.1).

The first four slots are fixed: CPU in milli-cores, memory in bytes, GPUs in thousandths of a device, pod
slots. Every other countable resource of the cluster, MIG profiles included, has a slot after them.

`MutableVector` is for amounts that change and are compared often. The resources that every node has are
attributes, at a tenth of the cost of list items.
"""

import re
from typing import Final, NamedTuple

CPU: Final = 0
MEMORY: Final = 1
GPU: Final = 2
PODS: Final = 3
FIXED_SLOTS: Final = ("cpu", "memory", "nvidia.com/gpu", "pods")

WHOLE_GPU: Final = 1000
"""One whole GPU in thousandths."""

UNLIMITED: Final = -1
"""Unlimited quota or limit (semantics R1.12)."""

Vector = tuple[int, ...]
"""One amount per slot."""

NOTHING: Final[Vector] = (0,) * len(FIXED_SLOTS)

Amounts = tuple[tuple[int, int], ...]
"""Some slots with their amounts; other slots are zero."""

Share = tuple[int, int, int]
"""CPU, memory and GPU, the resources shared among queues; indexed like a Vector."""

NO_SHARE: Final[Share] = (0, 0, 0)
NO_BOUNDS: Final[Share] = (UNLIMITED, UNLIMITED, UNLIMITED)


SHARE_NAMES: Final = ("CPU", "memory", "GPU")


def exceeded_resource(bound: Share, used: Share, demand: Share) -> str:
    """Name of the first resource of a demand that does not fit in a limit or quota; "": all of it does."""
    for name, most, now, more in zip(SHARE_NAMES, bound, used, demand, strict=True):
        if most != UNLIMITED and more > 0 and most < now + more:
            return name
    return ""


class ClassLimit(NamedTuple):
    """What a queue may use of GPUs on nodes of one class, in thousandths (semantics R19.1)."""

    node_class: str
    quota: int = UNLIMITED
    """For non-preemptible pods."""
    limit: int = UNLIMITED

    @property
    def is_cut(self) -> bool:
        """Whether the limit is below the quota, so that it counts for both (semantics R19.1)."""
        return UNLIMITED not in (self.limit, self.quota) and self.limit < self.quota

    @property
    def quota_in_force(self) -> int:
        """The quota, or the limit below it."""
        return self.limit if self.is_cut else self.quota


MIG_PREFIX: Final = "nvidia.com/mig-"
_PORTIONS: Final = re.compile(r"[0-9]{1,2}")


class GpuRequest(NamedTuple):
    """GPUs of a task (semantics R1.5): whole devices, a portion of each, or memory on each."""

    devices: int = 0
    portion_milli: int = WHOLE_GPU
    memory_mib: int = 0

    @property
    def is_shared(self) -> bool:
        """Whether it requests a share of devices instead of whole ones (semantics R1.10)."""
        return self.devices > 0 and (self.memory_mib > 0 or self.portion_milli < WHOLE_GPU)

    def gpu_milli(self) -> int:
        """GPU amount before placement: portions count in hundredths, memory counts nothing (R1.6, R1.8)."""
        if self.memory_mib:
            return 0
        return (self.portion_milli + 5) // 10 * 10 * self.devices


def mig_gpu_milli(name: str) -> int:
    """GPU amount of one slice of a MIG profile: its leading number of compute portions (semantics R1.9)."""
    if not name.startswith(MIG_PREFIX):
        return 0
    portions = name.removeprefix(MIG_PREFIX).partition("g.")[0]
    return int(portions) * WHOLE_GPU if _PORTIONS.fullmatch(portions) else 0


def device_slot(device_class: str) -> str:
    """Name of the slot that counts devices of a class; the space in it prevents conflicts with resources."""
    return f"device class {device_class}"


def is_gpu_class(device_class: str) -> bool:
    """Whether devices of the class are GPUs (semantics R9.41)."""
    return "gpu" in device_class.lower()


FIXED: Final = len(FIXED_SLOTS)
_NO_OTHERS: Final[list[int]] = []
"""Shared by all vectors without further slots; nothing is ever added."""


class MutableVector:
    """A mutable vector, indexed by slot."""

    __slots__ = ("cpu", "gpu", "memory", "others", "pods")

    def __init__(self, vector: Vector) -> None:
        self.cpu, self.memory, self.gpu, self.pods = vector[CPU], vector[MEMORY], vector[GPU], vector[PODS]
        self.others: list[int] = list(vector[FIXED:]) if len(vector) > FIXED else _NO_OTHERS

    def copy(self) -> "MutableVector":
        """Independent copy."""
        other = MutableVector(NOTHING)
        other.cpu, other.memory, other.gpu, other.pods = self.cpu, self.memory, self.gpu, self.pods
        if self.others:
            other.others = self.others.copy()
        return other

    def vector(self) -> Vector:
        """One amount per slot."""
        return (self.cpu, self.memory, self.gpu, self.pods, *self.others)

    def __getitem__(self, slot: int) -> int:
        if slot == GPU:
            return self.gpu
        if slot == CPU:
            return self.cpu
        if slot == MEMORY:
            return self.memory
        return self.pods if slot == PODS else self.others[slot - FIXED]

    def __setitem__(self, slot: int, amount: int) -> None:
        if slot == GPU:
            self.gpu = amount
        elif slot == CPU:
            self.cpu = amount
        elif slot == MEMORY:
            self.memory = amount
        elif slot == PODS:
            self.pods = amount
        else:
            self.others[slot - FIXED] = amount

    def add(self, more: "MutableVector") -> None:
        """Add amounts."""
        self.cpu += more.cpu
        self.memory += more.memory
        self.gpu += more.gpu
        self.pods += more.pods
        if more.others:
            for i, amount in enumerate(more.others):
                self.others[i] = self.others[i] + amount

    def subtract(self, less: "MutableVector") -> None:
        """Subtract amounts."""
        self.cpu -= less.cpu
        self.memory -= less.memory
        self.gpu -= less.gpu
        self.pods -= less.pods
        if less.others:
            for i, amount in enumerate(less.others):
                self.others[i] = self.others[i] - amount

    def equals(self, other: "MutableVector") -> bool:
        """Whether all amounts are the same."""
        if self.cpu != other.cpu or self.memory != other.memory or self.gpu != other.gpu:
            return False
        return self.pods == other.pods and self.others == other.others

    def cover(self, wanted: "MutableVector") -> bool:
        """Whether every amount is sufficient for `wanted`."""
        if self.gpu < wanted.gpu or self.cpu < wanted.cpu:
            return False
        if self.memory < wanted.memory or self.pods < wanted.pods:
            return False
        if wanted.others:
            for i, amount in enumerate(wanted.others):
                if self.others[i] < amount:
                    return False
        return True

    def cover_with(self, more: "MutableVector", wanted: "MutableVector") -> bool:
        """Whether the sum of these and `more` is sufficient for `wanted`."""
        if self.gpu + more.gpu < wanted.gpu or self.cpu + more.cpu < wanted.cpu:
            return False
        if self.memory + more.memory < wanted.memory or self.pods + more.pods < wanted.pods:
            return False
        if wanted.others:
            for i, amount in enumerate(wanted.others):
                if self.others[i] + more.others[i] < amount:
                    return False
        return True

    def times(self, wanted: "MutableVector", most: int) -> int:
        """How many times `wanted` fits, rounded down; `most` if `wanted` is zero."""
        if wanted.cpu:
            most = min(most, self.cpu // wanted.cpu)
        if wanted.memory:
            most = min(most, self.memory // wanted.memory)
        if wanted.gpu:
            most = min(most, self.gpu // wanted.gpu)
        if wanted.pods:
            most = min(most, self.pods // wanted.pods)
        if wanted.others:
            for i, amount in enumerate(wanted.others):
                if amount:
                    most = min(most, self.others[i] // amount)
        return most
