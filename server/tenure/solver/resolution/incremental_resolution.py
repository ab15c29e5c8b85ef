"""Incremental resolution: change single rows in slots, without visiting the others."""

from collections.abc import Container, Iterable, Mapping
from typing import Final

from tenure.solver.model.facts import PodGroupFacts, TaskFacts
from tenure.solver.model.fate import HoldReason
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.workload import PodGroup, Task
from tenure.solver.resolution.persistent_map import PersistentMap
from tenure.solver.resolution.reference_resolution import pod_set_names, resolve_pod_group
from tenure.solver.resolution.slot_map import (
    SlotChange,
    SlotMap,
    empty_pod_group,
    empty_task,
    resolve_members,
)
from tenure.solver.resolution.uid_index import UidIndex

REACH: Final = 32
"""Maximum distance of an empty slot into which neighbors can be shifted."""


class IncrementalResolver:
    """One change in progress: rows are assigned to slots, then everything affected is resolved."""

    def __init__(
        self, before: SlotMap, pod_groups: PersistentMap[PodGroupFacts], tasks: PersistentMap[TaskFacts]
    ) -> None:
        self._before = before
        self._specs = pod_groups
        self._task_specs = tasks
        self._group_labels = before.group_labels.next_version()
        self._task_labels = before.task_labels.next_version()
        self._added: dict[str, list[str]] = {}
        """Pods that joined a pod group."""
        self._removed: dict[str, set[str]] = {}
        """Pods that left a pod group."""
        self._members: dict[str, tuple[str, ...] | None] = {}
        """Members of pod groups that pods joined or left, once all are known."""
        self._ages = before.ages.next_version()
        self._pod_sets = before.pod_sets
        self._free = before.free_pod_sets.copy()
        self._strays = before.unknown_sub_group_pods.copy()
        self._groups: set[int] = set()
        """Slots of pod groups whose content may change."""
        self._tasks: set[int] = set()
        self._touched: set[str] = set()
        """Uids of pod groups to resolve again."""
        self._ranks: dict[str, int] = {}

    def change(
        self, pod_groups: Iterable[str], tasks: Iterable[str], before: PersistentMap[TaskFacts]
    ) -> bool:
        """Change or remove the rows with these uids; `before` has the previous pods.

        Returns False if there are no slots for them.
        """
        return all(map(self._place_group, pod_groups)) and all(
            self._place_task(uid, before.get(uid)) for uid in tasks
        )

    def resolve(self, leaves: Mapping[str, int]) -> tuple[SlotMap, SlotChange]:
        """Return the resolved workloads and their changes. `leaves`: index of each leaf queue by name."""
        self._members = {uid: self._gather_members(uid) for uid in (*self._removed, *self._added)}
        pod_groups, tasks = self._before.pod_groups.next_version(), self._before.tasks.next_version()
        self._empty(pod_groups, tasks)
        for uid in sorted(self._touched):
            if uid in self._specs:
                self._resolve(uid, leaves, pod_groups, tasks)
        slots = SlotMap(
            pod_groups,
            tasks,
            self._group_labels,
            self._task_labels,
            self._before.members.with_changes(self._members),
            self._ages,
            self._pod_sets,
            self._free,
            self._strays,
            self._delayed(pod_groups),
            self._changed_grants(pod_groups),
        )
        return slots, SlotChange(frozenset(self._groups), frozenset(self._tasks))

    def _delayed(self, pod_groups: PersistentVector[PodGroup]) -> frozenset[int]:
        changed = [pod_groups[slot] for slot in self._groups]
        late = [group.index for group in changed if group.facts.victim.held_by is HoldReason.NOT_BEFORE]
        before = self._before.delayed
        return before.difference(self._groups).union(late) if before or late else before

    def _changed_grants(self, pod_groups: PersistentVector[PodGroup]) -> frozenset[int]:
        changed = [slot for slot in self._groups if pod_groups[slot].requested is not None]
        before = self._before.changed_grants
        return before.difference(self._groups).union(changed) if before or changed else before

    def _place_group(self, uid: str) -> bool:
        known, spec = self._before.group(uid), self._specs.get(uid)
        self._touched.add(uid)
        if known is not None and (spec is None or spec.creation != known.facts.creation):
            self._ages.remove(known.facts.creation, uid)
        if spec is None:
            if known is not None:
                self._groups.add(known.index)
                self._remove(known)
            return True
        if known is None or spec.creation != known.facts.creation:
            rank = self._ages.enter(spec.creation, uid)
            if rank is None:
                return False
            self._ranks[uid] = rank
        return _take(self._group_labels, uid, self._specs, self._groups)

    def _remove(self, group: PodGroup) -> None:
        self._free.extend([pod_set.index for pod_set in group.pod_sets])
        self._strays.pop(group.facts.uid, None)

    def _place_task(self, uid: str, before: TaskFacts | None) -> bool:
        after = self._task_specs.get(uid)
        if before is not None:
            self._touched.add(before.pod_group)
            if after is None or after.pod_group != before.pod_group:
                self._removed.setdefault(before.pod_group, set()).add(uid)
        if after is None:
            if before is not None:
                self._tasks.add(self._before.task_labels.find(uid))
            return True
        self._touched.add(after.pod_group)
        if before is None or after.pod_group != before.pod_group:
            self._added.setdefault(after.pod_group, []).append(uid)
        return _take(self._task_labels, uid, self._task_specs, self._tasks)

    def _gather_members(self, pod_group: str) -> tuple[str, ...] | None:
        """Pods of a pod group that pods joined or left."""
        left, came = self._removed.get(pod_group, ()), self._added.get(pod_group, ())
        stay = [uid for uid in self._before.members.get(pod_group) or () if uid not in left]
        return tuple(sorted([*stay, *came])) or None

    def _members_of(self, pod_group: str) -> tuple[str, ...]:
        members = self._members
        return (members[pod_group] if pod_group in members else self._before.members.get(pod_group)) or ()

    def _empty(self, pod_groups: PersistentVector[PodGroup], tasks: PersistentVector[Task]) -> None:
        """Empty every slot whose content may change, and note whose rows are in such slots."""
        groups_before, tasks_before = len(pod_groups), len(tasks)
        for slot in range(groups_before, len(self._group_labels)):
            pod_groups.put(slot, empty_pod_group(slot))
        for slot in range(tasks_before, len(self._task_labels)):
            tasks.put(slot, empty_task(slot))
        for slot in self._groups:
            if slot < groups_before:
                pod_groups.put(slot, empty_pod_group(slot))
            self._touched.add(self._group_labels[slot])
        for slot in self._tasks:
            if slot < tasks_before:
                tasks.put(slot, empty_task(slot))
            spec = self._task_specs.get(self._task_labels[slot])
            if spec is not None:
                self._touched.add(spec.pod_group)

    def _resolve(
        self,
        uid: str,
        leaves: Mapping[str, int],
        pod_groups: PersistentVector[PodGroup],
        tasks: PersistentVector[Task],
    ) -> None:
        """Resolve a pod group with its tasks."""
        spec, slot = self._specs[uid], self._group_labels.find(uid)
        known = self._before.group(uid)
        numbers, members = self._numbered(spec, known), self._members_of(uid)
        slots = [self._task_labels.find(member) for member in members]
        specs = [self._task_specs[member] for member in members]
        inside, strays = resolve_members(slots, specs, slot, numbers, tasks, bool(spec.victim.held_by))
        self._tasks.update(slots)
        self._strays.pop(uid, None)
        if strays:
            self._strays[uid] = strays
        rank = self._ranks.get(uid)
        if rank is None:
            assert known is not None
            rank = known.rank
        pod_groups.put(slot, resolve_pod_group(slot, spec, leaves, rank, numbers, inside, tasks))
        self._groups.add(slot)

    def _numbered(self, spec: PodGroupFacts, known: PodGroup | None) -> dict[str, int]:
        """Indices of its pod sets by name: the previous ones if their number is the same."""
        names = pod_set_names(spec)
        had = [] if known is None else [pod_set.index for pod_set in known.pod_sets]
        if len(had) != len(names):
            self._free.extend(had)
            had = [self._free.pop() for _ in range(min(len(names), len(self._free)))]
            more = range(self._pod_sets, self._pod_sets + len(names) - len(had))
            self._pod_sets += len(more)
            had.extend(more)
        return dict(zip(names, had, strict=True))


def _take(labels: UidIndex, uid: str, taken: Container[str], changed: set[int]) -> bool:
    """Assign a slot to a row and note every changed slot. False if no empty slot is near enough."""
    at, slots = labels.place(uid), len(labels)
    if at < slots and labels[at] == uid:
        changed.add(at)
        return True
    for away in range(REACH):
        left, right = at - away - 1, at + away
        if left >= 0 and labels[left] not in taken:
            for slot in range(left, at - 1):
                labels.put(slot, labels[slot + 1])
            labels.put(at - 1, uid)
            changed.update(range(left, at))
            return True
        if right == slots or labels[right] not in taken:
            for slot in range(right, at, -1):
                labels.put(slot, labels[slot - 1])
            labels.put(at, uid)
            changed.update(range(at, right + 1))
            return True
    return False
