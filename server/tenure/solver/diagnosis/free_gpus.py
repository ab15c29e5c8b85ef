"""GPUs that are free on a node and given to no pod (semantics R13.51).

A pod with reserved capacity takes first what other pods of its node release, then what is idle. What it takes
of the idle GPUs is not free, although it does not run yet.
"""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, final

from tenure.solver.framework.ledger import Ledger
from tenure.solver.framework.session import Session
from tenure.solver.model.placement import NOWHERE, TaskStatus
from tenure.solver.model.resources import GPU
from tenure.solver.reservations.node_reservations import whole_demand

NOTHING_KEPT: Final[Mapping[int, int]] = MappingProxyType({})


@final
class FreeGpus:
    """As the ledger was when this was made; amounts in thousandths of a GPU."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger: Final = ledger
        self._leaving, self._given = Counter[int](), Counter[int]()
        """By node: what pods release, and what others have been given of that or of what is idle."""
        for task, placement in enumerate(ledger.placements):
            previous = placement.previous
            if previous is not None:
                self._leaving[previous.node] += ledger.freed_gpu_milli(task)
            if placement.status is TaskStatus.RELEASING:
                self._leaving[placement.node] += ledger.freed_gpu_milli(task)
            elif placement.status is TaskStatus.PIPELINED:
                self._given[placement.node] += ledger.freed_gpu_milli(task)

    def on(self, node: int, kept: Mapping[int, int] = NOTHING_KEPT) -> int:
        """What is idle on a node, given to no pod that waits for it, and not kept there."""
        beyond = max(0, self._given[node] - self._leaving[node]) + kept.get(node, 0)
        return max(0, self._ledger.node_infos[node].idle_gpu_milli() - beyond)

    def leaving(self, node: int) -> int:
        """What pods release on a node, and no other pod has been given."""
        return max(0, self._leaving[node] - self._given[node])


def kept_by_planned_starts(session: Session, pod_group: int) -> Mapping[int, int]:
    """GPUs that planned starts of other pod groups reserve, in thousandths by node."""
    if not session.planned_starts:
        return NOTHING_KEPT
    kept, cluster = Counter[int](), session.cluster
    own = cluster.pod_groups[pod_group].facts.uid
    for row in session.planned_starts:
        for place in row.places if row.pod_group != own else ():
            if NOWHERE not in (place.node, place.shape):
                kept[place.node] += whole_demand(cluster.shapes[place.shape])[GPU] * place.pods
    return kept
