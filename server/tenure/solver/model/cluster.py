"""The immutable cluster: the whole input of a cycle, with dense indices."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tenure.solver.model.caller_state import EvictionRecord, InFlightGroup
from tenure.solver.model.carried import NO_CARRIED_ROWS, CarriedRows, Row, RowKind
from tenure.solver.model.claims import ResourceClaim
from tenure.solver.model.disruption_limits import DisruptionBudget
from tenure.solver.model.node import Node
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.queue import Queue
from tenure.solver.model.resources import FIXED_SLOTS
from tenure.solver.model.snapshot_warning import SnapshotWarning
from tenure.solver.model.workload import PodGroup, Task
from tenure.solver.model.workload_parts import TaskShape


@dataclass(frozen=True, slots=True)
class Topology:
    """Node labels from the widest to the narrowest level (semantics R9.20)."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cluster:
    """State of a cluster at one time. Entities refer to each other by index into these lists."""

    now: int
    """Nanoseconds since the Unix epoch."""
    nodes: tuple[Node, ...]
    queues: tuple[Queue, ...]
    pod_groups: PersistentVector[PodGroup]
    tasks: PersistentVector[Task]
    shapes: tuple[TaskShape, ...]
    topologies: tuple[Topology, ...] = ()
    claims: tuple[ResourceClaim, ...] = ()
    resource_names: tuple[str, ...] = FIXED_SLOTS
    eviction_history: tuple[EvictionRecord, ...] = ()
    """By victim and preemptor, at most one per pair."""
    in_flight: tuple[InFlightGroup, ...] = ()
    """By ID."""
    carried: CarriedRows = NO_CARRIED_ROWS
    """Other rows that the caller stores between cycles."""
    warnings: tuple[SnapshotWarning, ...] = ()
    disruption_budgets: tuple[DisruptionBudget, ...] = ()
    """By name."""
    delayed: tuple[int, ...] = ()
    """Pod groups that wait for a time, by index (`in_flight.in_flight_groups`)."""
    changed_grants: tuple[int, ...] = ()
    """Running pod groups that request something else than their grants, by index (`grants`)."""

    def carrying(self, kind: RowKind[Row], rows: Iterable[Row]) -> "Cluster":
        """The cluster with these rows of one kind, in the order of their keys."""
        return replace(self, carried=self.carried.with_rows(kind, rows))

    @property
    def min_gpu_memory_mib(self) -> int:
        """Smallest known GPU memory above 100 MiB, else 100 (semantics R1.18 a)."""
        return min((n.gpu_memory_mib for n in self.nodes if n.gpu_memory_mib > 100), default=100)

    @property
    def max_gpu_memory_mib(self) -> int:
        """Largest known GPU memory above 100 MiB, else 100 (semantics R1.18 b)."""
        return max((n.gpu_memory_mib for n in self.nodes if n.gpu_memory_mib > 100), default=100)
