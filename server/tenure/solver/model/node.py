"""Nodes: what a machine offers."""

from collections.abc import Mapping
from enum import IntEnum

from tenure.solver.model.constraints import Taint
from tenure.solver.model.numa import NumaPolicy, NumaZone
from tenure.solver.model.record import record
from tenure.solver.model.resources import GPU, Vector


class MigStrategy(IntEnum):
    """How GPUs of a node are partitioned (semantics R1.28)."""

    NONE = 0
    SINGLE = 1
    MIXED = 2


@record(frozen=True, slots=True)
class Node:
    """A machine. `index` is its rank by name, so comparing indices compares names."""

    index: int
    name: str
    allocatable: Vector
    labels: Mapping[str, str]
    gpu_memory_mib: int = 100
    gpu_memory_known: bool = False
    taints: tuple[Taint, ...] = ()
    unready: str = ""
    """Why the node takes no pods; empty when it is ready (semantics R1.32)."""
    mig_strategy: MigStrategy = MigStrategy.NONE
    has_mig: bool = False
    claimable_gpu_milli: int = 0
    """GPUs among the allocatable ones that device claims can be given."""
    numa_policy: NumaPolicy = NumaPolicy.NONE
    numa_zones: tuple[NumaZone, ...] = ()

    @property
    def has_only_claimable_gpus(self) -> bool:
        """Whether all its GPUs come from resource slices, which cannot be shared in part (R1.30)."""
        return 0 < self.allocatable[GPU] == self.claimable_gpu_milli

    @property
    def is_cpu_only(self) -> bool:
        """Whether the node has no GPU in any form (semantics R1.29)."""
        return self.allocatable[GPU] <= 0 and self.mig_strategy is MigStrategy.NONE and not self.has_mig
