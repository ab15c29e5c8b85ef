"""Groups in flight: what of earlier decisions was accepted and is not seen done yet. Input of a cycle."""

from typing import NamedTuple

from tenure.solver.model.numa import Zones
from tenure.solver.model.placement import NOWHERE


class InFlightStep(NamedTuple):
    """One step that was accepted. Whatever is not in the cluster has the index NOWHERE."""

    pod: str
    """Uid of the pod; `task` is its index."""
    task: int
    node: int
    pod_group: int
    """Of the pod. When it moves, its successor has another uid and the same pod group."""
    gpu_groups: tuple[str, ...] = ()
    zones: Zones = ()


class InFlightGroup(NamedTuple):
    """Steps of one decision group. They count until `expires` (nanoseconds)."""

    id: str
    action: str
    beneficiary: int
    """Pod group; NOWHERE when it is gone."""
    expires: int
    evictions: tuple[InFlightStep, ...] = ()
    holds: tuple[InFlightStep, ...] = ()
    bindings: tuple[InFlightStep, ...] = ()

    @property
    def promises(self) -> list[tuple[int, list[InFlightStep]]]:
        """Holds by pod group: those of the beneficiary, then those of others that make way for it."""
        by_group: dict[int, list[InFlightStep]] = {self.beneficiary: []}
        for hold in sorted(self.holds, key=_pod_group):
            by_group.setdefault(hold.pod_group, []).append(hold)
        return [(group, holds) for group, holds in by_group.items() if holds and group != NOWHERE]


def _pod_group(step: InFlightStep) -> int:
    return step.pod_group
