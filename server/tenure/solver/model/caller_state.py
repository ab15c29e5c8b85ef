"""Groups in flight: what of earlier decisions was accepted and is not seen done yet. Input of a cycle.

What is remembered of evictions, so that pod groups do not evict each other in turn.
"""

from typing import NamedTuple

from tenure.solver.model.node import Zones
from tenure.solver.model.placement import NOWHERE


class EvictionRecord(NamedTuple):
    """One pod group's evictions for another; pod groups by index, times in nanoseconds."""

    victim: int
    preemptor: int
    last_eviction: int
    consecutive_failures: int = 0
    """Evictions in a row that came to nothing: the victim was gone and the preemptor did not start."""
    last_failure: int | None = None
    result_pending: bool = False
    """Whether it is still open what came of the last eviction."""


class InFlightDecision(NamedTuple):
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
    expire_time: int
    evictions: tuple[InFlightDecision, ...] = ()
    reservations: tuple[InFlightDecision, ...] = ()
    bindings: tuple[InFlightDecision, ...] = ()

    @property
    def reservations_by_pod_group(self) -> list[tuple[int, list[InFlightDecision]]]:
        """Holds by pod group: those of the beneficiary, then those of others that make way for it."""
        by_group: dict[int, list[InFlightDecision]] = {self.beneficiary: []}
        for hold in sorted(self.reservations, key=_pod_group):
            by_group.setdefault(hold.pod_group, []).append(hold)
        return [(group, holds) for group, holds in by_group.items() if holds and group != NOWHERE]


def _pod_group(step: InFlightDecision) -> int:
    return step.pod_group
