"""The ledger as plugins and actions see it: placements of tasks and free amounts of nodes. Read-only."""

from typing import NamedTuple, Protocol

from tenure.solver.model.placement import Placement
from tenure.solver.model.resources import Share
from tenure.solver.model.workload import Task
from tenure.solver.model.workload_parts import TaskShape


class FreeDevice(NamedTuple):
    """What is free on one device of a node, for shares of it."""

    name: str
    """Empty for a device that nothing uses."""
    free: int
    """MiB that are free now, or when terminating tasks are gone."""
    size: int
    """MiB of the whole device."""


class NodeInfoView(Protocol):
    """Free amounts of one node, by slot of a resource vector."""

    __slots__ = ()

    def idle_amount(self, slot: int) -> int:
        """Free amount."""

    def free_amount(self, slot: int) -> int:
        """Free amount, including what terminating tasks release."""

    def idle_gpu_milli(self) -> int:
        """Free GPUs in thousandths, including free parts of shared devices (semantics R1.27)."""

    def releasing_gpu_milli(self) -> int:
        """GPUs in thousandths that terminating tasks release, including parts of shared devices (R1.27)."""

    def free_shared_milli(self) -> int:
        """Free parts of devices in shared use, in thousandths of a GPU."""

    def free_parts(self) -> tuple[int, ...]:
        """Free MiB of each device in shared use, including what terminating tasks release; smallest first."""

    def shared_devices(self) -> tuple[FreeDevice, ...]:
        """Each device in shared use that has a free part, by name. A device that is released is whole again,
        and not among them.
        """

    def share_memory(self, shape: TaskShape) -> int:
        """MiB that a shared request takes on each device of the node (semantics R1.17)."""

    def fitting_gpus(self, memory: int) -> int:
        """Number of devices in shared use with this many MiB left."""


class LedgerView(Protocol):
    """Placements and what follows from them. Follows every move that is tried."""

    def placement(self, task: int) -> Placement:
        """Where the task is."""

    def node_info(self, node: int) -> NodeInfoView:
        """Free amounts of a node. Valid until the next move; do not store."""

    def share(self, task: Task, node: int) -> Share:
        """What the task counts for in its queue on this node (semantics R1.17, R2.19)."""

    def unplaced_share(self, shape: TaskShape) -> Share:
        """What a task counts for before its node is known (semantics R1.18 a)."""

    def fits_idle(self, shape: TaskShape, node: int) -> bool:
        """Whether the node has enough idle capacity (semantics R1.21, R1.26)."""

    def is_claim_active(self, claim: int) -> bool:
        """Whether a task that is not terminating uses the device claim."""
