"""Carrying out a decision: the cluster of the next cycle, if everything is done that was decided.

For whoever plays several cycles: simulations, explanations, tests. A caller that really carries a decision
out looks at its cluster again instead.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tenure.solver.framework.inflight import taken_up
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.column import Column
from tenure.solver.model.decision import Decision, DecisionGroup, Hold, InFlightResult, Patch, PatchKind
from tenure.solver.model.inflight import InFlightGroup, InFlightStep
from tenure.solver.model.memory import EvictionMemory
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.requeue import Setting
from tenure.solver.model.workload import PodGroup, Task


def next_cluster(
    cluster: Cluster, decision: Decision, elapsed: int, ids: Sequence[str] | None = None
) -> Cluster:
    """The cluster `elapsed` nanoseconds later: bound pods run, evicted and terminating ones wait again.

    Pods that were promised room wait as well; the promises are in flight. `ids` are those of the decision's
    groups; None: any.
    """
    asked = [s.group for s in decision.in_flight if s.result is InFlightResult.KEPT]
    after = placements(taken_up(cluster, asked)[0], decision.groups)
    tasks = Column([_later(task, after[task.index]) for task in cluster.tasks])
    patches: dict[int, list[Patch]] = {}
    for group in decision.groups:
        for patch in group.patches:
            patches.setdefault(patch.pod_group, []).append(patch)
    pod_groups = Column([_patched(group, patches.get(group.index, [])) for group in cluster.pod_groups])
    return replace(
        cluster,
        now=cluster.now + elapsed,
        tasks=tasks,
        pod_groups=pod_groups,
        eviction_memory=_remembered(cluster.eviction_memory, patches.values()),
        in_flight=_promised(cluster, decision, ids),
    )


def placements(cluster: Cluster, groups: Iterable[DecisionGroup]) -> list[Placement]:
    """The placement of every task once these groups of a decision are carried out, by task index.

    Evicted tasks are RELEASING on their node; those that move are PIPELINED on the new one.
    """
    after = [task.placement for task in cluster.tasks]
    for group in groups:
        for evict in group.evictions:
            after[evict.task] = after[evict.task].becoming(TaskStatus.RELEASING)
        for hold in group.holds:
            origin = after[hold.task]
            leaving = origin if origin.status is TaskStatus.RELEASING else None
            after[hold.task] = Placement(
                TaskStatus.PIPELINED, hold.node, hold.gpu_groups, leaving, hold.zones
            )
        for bind in group.bindings:
            after[bind.task] = Placement(TaskStatus.BINDING, bind.node, bind.gpu_groups, zones=bind.zones)
    return after


def _later(task: Task, placement: Placement) -> Task:
    match placement.status:
        case TaskStatus.BINDING | TaskStatus.BOUND:
            return replace(task, placement=placement.becoming(TaskStatus.RUNNING))
        case TaskStatus.PIPELINED | TaskStatus.RELEASING:
            return replace(task, placement=Placement(TaskStatus.PENDING))
    return replace(task, placement=placement)


def _promised(cluster: Cluster, decision: Decision, ids: Sequence[str] | None) -> tuple[InFlightGroup, ...]:
    """Groups of which promises are left: evictions and bindings are done, and must not be asked for again."""
    kept = [s.group for s in decision.in_flight if s.result is InFlightResult.KEPT]
    groups = [cluster.in_flight[index]._replace(evictions=(), bindings=()) for index in kept]
    for ordinal, group in enumerate(decision.groups):
        name = f"{cluster.now}/{ordinal}" if ids is None else ids[ordinal]
        holds = tuple(_step(cluster.tasks[hold.task], hold) for hold in group.holds)
        groups.append(InFlightGroup(name, group.action, group.beneficiary, group.expires, holds=holds))
    return tuple(sorted((group for group in groups if group.holds), key=lambda group: group.id))


def _step(task: Task, hold: Hold) -> InFlightStep:
    return InFlightStep(task.uid, task.index, hold.node, task.pod_group, hold.gpu_groups, hold.zones)


def _patched(group: PodGroup, patches: Iterable[Patch]) -> PodGroup:
    for patch in patches:
        match patch.kind:
            case PatchKind.LAST_START_TIME:
                group = replace(group, last_start=patch.value)
            case PatchKind.LAST_EVICTION_TIME:
                group = replace(group, last_eviction=patch.value)
            case PatchKind.STALE_SINCE:
                group = replace(group, stale_since=patch.value)
            case PatchKind.CLEAR_STALE_SINCE:
                group = replace(group, stale_since=None)
            case PatchKind.REQUEUE_NOT_BEFORE:
                group = replace(group, requeue=group.requeue._replace(not_before=Setting(patch.value)))
            case PatchKind.EVICTION_COUNT:
                group = replace(group, eviction_count=patch.value)
            case PatchKind.WAITED_AFTER_EVICTIONS:
                group = replace(group, waited_after_evictions=patch.value)
    return group


def _remembered(
    before: Iterable[EvictionMemory], patches: Iterable[list[Patch]]
) -> tuple[EvictionMemory, ...]:
    """The memory of evictions after the patches, by victim and preemptor."""
    memories = {(memory.victim, memory.preemptor): memory for memory in before}
    for patch in (patch for of_group in patches for patch in of_group):
        if patch.memory is not None:
            memories[patch.memory.victim, patch.memory.preemptor] = patch.memory
        elif patch.kind is PatchKind.FORGET_PREEMPTOR:
            del memories[patch.pod_group, patch.value]
    return tuple(memories[pair] for pair in sorted(memories))
