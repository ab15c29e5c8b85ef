"""What groups in flight make of a cluster: who is about to leave, and who is about to start.

The caller sends what it saw; what it asked for and did not see yet comes on top. A pod whose eviction was
asked for is as good as terminating, and one whose binding was asked for as good as bound. Promises are
another matter: whether they still hold is found out by `actions.fulfill`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tenure.solver.model.caller_state import InFlightDecision, InFlightGroup
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import NOWHERE, Placement, TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.terms.reasons import ReasonCode


def in_order(cluster: Cluster) -> list[int]:
    """Indices of the groups that are not expired: those that end first come first, then by id."""
    groups = cluster.in_flight
    alive = [index for index, group in enumerate(groups) if cluster.now < group.expire_time]
    return sorted(alive, key=lambda index: (groups[index].expire_time, groups[index].id))


def with_in_flight(cluster: Cluster, groups: Iterable[int]) -> tuple[Cluster, frozenset[int]]:
    """The cluster with the open evictions and bindings of these groups taken for done, and whose they are.

    A pod that several groups bind goes where the first says.
    """
    tasks, changed = cluster.tasks.next_version(), set[int]()
    for index in groups:
        group = cluster.in_flight[index]
        for step in open_evictions(cluster, group):
            leaving = cluster.tasks[step.task].placement.with_status(TaskStatus.RELEASING)
            tasks.put(step.task, replace(cluster.tasks[step.task], placement=leaving))
            changed.add(step.task)
        for step in open_bindings(cluster, group):
            if tasks[step.task].placement.status is TaskStatus.PENDING:
                bound = Placement(TaskStatus.BINDING, step.node, step.gpu_groups, zones=step.zones)
                tasks.put(step.task, replace(cluster.tasks[step.task], placement=bound))
                changed.add(step.task)
    return replace(cluster, tasks=tasks), frozenset(changed)


def open_evictions(cluster: Cluster, group: InFlightGroup) -> Iterator[InFlightDecision]:
    """Evictions of pods that are still where they were, and do not terminate."""
    for step in group.evictions:
        if step.task != NOWHERE:
            placement = cluster.tasks[step.task].placement
            if placement.status.is_allocated and placement.node == step.node:
                yield step


def open_bindings(cluster: Cluster, group: InFlightGroup) -> Iterator[InFlightDecision]:
    """Bindings of pods that still wait."""
    for step in group.bindings:
        if step.task != NOWHERE and cluster.tasks[step.task].placement.status is TaskStatus.PENDING:
            yield step


def find_invalid_reason(cluster: Cluster, group: InFlightGroup) -> Rejection | None:
    """Why a group cannot be taken up at all: what it is for, or a node that it needs, is not there."""
    bindings = list(open_bindings(cluster, group))
    is_open = bindings or group.reservations or any(open_evictions(cluster, group))
    if group.beneficiary == NOWHERE and is_open:
        return Rejection(ReasonCode.GONE, "the pod group that it is for is gone")
    if any(step.node == NOWHERE for step in (*bindings, *group.reservations)):
        return Rejection(ReasonCode.GONE, "a node that it needs is gone")
    if not all(_names_its_devices(cluster, step) for step in bindings):
        return Rejection(ReasonCode.NO_NODE_MATCHES, "a binding does not name the shared devices it takes")
    return None


def _names_its_devices(cluster: Cluster, step: InFlightDecision) -> bool:
    gpu, groups = cluster.tasks[step.task].shape.gpu, step.gpu_groups
    if not gpu.is_shared:
        return not groups
    return len(groups) == len(set(groups)) == gpu.devices and all(groups)
