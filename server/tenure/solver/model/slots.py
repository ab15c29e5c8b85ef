"""Slots: linked workloads of which single rows can change, while all others keep their indices.

An index is a slot, and slots are in the order of uids. A row that goes leaves its slot empty: it is nobody's,
refers to nothing and counts for nothing. A row that comes takes an empty slot at its place in the order; if
there is none, its neighbours make room by moving into the nearest one. So a change costs what it touches,
beside copies of flat lists. What is decided does not depend on how slots are taken: only their order counts.

Ranks are labels with gaps, for the same reason. Where there is no room left, or too many slots are empty, the
caller links everything anew (`spaced`): with some room everywhere, and much where rows came last, for names
that count up come at one place of the order again and again.
"""

from bisect import bisect_left
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.solver.model.doubt import Doubt
from tenure.solver.model.linking import link_pod_group, link_task, pod_set_names, pod_set_of, stray_doubt
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.resources import NOTHING
from tenure.solver.model.rows import Rows
from tenure.solver.model.specs import PodGroupSpec, TaskSpec
from tenure.solver.model.workload import PodGroup, Preemptibility, SubGroupSet, Task, TaskShape

REACH: Final = 64
"""How far off an empty slot may be for its neighbours to make room."""
GAP: Final = 2**20
"""Between the ranks of two pod groups that were linked one after the other."""
MOST_EMPTY: Final = 2
"""So many slots may be empty for each that is taken: where one in eighty rows goes in a cycle, and another
comes at the end of the order, all are linked anew in one of 160 cycles."""
SPACING: Final = 8
"""Rows to one empty slot, where everything is linked anew."""
CROWD: Final = 4
"""Rows to one empty slot more beside those that came last."""

_HIGHEST: Final = chr(0x10FFFF)
_NOBODYS: Final = SubGroupSet("", ())
_NOWHERE: Final = Placement(TaskStatus.UNKNOWN)
_NO_SHAPE: Final = TaskShape(0, "", NOTHING)
_YET_TO_BE_LINKED: Final = Task(0, "", "", 0, None, _NO_SHAPE, _NOWHERE)


class Slots(NamedTuple):
    """Linked workloads, and what is needed to change them. Nothing of it is ever changed in place."""

    pod_groups: tuple[PodGroup, ...]
    tasks: tuple[Task, ...]
    group_labels: list[str]
    """Uids by slot, in order; an empty slot keeps one that fits its place."""
    task_labels: list[str]
    members: Rows[tuple[str, ...]]
    """Uids of all pods of each pod group that has any, in order."""
    ages: list[tuple[int, str, int]]
    """Creation time, uid and rank of every pod group, in this order."""
    pod_sets: int
    """One more than the largest index of a pod set."""
    free_pod_sets: list[int]
    """Indices that no pod set has."""
    strays: dict[str, dict[str, int]]
    """Pods of unknown sub groups: their number by uid of the pod group and name of the sub group."""

    def group(self, uid: str) -> PodGroup | None:
        """A pod group by its uid."""
        slot = _find(self.group_labels, uid)
        if slot < 0:
            return None
        found = self.pod_groups[slot]
        return found if found.uid == uid else None

    def task(self, uid: str) -> Task | None:
        """A task by its uid."""
        slot = _find(self.task_labels, uid)
        if slot < 0:
            return None
        found = self.tasks[slot]
        return found if found.uid == uid else None

    def has_too_many_empty(self, tasks: int) -> bool:
        """Whether too many slots are empty, of pod groups or of the tasks, which are so many."""
        groups = (1 + MOST_EMPTY) * len(self.ages) + SPACING
        return len(self.group_labels) > groups or len(self.task_labels) > (1 + MOST_EMPTY) * tasks + SPACING

    def doubts(self) -> tuple[Doubt, ...]:
        """About pods of unknown sub groups (semantics R1.53)."""
        return tuple(
            stray_doubt(_find(self.group_labels, uid), uid, sub_group, self.strays[uid][sub_group])
            for uid in sorted(self.strays)
            for sub_group in sorted(self.strays[uid])
        )


class Change(NamedTuple):
    """Slots that hold something else than before, or the same under another index."""

    pod_groups: frozenset[int]
    tasks: frozenset[int]


def spaced(
    pod_groups: Mapping[str, PodGroupSpec],
    tasks: Mapping[str, TaskSpec],
    leaves: Mapping[str, int],
    newcomers: tuple[Collection[str], Collection[str]] = ((), ()),
) -> Slots:
    """Everything linked anew, with room for rows that come.

    `leaves` gives the index of each leaf queue by name, `newcomers` are uids of pod groups and of pods that
    came last.
    """
    group_labels, task_labels = _with_gaps(pod_groups, newcomers[0]), _with_gaps(tasks, newcomers[1])
    members: dict[str, list[str]] = {}
    slots: dict[str, int] = {}
    linked_tasks: list[Task] = []
    for slot, uid in enumerate(task_labels):
        spec = tasks.get(uid)
        if spec is None:
            linked_tasks.append(_empty_task(slot))
        else:
            linked_tasks.append(_YET_TO_BE_LINKED)
            slots[uid] = slot
            members.setdefault(spec.pod_group, []).append(uid)
    ages = [
        (creation, uid, place * GAP)
        for place, (creation, uid) in enumerate(sorted([(s.creation, s.uid) for s in pod_groups.values()]))
    ]
    ranks = {uid: rank for _, uid, rank in ages}
    strays: dict[str, dict[str, int]] = {}
    linked_groups: list[PodGroup] = []
    pod_sets = 0
    for slot, uid in enumerate(group_labels):
        group = pod_groups.get(uid)
        if group is None:
            linked_groups.append(_empty_pod_group(slot))
            continue
        names, inside = pod_set_names(group), members.get(uid, ())
        numbers = {name: pod_sets + i for i, name in enumerate(names)}
        pod_sets += len(names)
        places, specs = [slots[member] for member in inside], [tasks[member] for member in inside]
        by_set, astray = _link_members(places, specs, slot, numbers, linked_tasks)
        if astray:
            strays[uid] = astray
        linked_groups.append(
            link_pod_group(slot, group, leaves.get(group.queue), ranks[uid], numbers, by_set)
        )
    return Slots(
        tuple(linked_groups),
        tuple(linked_tasks),
        group_labels,
        task_labels,
        Rows({uid: tuple(inside) for uid, inside in members.items()}),
        ages,
        pod_sets,
        [],
        strays,
    )


def _link_members(
    slots: Sequence[int],
    specs: Sequence[TaskSpec],
    group: int,
    numbers: Mapping[str, int],
    tasks: list[Task],
) -> tuple[dict[int, list[int]], dict[str, int]]:
    """Link the tasks of a pod group in their slots; `numbers` are the indices of its pod sets by name.

    Which are in each pod set, and how many name each sub group that does not exist.
    """
    inside: dict[int, list[int]] = {index: [] for index in numbers.values()}
    strays: dict[str, int] = {}
    for slot, spec in zip(slots, specs, strict=True):
        pod_set = pod_set_of(spec, numbers)
        tasks[slot] = link_task(slot, spec, group, pod_set)
        if pod_set is None:
            strays[spec.sub_group] = strays.get(spec.sub_group, 0) + 1
        else:
            inside[pod_set].append(slot)
    return inside, strays


def _with_gaps(uids: Iterable[str], newcomers: Collection[str]) -> list[str]:
    """The uids in order, and labels for empty slots: after every few of them, and on both sides of newcomers.

    A label for what comes before a row sorts right after the row before it, one for what comes after a row
    right before the row after it.
    """
    ordered = sorted(uids)
    labels: list[str] = []
    crowd = frozenset(newcomers)
    room = len(ordered) // (2 * CROWD * len(crowd)) + 1 if crowd else 0
    last = ""
    for place, uid in enumerate(ordered):
        after = last + "\0"
        if after < uid:
            if place % SPACING == 1:
                labels.append(after)
            if uid in crowd:
                labels.extend([after] * room)
            elif last in crowd:
                labels.extend([_label_before(uid, after)] * room)
        labels.append(uid)
        last = uid
    return labels


def _label_before(uid: str, after: str) -> str:
    """A label between that one and the uid: as near to the uid as can be, as a rule."""
    end = ord(uid[-1])
    label = uid[:-1] + chr(end - 1) + _HIGHEST if end else ""
    return label if after < label < uid else after


class Relinking:
    """One change on its way: first rows find their slots, then all that these touch is linked again."""

    def __init__(self, before: Slots, pod_groups: Rows[PodGroupSpec], tasks: Rows[TaskSpec]) -> None:
        self._before = before
        self._specs = pod_groups
        self._task_specs = tasks
        self._group_labels = before.group_labels.copy()
        self._task_labels = before.task_labels.copy()
        self._members: dict[str, tuple[str, ...] | None] = {}
        """Of pod groups of which a pod comes or goes."""
        self._ages = before.ages.copy()
        self._pod_sets = before.pod_sets
        self._free = before.free_pod_sets.copy()
        self._strays = before.strays.copy()
        self._groups: set[int] = set()
        """Slots of pod groups that may hold something else now."""
        self._tasks: set[int] = set()
        self._touched: set[str] = set()
        """Uids of pod groups to be linked again."""
        self._ranks: dict[str, int] = {}

    def change(self, pod_groups: Iterable[str], tasks: Iterable[str], before: Rows[TaskSpec]) -> bool:
        """Rows with these uids are other ones now, or gone; `before` has the pods from before.

        False when there is no room for them.
        """
        return all(map(self._place_group, pod_groups)) and all(
            self._place_task(uid, before.get(uid)) for uid in tasks
        )

    def linked(self, leaves: Mapping[str, int]) -> tuple[Slots, Change]:
        """What is linked now, and where it differs. `leaves` gives the index of each leaf queue by name."""
        pod_groups, tasks = list(self._before.pod_groups), list(self._before.tasks)
        self._empty(pod_groups, tasks)
        for uid in sorted(self._touched):
            if uid in self._specs:
                self._link(uid, leaves, pod_groups, tasks)
        slots = Slots(
            tuple(pod_groups),
            tuple(tasks),
            self._group_labels,
            self._task_labels,
            self._before.members.after(self._members),
            self._ages,
            self._pod_sets,
            self._free,
            self._strays,
        )
        return slots, Change(frozenset(self._groups), frozenset(self._tasks))

    def _place_group(self, uid: str) -> bool:
        known, spec = self._before.group(uid), self._specs.get(uid)
        self._touched.add(uid)
        if known is not None and (spec is None or spec.creation != known.creation):
            del self._ages[bisect_left(self._ages, (known.creation, uid))]
        if spec is None:
            if known is not None:
                self._groups.add(known.index)
                self._forget(known)
            return True
        if known is None or spec.creation != known.creation:
            rank = _new_rank(self._ages, spec.creation, uid)
            if rank is None:
                return False
            self._ranks[uid] = rank
        return _take(self._group_labels, uid, self._specs, self._groups)

    def _forget(self, group: PodGroup) -> None:
        self._free.extend([pod_set.index for pod_set in group.pod_sets])
        self._strays.pop(group.uid, None)

    def _place_task(self, uid: str, before: TaskSpec | None) -> bool:
        after = self._task_specs.get(uid)
        if before is not None:
            self._touched.add(before.pod_group)
            if after is None or after.pod_group != before.pod_group:
                self._leave(uid, before.pod_group)
        if after is None:
            if before is not None:
                self._tasks.add(_find(self._before.task_labels, uid))
            return True
        self._touched.add(after.pod_group)
        if before is None or after.pod_group != before.pod_group:
            others = self._members_of(after.pod_group)
            at = bisect_left(others, uid)
            self._members[after.pod_group] = (*others[:at], uid, *others[at:])
        return _take(self._task_labels, uid, self._task_specs, self._tasks)

    def _leave(self, uid: str, pod_group: str) -> None:
        others = tuple([other for other in self._members_of(pod_group) if other != uid])
        self._members[pod_group] = others or None

    def _members_of(self, pod_group: str) -> tuple[str, ...]:
        members = self._members
        return (members[pod_group] if pod_group in members else self._before.members.get(pod_group)) or ()

    def _empty(self, pod_groups: list[PodGroup], tasks: list[Task]) -> None:
        """Empty every slot that may hold something else, and note whose rows are in such slots."""
        groups_before, tasks_before = len(pod_groups), len(tasks)
        for slot in range(groups_before, len(self._group_labels)):
            pod_groups.append(_empty_pod_group(slot))
        for slot in range(tasks_before, len(self._task_labels)):
            tasks.append(_empty_task(slot))
        for slot in self._groups:
            if slot < groups_before:
                pod_groups[slot] = _empty_pod_group(slot)
            self._touched.add(self._group_labels[slot])
        for slot in self._tasks:
            if slot < tasks_before:
                tasks[slot] = _empty_task(slot)
            spec = self._task_specs.get(self._task_labels[slot])
            if spec is not None:
                self._touched.add(spec.pod_group)

    def _link(
        self, uid: str, leaves: Mapping[str, int], pod_groups: list[PodGroup], tasks: list[Task]
    ) -> None:
        """Link a pod group with its tasks."""
        spec, slot = self._specs[uid], _find(self._group_labels, uid)
        known = self._before.group(uid)
        numbers, members = self._numbered(spec, known), self._members_of(uid)
        slots = [_find(self._task_labels, member) for member in members]
        specs = [self._task_specs[member] for member in members]
        inside, strays = _link_members(slots, specs, slot, numbers, tasks)
        self._tasks.update(slots)
        self._strays.pop(uid, None)
        if strays:
            self._strays[uid] = strays
        rank = self._ranks.get(uid)
        if rank is None:
            assert known is not None
            rank = known.rank
        pod_groups[slot] = link_pod_group(slot, spec, leaves.get(spec.queue), rank, numbers, inside)
        self._groups.add(slot)

    def _numbered(self, spec: PodGroupSpec, known: PodGroup | None) -> dict[str, int]:
        """Indices of its pod sets by name: those it had, if it has as many."""
        names = pod_set_names(spec)
        had = [] if known is None else [pod_set.index for pod_set in known.pod_sets]
        if len(had) != len(names):
            self._free.extend(had)
            had = [self._free.pop() for _ in range(min(len(names), len(self._free)))]
            more = range(self._pod_sets, self._pod_sets + len(names) - len(had))
            self._pod_sets += len(more)
            had.extend(more)
        return dict(zip(names, had, strict=True))


def _find(labels: Sequence[str], uid: str) -> int:
    """The slot with this label, or -1."""
    at = bisect_left(labels, uid)
    return at if at < len(labels) and labels[at] == uid else -1


def _take(labels: list[str], uid: str, taken: Container[str], changed: set[int]) -> bool:
    """Let a row have a slot; notes every slot that changes. False when there is none near enough."""
    at = bisect_left(labels, uid)
    if at < len(labels) and labels[at] == uid:
        changed.add(at)
        return True
    for away in range(REACH):
        left, right = at - away - 1, at + away
        if left >= 0 and labels[left] not in taken:
            labels[left : at - 1] = labels[left + 1 : at]
            labels[at - 1] = uid
            changed.update(range(left, at))
            return True
        if right == len(labels):
            labels.append("")
        if labels[right] not in taken:
            labels[at + 1 : right + 1] = labels[at:right]
            labels[at] = uid
            changed.update(range(at, right + 1))
            return True
    return False


def _new_rank(ages: list[tuple[int, str, int]], creation: int, uid: str) -> int | None:
    """A rank at its place among the others; it is entered there. None when there is no room for it."""
    at = bisect_left(ages, (creation, uid))
    if not ages:
        rank = 0
    elif at == len(ages):
        rank = ages[-1][2] + GAP
    elif at == 0:
        rank = ages[0][2] - GAP
    else:
        below, above = ages[at - 1][2], ages[at][2]
        rank = (below + above) // 2
        if rank == below:
            return None
    ages.insert(at, (creation, uid, rank))
    return rank


def _empty_pod_group(slot: int) -> PodGroup:
    return PodGroup(
        index=slot,
        uid="",
        name="",
        namespace="",
        queue=None,
        queue_name="",
        priority=0,
        preemptibility=Preemptibility.PREEMPTIBLE,
        root=_NOBODYS,
        pod_sets=(),
        tasks=(),
        rank=0,
        creation=0,
        last_start=0,
    )


def _empty_task(slot: int) -> Task:
    return Task(slot, "", "", 0, None, _NO_SHAPE, _NOWHERE)
