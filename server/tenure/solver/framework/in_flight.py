"""Effects of in-flight groups on a cluster: pods that will terminate, and pods that will start.

The snapshot contains what the caller observed. Decisions that were sent and are not visible yet are added: a
pod with an open eviction counts as terminating, a pod with an open binding as bound. Reservations may no
longer be possible; `actions.fulfill` checks them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tenure.solver.model.caller_state import InFlightDecision, InFlightGroup
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import NOWHERE, Placement, TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.terms.reasons import ReasonCode


def in_order(cluster: Cluster) -> list[int]:
    """Indices of the groups that are not expired, by expire time, then by id.

    Groups with notices are not among them: nothing of them was applied yet (`actions.notice_groups`).
    """
    groups = cluster.in_flight
    alive = [i for i, group in enumerate(groups) if cluster.now < group.expire_time and not group.notices]
    return sorted(alive, key=lambda index: (groups[index].expire_time, groups[index].id))


def with_in_flight(cluster: Cluster, groups: Iterable[int]) -> tuple[Cluster, frozenset[int]]:
    """The cluster with the open evictions and bindings of these groups applied, and the tasks concerned.

    A pod that several groups bind goes to the node of the first group. An eviction that a disruption budget
    does not take into account spends from it (semantics R15.3).
    """
    tasks, changed, spent = cluster.tasks.next_version(), set[int](), Counter[str]()
    counted = {budget.name: budget.counted_pods for budget in cluster.disruption_budgets}
    for index in groups:
        group = cluster.in_flight[index]
        for step in open_evictions(cluster, group):
            if step.task not in changed and cluster.tasks[step.task].placement.status is TaskStatus.RUNNING:
                facts = cluster.tasks[step.task].facts
                names = facts.disruption_budgets
                spent.update([name for name in names if facts.uid not in counted.get(name, ())])
            leaving = cluster.tasks[step.task].placement.with_status(TaskStatus.RELEASING)
            tasks.put(step.task, cluster.tasks[step.task].placed(leaving))
            changed.add(step.task)
        for step in open_bindings(cluster, group):
            if tasks[step.task].placement.status is TaskStatus.PENDING:
                bound = Placement(TaskStatus.BINDING, step.node, step.gpu_groups, zones=step.zones)
                tasks.put(step.task, cluster.tasks[step.task].placed(bound))
                changed.add(step.task)
    budgets = tuple([each._replace(in_flight=spent[each.name]) for each in cluster.disruption_budgets])
    return replace(cluster, tasks=tasks, disruption_budgets=budgets), frozenset(changed)


def open_evictions(cluster: Cluster, group: InFlightGroup) -> Iterator[InFlightDecision]:
    """Evictions of pods that are still where they were, and do not terminate."""
    for step in group.evictions:
        if step.task != NOWHERE:
            placement = cluster.tasks[step.task].placement
            if placement.status.is_allocated and placement.node == step.node:
                yield step


def open_bindings(cluster: Cluster, group: InFlightGroup) -> Iterator[InFlightDecision]:
    """Bindings of pods that are still pending."""
    for step in group.bindings:
        if step.task != NOWHERE and cluster.tasks[step.task].placement.status is TaskStatus.PENDING:
            yield step


def find_invalid_reason(cluster: Cluster, group: InFlightGroup) -> Rejection | None:
    """Why a group cannot be fulfilled at all: its beneficiary, a node or a device name is missing."""
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


@dataclass(slots=True)
class NoticeState:
    """What `actions.notice_groups` found before the actions of a cycle; read when decisions are folded."""

    kept: set[str] = field(default_factory=set)
    """IDs of in-flight groups that are not due: their commits are no decisions."""
    evict_times: dict[int, int] = field(default_factory=dict)
    """When pods are to be evicted for a beneficiary, in nanoseconds."""
    nodes: set[int] = field(default_factory=set)
    """Nodes of pods whose notices stand."""
    withdrawn: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    """In-flight groups whose notices are withdrawn, with the tasks that run on."""
