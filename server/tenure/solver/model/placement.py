"""Placement of a task: node, status and devices."""

from enum import IntEnum
from typing import Final, NamedTuple

from tenure.solver.model.resources import Amounts

NOWHERE: Final = -1
"""Node index of a task without a node."""


class NumaPlacement(NamedTuple):
    """Resources of a task in one zone of its node, by the zone's position."""

    zone: int
    amounts: Amounts


Zones = tuple[NumaPlacement, ...]
"""Zones of a task, lowest first; empty if it is not aligned or they are unknown."""


class TaskStatus(IntEnum):
    """Status of a task (semantics R1.40)."""

    PENDING = 1
    GATED = 2
    PIPELINED = 3
    BINDING = 4
    BOUND = 5
    RUNNING = 6
    RELEASING = 7
    STUCK_IN_RELEASING = 8
    SUCCEEDED = 9
    FAILED = 10
    UNKNOWN = 11

    @property
    def is_allocated(self) -> bool:
        """Whether it is binding, bound or running."""
        return TaskStatus.BINDING <= self <= TaskStatus.RUNNING

    @property
    def is_active_allocated(self) -> bool:
        """Whether it is allocated or pipelined."""
        return TaskStatus.PIPELINED <= self <= TaskStatus.RUNNING

    @property
    def is_active_used(self) -> bool:
        """Whether it occupies a node in any way, terminating included."""
        return TaskStatus.PIPELINED <= self <= TaskStatus.STUCK_IN_RELEASING

    @property
    def is_alive(self) -> bool:
        """Whether it is active allocated, pending or gated."""
        return TaskStatus.PENDING <= self <= TaskStatus.RUNNING


ALLOCATED: Final = 1
RELEASING: Final = 2
PIPELINED: Final = 3
_USES: Final = {
    TaskStatus.PIPELINED: PIPELINED,
    TaskStatus.BINDING: ALLOCATED,
    TaskStatus.BOUND: ALLOCATED,
    TaskStatus.RUNNING: ALLOCATED,
    TaskStatus.RELEASING: RELEASING,
    TaskStatus.STUCK_IN_RELEASING: ALLOCATED,
}
_FACTS: Final = [(0, False, False)] + [
    (_USES.get(status, 0), status.is_active_allocated, status.is_allocated) for status in TaskStatus
]
"""Properties of placements by status."""


class Placement:
    """Node and status of a task. `gpu_groups` names the shared devices it uses.

    A relocated task is pipelined here while it still releases its previous placement: `leaving`. `zones` is
    its use of the NUMA zones of the node, as far as known. Immutable.
    """

    __slots__ = (
        "gpu_groups",
        "is_active_allocated",
        "is_allocated",
        "node",
        "previous",
        "status",
        "use",
        "zones",
    )

    def __init__(
        self,
        status: TaskStatus,
        node: int = NOWHERE,
        gpu_groups: tuple[str, ...] = (),
        previous: "Placement | None" = None,
        zones: Zones = (),
    ) -> None:
        self.status = status
        self.use, self.is_active_allocated, self.is_allocated = _FACTS[status]
        """Use of the node: 0 for none, HELD, RELEASING or PIPELINED."""
        self.node = node
        self.gpu_groups = gpu_groups
        self.previous = previous
        self.zones = zones

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Placement):
            return NotImplemented
        return (
            self.status is other.status
            and self.node == other.node
            and self.previous == other.previous
            and self.gpu_groups == other.gpu_groups
            and self.zones == other.zones
        )

    def __hash__(self) -> int:
        return hash((self.status, self.node, self.gpu_groups, self.previous, self.zones))

    def __repr__(self) -> str:
        rest = (self.gpu_groups, self.previous, self.zones)
        return f"Placement({self.status.name}, {self.node}, {', '.join(map(repr, rest))})"

    def with_status(self, status: TaskStatus) -> "Placement":
        """Same placement with another status."""
        return Placement(status, self.node, self.gpu_groups, self.previous, self.zones)

    def is_present_on(self, node: int) -> bool:
        """Whether the task is on the node, or still releases capacity there."""
        return node == self.node or (self.previous is not None and self.previous.is_present_on(node))
