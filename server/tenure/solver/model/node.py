"""Nodes, and their NUMA zones: parts with nearby CPUs, memory and devices (semantics R9.40)."""

from enum import IntEnum
from typing import Final, NamedTuple

from tenure.solver.model.constraints import OtherPods, Taint
from tenure.solver.model.facts import NodeFacts
from tenure.solver.model.fast_dataclass import fast_dataclass
from tenure.solver.model.resources import GPU, Vector

HOSTNAME: Final = "kubernetes.io/hostname"
"""The label that is unique to a node."""


class NumaPolicy(IntEnum):
    """How strictly a node aligns pods with zones; numbers as on the wire."""

    NONE = 0
    BEST_EFFORT = 1
    RESTRICTED = 2
    SINGLE_NUMA_NODE = 3


class NumaZone(NamedTuple):
    """One zone. `available` None: allocatable minus the known use of tasks."""

    id: str
    allocatable: Vector
    available: Vector | None = None


class MigStrategy(IntEnum):
    """How GPUs of a node are partitioned (semantics R1.28)."""

    NONE = 0
    SINGLE = 1
    MIXED = 2


@fast_dataclass(slots=True, init=False)
class Node:
    """A machine. `index` is its rank by name, so comparing indices compares names."""

    index: Final[int]
    facts: Final[NodeFacts]
    allocatable: Final[Vector]
    """With the devices of resource slices."""
    gpu_memory_mib: Final[int]
    gpu_memory_known: Final[bool]
    taints: Final[tuple[Taint, ...]]
    unready: Final[str]
    """Why the node accepts no pods; empty if ready (semantics R1.32)."""
    mig_strategy: Final[MigStrategy]
    has_mig: Final[bool]
    claimable_gpu_milli: Final[int]
    """GPUs among the allocatable ones that resource claims can allocate."""
    numa_policy: Final[NumaPolicy]
    numa_zones: Final[tuple[NumaZone, ...]]
    other_pods: Final[tuple[OtherPods, ...]]
    """Pods on the node that are no tasks."""

    def __init__(
        self,
        *,
        index: int,
        facts: NodeFacts,
        allocatable: Vector,
        gpu_memory_mib: int = 100,
        gpu_memory_known: bool = False,
        taints: tuple[Taint, ...] = (),
        unready: str = "",
        mig_strategy: MigStrategy = MigStrategy.NONE,
        has_mig: bool = False,
        claimable_gpu_milli: int = 0,
        numa_policy: NumaPolicy = NumaPolicy.NONE,
        numa_zones: tuple[NumaZone, ...] = (),
        other_pods: tuple[OtherPods, ...] = (),
    ) -> None:
        self.index = index
        self.facts = facts
        self.allocatable = allocatable
        self.gpu_memory_mib = gpu_memory_mib
        self.gpu_memory_known = gpu_memory_known
        self.taints = taints
        self.unready = unready
        self.mig_strategy = mig_strategy
        self.has_mig = has_mig
        self.claimable_gpu_milli = claimable_gpu_milli
        self.numa_policy = numa_policy
        self.numa_zones = numa_zones
        self.other_pods = other_pods

    @property
    def has_only_claimable_gpus(self) -> bool:
        """Whether all its GPUs come from resource slices, which cannot be shared in portions (R1.30)."""
        return 0 < self.allocatable[GPU] == self.claimable_gpu_milli

    @property
    def is_cpu_only(self) -> bool:
        """Whether the node has no GPU in any form (semantics R1.29)."""
        return self.allocatable[GPU] <= 0 and self.mig_strategy is MigStrategy.NONE and not self.has_mig
