"""Changes of a cluster as somebody would make them, and cycles that are played on afterwards.

None of this is the code that found or described a change.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, OutcomeKind
from tenure.solver.model.facts import PodGroupFacts
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.queue import Queue
from tenure.solver.model.workload import PodGroup
from tenure.solver.testing import placements
from tenure.terms.durations import SECOND

MINUTE: Final = 60 * SECOND
PLACED: Final = (OutcomeKind.BOUND, OutcomeKind.WAITING_FOR_RELEASE, OutcomeKind.WAITING_FOR_VICTIMS)
GONE: Final = Placement(TaskStatus.SUCCEEDED)


def with_group(cluster: Cluster, index: int, change: Callable[[PodGroup], PodGroup]) -> Cluster:
    """One pod group is another one."""
    groups = cluster.pod_groups.next_version()
    groups.put(index, change(cluster.pod_groups[index]))
    return replace(cluster, pod_groups=groups)


def with_group_facts(cluster: Cluster, index: int, **facts: Any) -> Cluster:
    """Facts of one pod group, and of what it asks for if its grant keeps an earlier form."""

    def change(group: PodGroup) -> PodGroup:
        changed: PodGroupFacts = replace(group.facts, **facts)
        requested = None if group.requested is None else replace(group.requested, **facts)
        return replace(group, facts=changed, requested=requested)

    return with_group(cluster, index, change)


def with_queues(cluster: Cluster, change: Callable[[Queue], Queue]) -> Cluster:
    """Every queue is what the change makes of it."""
    return replace(cluster, queues=tuple([change(queue) for queue in cluster.queues]))


def with_bound(cluster: Cluster, names: Iterable[str], bound: str, resource: int, amount: int) -> Cluster:
    """Quota or limit of queues in one resource."""
    changed = set(names)

    def change(queue: Queue) -> Queue:
        if queue.facts.name not in changed:
            return queue
        amounts = list(getattr(queue.facts, bound))
        amounts[resource] = amount
        facts: dict[str, Any] = {bound: tuple(amounts)}
        return replace(queue, facts=replace(queue.facts, **facts))

    return with_queues(cluster, change)


def with_placements(cluster: Cluster, changed: dict[int, Placement]) -> Cluster:
    """Other placements of some tasks."""
    tasks = cluster.tasks.next_version()
    for index, placement in changed.items():
        tasks.put(index, cluster.tasks[index].placed(placement))
    return replace(cluster, tasks=tasks)


def without_pending(cluster: Cluster, *kept: int) -> Cluster:
    """Nothing waits but these pod groups."""
    waiting = (TaskStatus.PENDING, TaskStatus.GATED)
    others = [
        task.index
        for task in cluster.tasks
        if task.pod_group not in kept and task.placement.status in waiting
    ]
    return with_placements(cluster, dict.fromkeys(others, GONE))


def with_more_nodes(cluster: Cluster, name: str, count: int) -> Cluster:
    """Machines like one that exists, with names and host names of their own."""
    like = next(node for node in cluster.nodes if node.facts.name == name)
    last, nodes = max(node.facts.name for node in cluster.nodes), list(cluster.nodes)
    for number in range(count):
        own = f"{last}-more-{number}"
        labels = dict(like.facts.labels)
        if "kubernetes.io/hostname" in labels:
            labels["kubernetes.io/hostname"] = own
        facts = replace(like.facts, name=own, labels=labels)
        nodes.append(replace(like, index=len(nodes), facts=facts))
    return replace(cluster, nodes=tuple(nodes))


def settled(cluster: Cluster, decision: CycleResult, *kept: int) -> Cluster:
    """The cluster once the decisions are carried out: nothing moves any more, and only these pod groups wait.

    What is reserved is used; evicted and terminating pods are gone for good.
    """
    changed = dict[int, Placement]()
    for index, decided in enumerate(placements(cluster, decision.groups)):
        before, placement = cluster.tasks[index].placement, decided
        held = next((each for each in _reserved(cluster, decision) if each[0] == index), None)
        if held is not None and not placement.status.is_active_allocated:
            placement = Placement(TaskStatus.RUNNING, held[1], held[2])
        if placement.status is TaskStatus.RELEASING:
            changed[index] = GONE
        elif placement.status.is_active_allocated:
            changed[index] = Placement(
                TaskStatus.RUNNING, placement.node, placement.gpu_groups, None, placement.zones
            )
        elif placement != before:
            changed[index] = placement
    after = replace(with_placements(cluster, changed), in_flight=())
    return without_pending(after, *kept)


def _reserved(cluster: Cluster, decision: CycleResult) -> list[tuple[int, int, tuple[str, ...]]]:
    """What groups in flight go on reserving."""
    found = []
    for status in decision.in_flight:
        if status.state.name == "IN_FLIGHT":
            found += [
                (step.task, step.node, step.gpu_groups)
                for step in cluster.in_flight[status.group].reservations
                if step.task >= 0
            ]
    return found


def outcome_of(decision: CycleResult, pod_group: int) -> OutcomeKind | None:
    """What a cycle says of a pod group, if it waits."""
    return next((each.kind for each in decision.outcomes if each.pod_group == pod_group), None)


def pods_on_nodes(cluster: Cluster, tasks: Sequence[int]) -> int:
    """How many of these run, or begin to."""
    return sum(cluster.tasks[task].placement.status.is_allocated for task in tasks)
