"""Resource claims: devices that the pods of one node use together (semantics R9.41)."""

from dataclasses import dataclass
from typing import Final

from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.resources import GPU, Amounts

MAX_CONSUMERS: Final = 256
"""Maximum number of pods per claim (Kubernetes limits `reservedFor`)."""


@dataclass(frozen=True, slots=True)
class ResourceClaim:
    """Devices that tasks use together. `index` is dense, by ID."""

    index: int
    id: str
    amounts: Amounts
    """Devices by the slot of their class; GPUs in the GPU slot too."""
    queue_name: str = ""
    """Queue label."""
    from_template: bool = False
    node: int = NOWHERE
    """Node where pods outside the cluster's tasks use it."""
    other_consumers: int = 0

    @property
    def gpu_milli(self) -> int:
        """GPU amount of its devices."""
        return dict(self.amounts).get(GPU, 0)
