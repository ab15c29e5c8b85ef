"""Amounts of resources: dense integer vectors over one shared list of names (semantics R1.1).

The first four slots are fixed: CPU in milli-cores, memory in bytes, GPUs in thousandths of a device,
pod slots. Every other countable resource of the cluster, MIG profiles included, has a slot after them.
"""

import re
from typing import Final, NamedTuple

CPU: Final = 0
MEMORY: Final = 1
GPU: Final = 2
PODS: Final = 3
FIXED_SLOTS: Final = ("cpu", "memory", "nvidia.com/gpu", "pods")

WHOLE_GPU: Final = 1000
"""Thousandths in one GPU."""

UNLIMITED: Final = -1
"""A quota or limit that does not bind (semantics R1.12)."""

Vector = tuple[int, ...]
"""One amount per slot."""

NOTHING: Final[Vector] = (0,) * len(FIXED_SLOTS)

Amounts = tuple[tuple[int, int], ...]
"""Some slots with an amount of each; what is not named is zero."""

Share = tuple[int, int, int]
"""CPU, memory and GPU: what queues share, indexed with the same constants as a Vector."""

NO_SHARE: Final[Share] = (0, 0, 0)

MIG_PREFIX: Final = "nvidia.com/mig-"
_PORTIONS: Final = re.compile(r"[0-9]{1,2}")


class GpuRequest(NamedTuple):
    """How a task wants its GPUs (semantics R1.5): whole devices, a portion of each, or memory on each."""

    devices: int = 0
    portion_milli: int = WHOLE_GPU
    memory_mib: int = 0

    @property
    def is_shared(self) -> bool:
        """Whether it asks for a part of a device rather than for whole ones (semantics R1.10)."""
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
    """Name of the slot that counts devices of a class; no resource has it, for want of the space."""
    return f"device class {device_class}"


def is_gpu_class(device_class: str) -> bool:
    """Whether devices of the class are GPUs (semantics R9.41)."""
    return "gpu" in device_class.lower()
