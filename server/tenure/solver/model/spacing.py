"""Spacing: workloads linked anew, with empty slots among them for rows that come.

There is some room everywhere, and much where rows came last, most of it behind them: names that count up come
at one place of the order again and again.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from tenure.solver.model.ages import Ages
from tenure.solver.model.column import Column
from tenure.solver.model.labels import Labels
from tenure.solver.model.linking import link_pod_group, pod_set_names
from tenure.solver.model.rows import Rows
from tenure.solver.model.slots import SPACING, Slots, empty_pod_group, empty_task, link_members
from tenure.solver.model.specs import PodGroupSpec, TaskSpec
from tenure.solver.model.workload import PodGroup, Task

CROWD: Final = 4
"""Rows to one empty slot more behind those that came last."""
BEHIND: Final = 4
"""Empty slots behind rows that came last to one before them."""

_HIGHEST: Final = chr(0x10FFFF)
_YET_TO_BE_LINKED: Final = empty_task(0)


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
    linked_tasks: Column[Task] = Column()
    for slot, uid in enumerate(task_labels):
        spec = tasks.get(uid)
        if spec is None:
            linked_tasks.put(slot, empty_task(slot))
        else:
            linked_tasks.put(slot, _YET_TO_BE_LINKED)
            slots[uid] = slot
            members.setdefault(spec.pod_group, []).append(uid)
    ages = Ages.ranked([(spec.creation, spec.uid) for spec in pod_groups.values()])
    ranks = ages.ranks()
    strays: dict[str, dict[str, int]] = {}
    linked_groups: list[PodGroup] = []
    pod_sets = 0
    for slot, uid in enumerate(group_labels):
        group = pod_groups.get(uid)
        if group is None:
            linked_groups.append(empty_pod_group(slot))
            continue
        names, inside = pod_set_names(group), members.get(uid, ())
        numbers = {name: pod_sets + i for i, name in enumerate(names)}
        pod_sets += len(names)
        places, specs = [slots[member] for member in inside], [tasks[member] for member in inside]
        by_set, astray = link_members(places, specs, slot, numbers, linked_tasks)
        if astray:
            strays[uid] = astray
        linked_groups.append(
            link_pod_group(slot, group, leaves.get(group.queue), ranks[uid], numbers, by_set)
        )
    return Slots(
        Column(linked_groups),
        linked_tasks,
        Labels(group_labels),
        Labels(task_labels),
        Rows({uid: tuple(inside) for uid, inside in members.items()}),
        ages,
        pod_sets,
        [],
        strays,
    )


def youngest(
    pod_groups: Mapping[str, PodGroupSpec], tasks: Mapping[str, TaskSpec]
) -> tuple[Collection[str], Collection[str]]:
    """The pod group that was created last, and its pods: where names count up, the next come beside them."""
    last = max(((spec.creation, uid) for uid, spec in pod_groups.items()), default=None)
    if last is None:
        return (), ()
    return (last[1],), [uid for uid, spec in tasks.items() if spec.pod_group == last[1]]


def _with_gaps(uids: Iterable[str], newcomers: Collection[str]) -> list[str]:
    """The uids in order, and labels for empty slots: after every few of them, before and behind newcomers.

    Newcomers that are neighbours have their room together, for the next ones come behind the last of them. A
    label for what comes before a row sorts right after the row before it, one for what comes after a row
    right before the row after it.
    """
    ordered = sorted(uids)
    crowd = frozenset(newcomers)
    labels: list[str] = []
    last, neighbours = "", 0
    for place, uid in enumerate(ordered):
        after = last + "\0"
        is_new = uid in crowd
        if after < uid:
            if place % SPACING == 1:
                labels.append(after)
            if neighbours and not is_new:
                room = len(ordered) * neighbours // (CROWD * len(crowd)) + 1
                labels.extend([_label_before(uid, after)] * room)
            elif is_new and not neighbours:
                labels.extend([after] * (len(ordered) // (CROWD * BEHIND * len(crowd)) + 1))
        neighbours = neighbours + 1 if is_new else 0
        labels.append(uid)
        last = uid
    return labels


def _label_before(uid: str, after: str) -> str:
    """A label between that one and the uid: as near to the uid as can be, as a rule."""
    end = ord(uid[-1])
    label = uid[:-1] + chr(end - 1) + _HIGHEST if end else ""
    return label if after < label < uid else after
