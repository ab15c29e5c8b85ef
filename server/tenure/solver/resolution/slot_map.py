"""Slots: linked workloads of which single rows can change, while all others keep their indices.

An index is a slot, and slots are in the order of uids. A row that goes leaves its slot empty: it is nobody's,
refers to nothing and counts for nothing. A row that comes takes an empty slot at its place in the order; if
there is none, its neighbours make room by moving into the nearest one. So a change costs what it touches,
and versions have most in common (`column`). What is decided does not depend on how slots are taken: only
their order counts.

Ranks have gaps, for the same reason (`ages`). Where there is no room left, or too many slots are empty, the
caller links everything anew (`spacing`).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from tenure.solver.model.facts import TaskSpec
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.resources import NOTHING
from tenure.solver.model.snapshot_warning import SnapshotWarning
from tenure.solver.model.workload import PodGroup, Preemptibility, SubGroupSet, Task, TaskShape
from tenure.solver.resolution.age_order import AgeOrder
from tenure.solver.resolution.persistent_map import PersistentMap
from tenure.solver.resolution.reference_resolution import pod_set_of, resolve_task, unknown_sub_group_warning
from tenure.solver.resolution.uid_index import UidIndex

EMPTY_SLOT_RATIO: Final = 2
"""So many slots may be empty for each that is taken: where one in eighty rows goes in a cycle, and another
comes at the end of the order, all are linked anew in one of 160 cycles."""
SPACING: Final = 8
"""Rows to one empty slot, where everything is linked anew."""
_EMPTY_NAME: Final = SubGroupSet("", ())
_NOWHERE: Final = Placement(TaskStatus.UNKNOWN)
_NO_SHAPE: Final = TaskShape(0, "", NOTHING)


class SlotMap(NamedTuple):
    """Linked workloads, and what is needed to change them. Nothing of it is ever changed in place."""

    pod_groups: PersistentVector[PodGroup]
    tasks: PersistentVector[Task]
    group_labels: UidIndex
    """Uids by slot; an empty slot keeps one that fits its place."""
    task_labels: UidIndex
    members: PersistentMap[tuple[str, ...]]
    """Uids of all pods of each pod group that has any, in order."""
    ages: AgeOrder
    """Of every pod group."""
    pod_sets: int
    """One more than the largest index of a pod set."""
    free_pod_sets: list[int]
    """Indices that no pod set has."""
    unknown_sub_group_pods: dict[str, dict[str, int]]
    """Pods of unknown sub groups: their number by uid of the pod group and name of the sub group."""

    def group(self, uid: str) -> PodGroup | None:
        """A pod group by its uid."""
        slot = self.group_labels.find(uid)
        if slot < 0:
            return None
        found = self.pod_groups[slot]
        return found if found.uid == uid else None

    def task(self, uid: str) -> Task | None:
        """A task by its uid."""
        slot = self.task_labels.find(uid)
        if slot < 0:
            return None
        found = self.tasks[slot]
        return found if found.uid == uid else None

    def has_too_many_empty(self, tasks: int) -> bool:
        """Whether too many slots are empty, of pod groups or of the tasks, which are so many."""
        groups = (1 + EMPTY_SLOT_RATIO) * len(self.ages) + SPACING
        return (
            len(self.group_labels) > groups
            or len(self.task_labels) > (1 + EMPTY_SLOT_RATIO) * tasks + SPACING
        )

    def warnings(self) -> tuple[SnapshotWarning, ...]:
        """About pods of unknown sub groups (semantics R1.53)."""
        return tuple(
            unknown_sub_group_warning(
                self.group_labels.find(uid), uid, sub_group, self.unknown_sub_group_pods[uid][sub_group]
            )
            for uid in sorted(self.unknown_sub_group_pods)
            for sub_group in sorted(self.unknown_sub_group_pods[uid])
        )


class SlotChange(NamedTuple):
    """Slots that hold something else than before, or the same under another index."""

    pod_groups: frozenset[int]
    tasks: frozenset[int]


def resolve_members(
    slots: Sequence[int],
    specs: Sequence[TaskSpec],
    group: int,
    numbers: dict[str, int],
    tasks: PersistentVector[Task],
) -> tuple[dict[int, list[int]], dict[str, int]]:
    """Link the tasks of a pod group in their slots; `numbers` are the indices of its pod sets by name.

    Which are in each pod set, and how many name each sub group that does not exist.
    """
    inside: dict[int, list[int]] = {index: [] for index in numbers.values()}
    strays: dict[str, int] = {}
    for slot, spec in zip(slots, specs, strict=True):
        pod_set = pod_set_of(spec, numbers)
        tasks.put(slot, resolve_task(slot, spec, group, pod_set))
        if pod_set is None:
            strays[spec.sub_group] = strays.get(spec.sub_group, 0) + 1
        else:
            inside[pod_set].append(slot)
    return inside, strays


def empty_pod_group(slot: int) -> PodGroup:
    """What an empty slot holds."""
    return PodGroup(
        index=slot,
        uid="",
        name="",
        namespace="",
        queue=None,
        queue_name="",
        priority=0,
        preemptibility=Preemptibility.PREEMPTIBLE,
        root=_EMPTY_NAME,
        pod_sets=(),
        tasks=(),
        rank=0,
        creation=0,
        last_start=0,
    )


def empty_task(slot: int) -> Task:
    """What an empty slot holds."""
    return Task(slot, "", "", 0, None, _NO_SHAPE, _NOWHERE)
