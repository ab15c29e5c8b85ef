"""Effects of in-flight groups on a cluster: pods that will terminate, and pods that will start.

The snapshot contains what the caller observed. Decisions that were sent and are not visible yet are added: a
pod with an open eviction counts as terminating, a pod with an open binding as bound. Reservations may no
longer be possible; `actions.fulfill` checks them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from tenure.solver.model.caller_state import InFlightDecision, InFlightGroup
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import NOWHERE, Placement, TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.terms.reasons import ReasonCode

GOING: Final = (TaskStatus.RELEASING, TaskStatus.STUCK_IN_RELEASING)
"""Statuses of pods that terminate."""


def in_order(cluster: Cluster) -> list[int]:
    """Indices of the groups that are not expired, by expire time, then the more important beneficiary first.

    The last of them is the first to be given up. Groups with notices are not among them: nothing of them was
    applied yet (`actions.notice_groups`).
    """
    alive = [
        i
        for i, group in enumerate(cluster.in_flight)
        if cluster.now < group.expire_time and not group.notices
    ]
    return sorted(alive, key=lambda index: _rank(cluster, cluster.in_flight[index]))


def _rank(cluster: Cluster, group: InFlightGroup) -> tuple[int, int, int, str]:
    """Sort key: groups of one cycle expire together, so the priority and age of the beneficiary decide."""
    if group.beneficiary == NOWHERE:
        return group.expire_time, 0, 0, group.id
    facts = cluster.pod_groups[group.beneficiary].facts
    return group.expire_time, -facts.priority, facts.creation, group.id


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


def evicted_until(cluster: Cluster) -> dict[str, int]:
    """When the last in-flight group that evicts a pod expires, by uid."""
    found: dict[str, int] = {}
    for group in cluster.in_flight:
        for step in group.evictions:
            found[step.pod] = max(group.expire_time, found.get(step.pod, 0))
    return found


def open_reservations(
    cluster: Cluster, group: InFlightGroup, evicted: Mapping[str, int]
) -> Iterator[InFlightDecision]:
    """Reservations that are not used up; `evicted` as by `evicted_until`.

    A pod that a later group evicts, or that leaves a node from which its own group does not evict it, had
    started: neither the pod nor its successor has that reservation any more.
    """
    own = {(step.pod, step.node) for step in group.evictions}
    for step in group.reservations:
        is_used = evicted.get(step.pod, 0) > group.expire_time
        if step.task != NOWHERE and not is_used:
            placement = cluster.tasks[step.task].placement
            is_used = placement.status in GOING and (step.pod, placement.node) not in own
        if not is_used:
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
