"""Slot maps: resolved workloads in which single rows can change while others keep their indices.

An index is a slot, and slots are ordered by uid. Removing a row leaves its slot empty: it belongs to no
queue, refers to nothing and is not counted. A new row takes an empty slot at its position in the order; if
there is none, its neighbors are shifted into the nearest one. So the cost of a change is proportional to the
change, and versions share most data (`PersistentVector`). Decisions do not depend on the assignment of slots,
only on their order.

Ranks have gaps for the same reason (`AgeOrder`). If there is no slot left, or too many are empty, the caller
resolves everything again (`slot_spacing`).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from tenure.solver.model.facts import PodGroupFacts, TaskFacts
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.resources import NOTHING
from tenure.solver.model.snapshot_warning import SnapshotWarning
from tenure.solver.model.workload import PodGroup, SubGroupSet, Task
from tenure.solver.model.workload_parts import Preemptibility, TaskShape
from tenure.solver.resolution.age_order import AgeOrder
from tenure.solver.resolution.persistent_map import PersistentMap
from tenure.solver.resolution.reference_resolution import (
    pod_set_of,
    pod_set_on_node,
    resolve_task,
    unknown_sub_group_warning,
)
from tenure.solver.resolution.uid_index import UidIndex

EMPTY_SLOT_RATIO: Final = 2
"""Maximum number of empty slots per used one.

If one in eighty rows is removed per cycle, and others are added at the end of the order, everything is
resolved again in one of 160 cycles.
"""
SPACING: Final = 8
"""Rows per empty slot after a full resolution."""
_EMPTY_NAME: Final = SubGroupSet("", ())
_NOWHERE: Final = Placement(TaskStatus.UNKNOWN)
_NO_SHAPE: Final = TaskShape(0, "", NOTHING)
_NO_POD_GROUP: Final = PodGroupFacts(uid="", preemptibility=Preemptibility.PREEMPTIBLE, last_start=0)
_NO_TASK: Final = TaskFacts(uid="", shape=_NO_SHAPE, placement=_NOWHERE)


class SlotMap(NamedTuple):
    """Resolved workloads with the data needed to change them. Immutable."""

    pod_groups: PersistentVector[PodGroup]
    tasks: PersistentVector[Task]
    group_labels: UidIndex
    """Uids by slot; an empty slot keeps one that fits the order."""
    task_labels: UidIndex
    members: PersistentMap[tuple[str, ...]]
    """Uids of all pods of each pod group with pods, in order."""
    ages: AgeOrder
    """Order of all pod groups."""
    pod_sets: int
    """Largest index of a pod set plus one."""
    free_pod_sets: list[int]
    """Unused pod set indices."""
    unknown_sub_group_pods: dict[str, dict[str, int]]
    """Pods of unknown subgroups: their number by uid of the pod group and name of the subgroup."""
    delayed: frozenset[int]
    """Pod groups that wait for a time."""
    changed_grants: frozenset[int]
    """Running pod groups that request something else than their grants."""

    def group(self, uid: str) -> PodGroup | None:
        """Pod group by uid."""
        slot = self.group_labels.find(uid)
        if slot < 0:
            return None
        found = self.pod_groups[slot]
        return found if found.facts.uid == uid else None

    def task(self, uid: str) -> Task | None:
        """Task by uid."""
        slot = self.task_labels.find(uid)
        if slot < 0:
            return None
        found = self.tasks[slot]
        return found if found.facts.uid == uid else None

    def has_too_many_empty(self, tasks: int) -> bool:
        """Whether too many slots are empty, of pod groups or of the given number of tasks."""
        groups = (1 + EMPTY_SLOT_RATIO) * len(self.ages) + SPACING
        return (
            len(self.group_labels) > groups
            or len(self.task_labels) > (1 + EMPTY_SLOT_RATIO) * tasks + SPACING
        )

    def warnings(self) -> tuple[SnapshotWarning, ...]:
        """Warnings about pods of unknown subgroups (semantics R1.53)."""
        return tuple(
            unknown_sub_group_warning(
                self.group_labels.find(uid), sub_group, self.unknown_sub_group_pods[uid][sub_group]
            )
            for uid in sorted(self.unknown_sub_group_pods)
            for sub_group in sorted(self.unknown_sub_group_pods[uid])
        )


class SlotChange(NamedTuple):
    """Slots whose content changed or moved."""

    pod_groups: frozenset[int]
    tasks: frozenset[int]


def resolve_members(
    slots: Sequence[int],
    specs: Sequence[TaskFacts],
    group: int,
    numbers: dict[str, int],
    tasks: PersistentVector[Task],
    is_held: bool,
) -> tuple[dict[int, list[int]], dict[str, int]]:
    """Resolve the tasks of a pod group in their slots; `numbers` are the indices of its pod sets by name.

    Returns the tasks of each pod set, and the number of tasks per unknown subgroup.
    """
    inside: dict[int, list[int]] = {index: [] for index in numbers.values()}
    strays: dict[str, int] = {}
    for slot, spec in zip(slots, specs, strict=True):
        pod_set = pod_set_of(spec, numbers)
        if pod_set is None:
            strays[spec.sub_group] = strays.get(spec.sub_group, 0) + 1
            pod_set = pod_set_on_node(spec, numbers)
        tasks.put(slot, resolve_task(slot, spec, group, pod_set, is_held))
        if pod_set is not None:
            inside[pod_set].append(slot)
    return inside, strays


def empty_pod_group(slot: int) -> PodGroup:
    """Content of an empty slot."""
    return PodGroup(
        index=slot, queue=None, root=_EMPTY_NAME, pod_sets=(), tasks=(), rank=0, facts=_NO_POD_GROUP
    )


def empty_task(slot: int) -> Task:
    """Content of an empty slot."""
    return Task(index=slot, pod_group=0, pod_set=None, shape=_NO_SHAPE, placement=_NOWHERE, facts=_NO_TASK)
