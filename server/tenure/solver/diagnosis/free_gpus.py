"""GPUs that are free on a node and given to no pod (semantics R13.51).

A pod with reserved capacity takes first what other pods of its node release, then what is idle. What it takes
of the idle GPUs is not free, although it does not run yet.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, final

from tenure.solver.framework.ledger import Ledger
from tenure.solver.framework.session import Session
from tenure.solver.model.placement import NOWHERE, TaskStatus
from tenure.solver.model.resources import GPU
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.reservations.node_reservations import whole_demand
from tenure.solver.search.node_order import AllowedNodes, bits

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


class FreeSum(NamedTuple):
    """GPUs of the nodes that pods of a shape may use, in thousandths."""

    total: int
    free: int
    largest: int  # free on one node
    fitting: int
    """Pods for which a node has enough free GPUs."""


@final
class FreeSums:
    """By shape, and for each owner of a planned start, to which its own reservation is free."""

    def __init__(self, session: Session, allowed: AllowedNodes) -> None:
        self._session = session
        self._allowed = allowed
        self._owners = {row.pod_group for row in session.planned_starts or ()}
        self._known: dict[tuple[int, int], FreeSum] = {}
        self._free: FreeGpus | None = None

    def of(self, pod_group: int, tasks: Sequence[int]) -> FreeSum | None:
        """For tasks of one shape; None: they have several, or request none."""
        cluster = self._session.cluster
        shape = cluster.tasks[tasks[0]].shape
        per_pod = self._session.ledger.request_share(shape)[GPU]
        if not per_pod or any(cluster.tasks[task].shape is not shape for task in tasks):
            return None
        key = shape.index, pod_group if cluster.pod_groups[pod_group].facts.uid in self._owners else -1
        if key not in self._known:
            self._known[key] = self._sum(pod_group, shape, per_pod)
        return self._known[key]

    def _sum(self, pod_group: int, shape: TaskShape, per_pod: int) -> FreeSum:
        total = free = largest = fitting = 0
        nodes = self._session.cluster.nodes
        self._free = self._free or FreeGpus(self._session.ledger)
        kept = kept_by_planned_starts(self._session, pod_group)
        for node in bits(self._allowed.of(shape)):
            self._session.stop.check()
            idle = self._free.on(node, kept)
            total += nodes[node].allocatable[GPU]
            free += idle
            largest = max(largest, idle)
            fitting += idle // per_pod
        return FreeSum(total, free, largest, fitting)
