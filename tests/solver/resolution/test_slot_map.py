"""Rows of a slot map are added and removed while all other rows keep their slots."""

from collections.abc import Sequence

import pytest
from tenure.solver.model.facts import PodGroupFacts, TaskFacts
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.resolution.incremental_resolution import IncrementalResolver
from tenure.solver.resolution.persistent_map import PersistentMap
from tenure.solver.resolution.slot_map import SlotChange, SlotMap
from tenure.solver.resolution.slot_spacing import resolve_with_free_slots, youngest

NOW = 1_000
SHAPE = TaskShape(0, "shape", (0, 0, 0, 0))


class ResolvedPodGroups:
    """Pod groups of one pod each, resolved and changed one by one."""

    def __init__(self, *uids: str, newcomers: Sequence[str] = ()) -> None:
        self.groups = {uid: PodGroupFacts(uid=uid, queue_name="q", creation=ord(uid[0])) for uid in uids}
        self.tasks = {f"{uid}-0": _task(uid) for uid in uids}
        last = (newcomers, [f"{uid}-0" for uid in newcomers])
        self.slots = resolve_with_free_slots(self.groups, self.tasks, {"q": 0}, last)

    def remove(self, *uids: str) -> SlotChange:
        groups, tasks = dict(self.groups), dict(self.tasks)
        for uid in uids:
            del groups[uid], tasks[f"{uid}-0"]
        return self._change(uids, groups, tasks)

    def add(self, *uids: str, creation: int = 0) -> SlotChange:
        groups, tasks = dict(self.groups), dict(self.tasks)
        for uid in uids:
            groups[uid] = PodGroupFacts(uid=uid, queue_name="q", creation=creation or ord(uid[0]))
            tasks[f"{uid}-0"] = _task(uid)
        return self._change(uids, groups, tasks)

    def _change(
        self, uids: tuple[str, ...], groups: dict[str, PodGroupFacts], tasks: dict[str, TaskFacts]
    ) -> SlotChange:
        relinking = IncrementalResolver(self.slots, PersistentMap(groups), PersistentMap(tasks))
        assert relinking.change(uids, [f"{uid}-0" for uid in uids], PersistentMap(self.tasks))
        self.slots, change = relinking.resolve({"q": 0})
        self.groups, self.tasks = groups, tasks
        return change

    def by_slot(self) -> str:
        return "".join(group.facts.uid or "." for group in self.slots.pod_groups)

    def by_age(self) -> str:
        groups = [group for group in self.slots.pod_groups if group.facts.uid]
        return "".join(group.facts.uid for group in sorted(groups, key=lambda group: group.rank))


def _task(uid: str) -> TaskFacts:
    return TaskFacts(uid=f"{uid}-0", pod_group=uid, shape=SHAPE, placement=Placement(TaskStatus.PENDING))


def test_last_row_gets_a_new_slot_at_the_end() -> None:
    rows = ResolvedPodGroups()
    rows.add("a", "b")
    assert rows.add("c") == SlotChange(frozenset({2}), frozenset({2}))
    assert rows.by_slot() == "abc"


def test_removed_row_leaves_an_empty_slot_for_the_next() -> None:
    rows = ResolvedPodGroups()
    rows.add("a", "c", "e")
    assert rows.remove("c") == SlotChange(frozenset({1}), frozenset({1}))
    assert rows.by_slot() == "a.e"
    assert rows.add("d") == SlotChange(frozenset({1}), frozenset({1}))
    assert rows.by_slot() == "ade"


def test_neighbours_move_into_the_nearest_empty_slot() -> None:
    rows = ResolvedPodGroups()
    rows.add(*"acdegh")
    rows.remove("c")
    assert rows.add("f").pod_groups == {1, 2, 3}
    assert rows.by_slot() == "adefgh"
    assert [group.tasks for group in rows.slots.pod_groups] == [(i,) for i in range(6)]
    assert [task.pod_group for task in rows.slots.tasks] == list(range(6))


def test_ages_do_not_follow_slots() -> None:
    rows = ResolvedPodGroups()
    rows.add("x", creation=1)
    rows.add("a", creation=3)
    rows.add("m", creation=2)
    assert (rows.by_slot(), rows.by_age()) == ("amx", "xma")
    rows.add("x", creation=4)
    assert rows.by_age() == "max"


def test_full_resolution_has_spare_empty_slots() -> None:
    assert ResolvedPodGroups(*"abcdefghij").by_slot() == "a.bcdefghi.j"


def test_slots_are_found_by_uid_and_empty_ones_are_not() -> None:
    rows = ResolvedPodGroups()
    rows.add("a", "b")
    rows.remove("a")
    found: SlotMap = rows.slots
    assert found.group("a") is None
    assert found.task("a-0") is None
    group = found.group("b")
    assert group is not None
    assert group.index == 1


@pytest.mark.parametrize("count", [10, 200])
def test_more_than_two_empty_slots_for_each_row_are_too_many(count: int) -> None:
    rows = ResolvedPodGroups()
    uids = [chr(ord("A") + i // 26) + chr(ord("a") + i % 26) for i in range(count)]
    rows.add(*uids)
    assert not rows.slots.has_too_many_empty(count)
    rows.remove(*uids[: count - 6])
    assert rows.slots.has_too_many_empty(6) == (count > 26)


@pytest.mark.parametrize(("step", "room"), [(1, 200), (-1, 50)], ids=["counting up", "counting down"])
@pytest.mark.parametrize("came", [1, 20])
def test_most_empty_slots_are_near_and_behind_the_latest_rows(step: int, room: int, came: int) -> None:
    others = [f"a-{i:04}" for i in range(400)] + [f"z-{i:04}" for i in range(400)]
    last = [f"m-{500 + step * number:04}" for number in range(came)]
    rows = ResolvedPodGroups(*others, *last, newcomers=last)
    for number in range(came, came + (room if step > 0 else room // came)):
        change = rows.add(f"m-{500 + step * number:04}", creation=NOW + number)
        assert (len(change.pod_groups), len(change.tasks)) == (1, 1)


def test_empty_slots_never_change_the_order() -> None:
    uids = ["a", "a\0", "b", "b\0\0", "b0", "c"]
    for newcomer in uids:
        rows = ResolvedPodGroups(*uids, newcomers=[newcomer])
        assert list(rows.slots.group_labels) == sorted(rows.slots.group_labels)
        assert [group.facts.uid for group in rows.slots.pod_groups if group.facts.uid] == uids
        assert all(rows.slots.group(uid) for uid in uids)


@pytest.mark.parametrize(
    ("creations", "last"),
    [({}, ""), ({"a": 2, "b": 1}, "a"), ({"a": 1, "c": 1, "b": 1}, "c")],
    ids=["no pod groups", "by creation time", "then by uid"],
)
def test_the_youngest_pod_group_is_where_the_next_is_expected(creations: dict[str, int], last: str) -> None:
    groups = {
        uid: PodGroupFacts(uid=uid, queue_name="q", creation=creation) for uid, creation in creations.items()
    }
    found, pods = youngest(groups, {f"{uid}-0": _task(uid) for uid in groups})
    assert (list(found), list(pods)) == (([last], [f"{last}-0"]) if last else ([], []))
