"""Full resolution with empty slots for new rows.

Some empty slots are everywhere, and many near recent rows, mostly behind them: names with counters are
inserted at the same position of the order repeatedly.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from tenure.solver.model.facts import PodGroupFacts, TaskFacts
from tenure.solver.model.fate import HoldReason
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.workload import PodGroup, Task
from tenure.solver.resolution.age_order import AgeOrder
from tenure.solver.resolution.persistent_map import PersistentMap
from tenure.solver.resolution.reference_resolution import pod_set_names, resolve_pod_group
from tenure.solver.resolution.slot_map import SPACING, SlotMap, empty_pod_group, empty_task, resolve_members
from tenure.solver.resolution.uid_index import UidIndex

ROWS_PER_SLOT: Final = 4
"""Recent rows per additional empty slot behind them."""
TRAILING_SLOT_RATIO: Final = 4
"""Empty slots behind recent rows per one before them."""

_HIGHEST: Final = chr(0x10FFFF)
_YET_TO_BE_LINKED: Final = empty_task(0)


def resolve_with_free_slots(
    pod_groups: Mapping[str, PodGroupFacts],
    tasks: Mapping[str, TaskFacts],
    leaves: Mapping[str, int],
    added: tuple[Collection[str], Collection[str]] = ((), ()),
) -> SlotMap:
    """Resolve everything, with empty slots for new rows.

    `leaves` is the index of each leaf queue by name, `newcomers` are uids of recent pod groups and pods.
    """
    group_labels, task_labels = _with_gaps(pod_groups, added[0]), _with_gaps(tasks, added[1])
    members: dict[str, list[str]] = {}
    slots: dict[str, int] = {}
    linked_tasks: PersistentVector[Task] = PersistentVector()
    for slot, uid in enumerate(task_labels):
        spec = tasks.get(uid)
        if spec is None:
            linked_tasks.put(slot, empty_task(slot))
        else:
            linked_tasks.put(slot, _YET_TO_BE_LINKED)
            slots[uid] = slot
            members.setdefault(spec.pod_group, []).append(uid)
    ages = AgeOrder.from_creations([(spec.creation, spec.uid) for spec in pod_groups.values()])
    ranks = ages.ranks()
    strays: dict[str, dict[str, int]] = {}
    linked_groups: list[PodGroup] = []
    pod_sets, late = 0, set[int]()
    for slot, uid in enumerate(group_labels):
        group = pod_groups.get(uid)
        if group is None:
            linked_groups.append(empty_pod_group(slot))
            continue
        names, inside = pod_set_names(group), members.get(uid, ())
        numbers = {name: pod_sets + i for i, name in enumerate(names)}
        pod_sets += len(names)
        places, specs = [slots[member] for member in inside], [tasks[member] for member in inside]
        by_set, astray = resolve_members(
            places, specs, slot, numbers, linked_tasks, bool(group.victim.held_by)
        )
        if astray:
            strays[uid] = astray
        if group.victim.held_by is HoldReason.NOT_BEFORE:
            late.add(slot)
        linked_groups.append(
            resolve_pod_group(slot, group, leaves, ranks[uid], numbers, by_set, linked_tasks)
        )
    return SlotMap(
        PersistentVector(linked_groups),
        linked_tasks,
        UidIndex(group_labels),
        UidIndex(task_labels),
        PersistentMap({uid: tuple(inside) for uid, inside in members.items()}),
        ages,
        pod_sets,
        [],
        strays,
        frozenset(late),
        frozenset([group.index for group in linked_groups if group.requested is not None]),
    )


def youngest(
    pod_groups: Mapping[str, PodGroupFacts], tasks: Mapping[str, TaskFacts]
) -> tuple[Collection[str], Collection[str]]:
    """Most recently created pod group, and its pods: names with counters continue next to them."""
    last = max(((spec.creation, uid) for uid, spec in pod_groups.items()), default=None)
    if last is None:
        return (), ()
    return (last[1],), [uid for uid, spec in tasks.items() if spec.pod_group == last[1]]


def _with_gaps(uids: Iterable[str], added: Collection[str]) -> list[str]:
    """Uids in order, and labels of empty slots: after every few uids, and around newcomers.

    Neighboring newcomers share their empty slots, since the next rows are inserted behind the last of them.
    The label of a slot before a row sorts right after the previous row, that of a slot after a row right
    before the next row.
    """
    ordered = sorted(uids)
    crowd = frozenset(added)
    labels: list[str] = []
    last, neighbours = "", 0
    for place, uid in enumerate(ordered):
        after = last + "\0"
        is_new = uid in crowd
        if after < uid:
            if place % SPACING == 1:
                labels.append(after)
            if neighbours and not is_new:
                spacing = len(ordered) * neighbours // (ROWS_PER_SLOT * len(crowd)) + 1
                labels.extend([_label_before(uid, after)] * spacing)
            elif is_new and not neighbours:
                labels.extend(
                    [after] * (len(ordered) // (ROWS_PER_SLOT * TRAILING_SLOT_RATIO * len(crowd)) + 1)
                )
        neighbours = neighbours + 1 if is_new else 0
        labels.append(uid)
        last = uid
    return labels


def _label_before(uid: str, after: str) -> str:
    """A label between `after` and the uid, usually as close to the uid as possible."""
    end = ord(uid[-1])
    label = uid[:-1] + chr(end - 1) + _HIGHEST if end else ""
    return label if after < label < uid else after
