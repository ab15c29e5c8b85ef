"""Applies a result: the cluster of the next cycle if every decision is carried out.

For consecutive cycles in simulations, explanations and tests. A caller that applies decisions observes its
cluster again instead.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final, NamedTuple

from tenure.solver.framework.in_flight import with_in_flight
from tenure.solver.model.caller_state import EvictionRecord, InFlightDecision, InFlightGroup
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import (
    CycleResult,
    DecisionGroup,
    InFlightGroupState,
    Patch,
    PatchKind,
    Reserve,
)
from tenure.solver.model.disruption_limits import DisruptionBudget
from tenure.solver.model.facts import PodGroupFacts
from tenure.solver.model.fate import HoldReason
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.requeue import ParsedValue
from tenure.solver.model.workload import PodGroup, Task
from tenure.solver.resolution.grants import with_grant
from tenure.solver.resolution.slot_map import SlotChange
from tenure.solver.result.fates import FatesOfVictims
from tenure.terms.durations import SECOND

INTERVAL: Final = 60 * SECOND
"""Nanoseconds between two cycles, as in a simulation."""
MOVING: Final = (TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.PIPELINED, TaskStatus.RELEASING)
"""Statuses that are others in the next cycle."""
_RECORD_CHANGES: Final = (PatchKind.SET_EVICTION_RECORD, PatchKind.DELETE_EVICTION_RECORD)


class NextCluster(NamedTuple):
    """The cluster of the next cycle, and what differs."""

    cluster: Cluster
    change: SlotChange


def apply_decisions(
    cluster: Cluster, decision: CycleResult, elapsed: int, ids: Sequence[str] | None = None
) -> Cluster:
    """The cluster `elapsed` nanoseconds later: bound pods run, evicted and terminating ones are pending
    again.

    Pods with reservations are pending as well; their groups are in flight. `ids` are those of the decision
    groups; None: any.
    """
    return advance(cluster, decision, elapsed, moving_tasks(cluster), ids).cluster


def moving_tasks(cluster: Cluster) -> list[int]:
    """Tasks whose status is one of MOVING."""
    return [task.index for task in cluster.tasks if task.placement.status in MOVING]


def running_pod_groups(cluster: Cluster) -> set[int]:
    """Pod groups with pods on nodes."""
    return {task.pod_group for task in cluster.tasks if task.placement.is_allocated}


def advance(
    cluster: Cluster,
    decision: CycleResult,
    elapsed: int,
    moving: Iterable[int],
    ids: Sequence[str] | None = None,
) -> NextCluster:
    """The next cluster, in time proportional to the change. `moving`: the `moving_tasks` of the cluster."""
    remaining = [s.group for s in decision.in_flight if s.state is InFlightGroupState.IN_FLIGHT]
    begun, in_flight = with_in_flight(cluster, remaining)
    after = _moved(begun, decision.groups)
    ends = FatesOfVictims.of(cluster, decision.groups)
    noticed = {index for group in ends.concerned for index in cluster.pod_groups[group].tasks}
    tasks, changed, groups = cluster.tasks.next_version(), set[int](), set[int]()
    for index in sorted({*moving, *in_flight, *after, *noticed}):
        task = cluster.tasks[index]
        later = ends.after(task, _later(task, after.get(index, begun.tasks[index].placement)))
        if later is not task:
            tasks.put(index, later)
            changed.add(index)
            groups.add(task.pod_group)
    patches: dict[int, list[Patch]] = {}
    for patch in [patch for group in decision.groups for patch in group.patches]:
        patches.setdefault(patch.pod_group, []).append(patch)
    pod_groups = cluster.pod_groups.next_version()
    for pod_group in sorted(patches):
        pod_groups.put(pod_group, _patched(cluster.pod_groups[pod_group], patches[pod_group]))
    for pod_group in sorted(groups.union(patches)):
        if pod_groups[pod_group].facts.grant is not None:
            pod_groups.put(pod_group, with_grant(pod_groups[pod_group], tasks))
    later_cluster = replace(
        cluster,
        now=cluster.now + elapsed,
        tasks=tasks,
        pod_groups=pod_groups,
        changed_grants=_changed_grants(cluster, pod_groups, groups.union(patches)),
        eviction_history=_eviction_history(cluster.eviction_history, patches.values()),
        carried=cluster.carried.after(decision.carried),
        in_flight=_reservations(cluster, decision, ids),
        disruption_budgets=_disruption_budgets(cluster, [tasks[index] for index in sorted(changed)]),
    )
    return NextCluster(later_cluster, SlotChange(frozenset(groups.union(patches)), frozenset(changed)))


def placements(cluster: Cluster, groups: Iterable[DecisionGroup]) -> list[Placement]:
    """Placement of every task when these decision groups are applied, by task index.

    Evicted tasks are RELEASING on their node; relocated ones are PIPELINED on the new one.
    """
    after = [task.placement for task in cluster.tasks]
    for task, placement in _moved(cluster, groups).items():
        after[task] = placement
    return after


def _moved(cluster: Cluster, groups: Iterable[DecisionGroup]) -> dict[int, Placement]:
    """New placements of the tasks that decision groups move, by task."""
    after: dict[int, Placement] = {}
    tasks = cluster.tasks
    for group in groups:
        for evict in group.evictions:
            before = after.get(evict.task, tasks[evict.task].placement)
            after[evict.task] = before.with_status(TaskStatus.RELEASING)
        noticed = {step.task for step in group.notices.evictions}
        for hold in (each for each in group.reservations if each.task not in noticed):
            origin = after.get(hold.task, tasks[hold.task].placement)
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
            return task.placed(placement.with_status(TaskStatus.RUNNING))
        case TaskStatus.PIPELINED | TaskStatus.RELEASING:
            return task.placed(Placement(TaskStatus.PENDING))
    return task if placement is task.placement else task.placed(placement)


def _disruption_budgets(before: Cluster, after: Iterable[Task]) -> tuple[DisruptionBudget, ...]:
    """Budgets after pods that stopped running spent from them, and pods that started running returned it.

    A budget allows at most what it allowed at first (semantics R15.12).
    """
    budgets = {budget.name: budget for budget in before.disruption_budgets}
    change = Counter[str]()
    for task in after if budgets else ():
        ran = before.tasks[task.index].placement.status is TaskStatus.RUNNING
        if ran is (task.placement.status is TaskStatus.RUNNING):
            continue
        for name in task.facts.disruption_budgets:
            if name in budgets and not (ran and task.facts.uid in budgets[name].counted_pods):
                change[name] += -1 if ran else 1
    found = []
    for name, budget in budgets.items():
        most = budget.allowed if budget.most is None else budget.most
        allowed = min(budget.allowed - budget.owed + change[name], most)
        later = budget._replace(allowed=max(allowed, 0), owed=max(-allowed, 0), most=most)
        found.append(later._replace(counted_pods=frozenset()))
    return tuple(found)


def _reservations(
    cluster: Cluster, decision: CycleResult, ids: Sequence[str] | None
) -> tuple[InFlightGroup, ...]:
    """In-flight groups with reservations left: evictions and bindings are applied, not to be repeated."""
    kept = [s.group for s in decision.in_flight if s.state is InFlightGroupState.IN_FLIGHT]
    groups = [cluster.in_flight[index]._replace(evictions=(), bindings=()) for index in kept]
    for ordinal, group in enumerate(decision.groups):
        name = f"{cluster.now}/{ordinal}" if ids is None else ids[ordinal]
        holds = tuple(_step(cluster.tasks[hold.task], hold) for hold in group.reservations)
        tasks = [cluster.tasks[each.task] for each in group.notices.evictions]
        notices = tuple(
            [InFlightDecision(t.facts.uid, t.index, t.placement.node, t.pod_group) for t in tasks]
        )
        groups.append(
            InFlightGroup(
                *(name, group.action, group.beneficiary, group.expire_time),
                reservations=holds,
                notices=notices,
                evict_time=group.notices.evict_time,
            )
        )
    left = [group for group in groups if group.reservations or group.notices]
    return tuple(sorted(left, key=lambda group: group.id))


def _step(task: Task, reserve: Reserve) -> InFlightDecision:
    return InFlightDecision(
        task.facts.uid, task.index, reserve.node, task.pod_group, reserve.gpu_groups, reserve.zones
    )


def _changed_grants(
    before: Cluster, pod_groups: PersistentVector[PodGroup], changed: AbstractSet[int]
) -> tuple[int, ...]:
    found = sorted({*changed, *before.changed_grants})
    return tuple([index for index in found if pod_groups[index].requested is not None])


def _patched(group: PodGroup, patches: Sequence[Patch]) -> PodGroup:
    facts = _patched_facts(group.facts, patches)
    if group.requested is not None:
        return replace(group, facts=facts, requested=_patched_facts(group.requested, patches))
    return group if facts is group.facts else replace(group, facts=facts)


def _patched_facts(facts: PodGroupFacts, patches: Sequence[Patch]) -> PodGroupFacts:
    for patch in patches:
        match patch.kind:
            case PatchKind.LAST_START_TIME:
                facts = replace(facts, last_start=patch.value)
            case PatchKind.LAST_EVICTION_TIME:
                facts = replace(facts, last_eviction=patch.value)
            case PatchKind.STALE_SINCE:
                facts = replace(facts, stale_since=patch.value)
            case PatchKind.CLEAR_STALE_SINCE:
                facts = replace(facts, stale_since=None)
            case PatchKind.REQUEUE_NOT_BEFORE:
                facts = replace(facts, requeue=facts.requeue._replace(not_before=ParsedValue(patch.value)))
            case PatchKind.EVICTION_COUNT:
                facts = replace(facts, eviction_count=patch.value)
            case PatchKind.EVICTIONS_WITHOUT_PROGRESS:
                facts = replace(facts, evictions_without_progress=patch.value)
            case PatchKind.LAST_NOTICE_TIME:
                facts = replace(facts, victim=replace(facts.victim, last_notice=patch.value))
            case PatchKind.HELD_BY:
                facts = replace(facts, victim=replace(facts.victim, held_by=HoldReason(patch.value)))
            case PatchKind.BACKFILL_FOR:
                owners = tuple(sorted(patch.counts))
                facts = replace(facts, victim=replace(facts.victim, backfill_for=owners))
            case PatchKind.EVICTIONS:
                facts = replace(facts, victim=replace(facts.victim, evictions=patch.counts))
            case PatchKind.TOTAL_EVICTION_WAIT:
                facts = replace(facts, total_eviction_wait=patch.value)
            case PatchKind.GRANT:
                facts = replace(facts, grant=patch.grant)
    return facts


def _eviction_history(
    before: tuple[EvictionRecord, ...], patches: Collection[list[Patch]]
) -> tuple[EvictionRecord, ...]:
    """Eviction records after the patches, by victim and preemptor."""
    changes = [patch for of_group in patches for patch in of_group if patch.kind in _RECORD_CHANGES]
    if not changes:
        return before
    memories = {(memory.victim, memory.preemptor): memory for memory in before}
    for patch in changes:
        if patch.record is not None:
            memories[patch.record.victim, patch.record.preemptor] = patch.record
        else:
            del memories[patch.pod_group, patch.value]
    return tuple(memories[pair] for pair in sorted(memories))
