"""Saves: building the lists of the pod group index in every session: what it keeps from session to session.
Sound: a change names every pod group that differs, which is removed by its old keys and added again.
Switch: `pod_group_index`. Plain: `pod_group_lists.SortedPodGroups`.
Compared by: tests/state/test_derived_data.py (lists that followed changes equal those that were built).
"""

from collections.abc import Container, Iterable

from tenure.solver.search.pod_group_lists import Key
from tenure.solver.search.speedups.pod_group_kinds import PodGroupKinds


class FiledPodGroups:
    """Contents of the index."""

    def __init__(self, leaves: Iterable[int], groups: int) -> None:
        self.queues: list[int | None] = [None] * groups
        """Queue of each pod group that is in any list, or was."""
        self.pending: dict[int, list[int]] = {leaf: [] for leaf in leaves}
        """Pod groups by reversed key: best last."""
        self.by_kind: dict[int, dict[int, list[int]]] = {}
        """Pending pod groups by kind, of queues that were listed by kind."""
        self.has_victims = False
        """Whether possible victims are in their lists."""
        self.victims: dict[int, list[int]] = {leaf: [] for leaf in self.pending}
        """By key: worst last."""
        self.evictable_victims: dict[int, list[int]] = {leaf: [] for leaf in self.pending}
        """Possible victims with evictable tasks in this cycle."""
        self.spent: dict[int, list[int]] = {leaf: [] for leaf in self.pending}
        self.keys: list[Key] = [()] * groups
        """Of pod groups that are in any list."""
        self.victim_keys = self.keys
        """Keys in victim order: the same list, unless there is an order of victims alone."""
        self.reversed: list[Key] = [()] * groups
        """Reversed keys, computed on demand."""
        self.keys_after_eviction: list[Key] = [()] * groups
        """Keys without running tasks, computed on demand."""
        self.kinds = PodGroupKinds(groups)
        self.is_pending = [False] * groups
        self.is_victim = [False] * groups
        self.is_evictable_victim = [False] * groups

    def copy(self) -> "FiledPodGroups":
        """Independent copy."""
        other = FiledPodGroups((), 0)
        other.queues, other.has_victims = self.queues.copy(), self.has_victims
        other.pending = _copied(self.pending)
        other.by_kind = {queue: _copied(kinds) for queue, kinds in self.by_kind.items()}
        other.victims, other.evictable_victims = _copied(self.victims), _copied(self.evictable_victims)
        other.spent = _copied(self.spent)
        other.keys, other.reversed = self.keys.copy(), self.reversed.copy()
        other.keys_after_eviction = self.keys_after_eviction.copy()
        other.victim_keys = other.keys
        other.kinds = self.kinds.copy()
        other.is_pending, other.is_victim = self.is_pending.copy(), self.is_victim.copy()
        other.is_evictable_victim = self.is_evictable_victim.copy()
        return other

    def extend(self, groups: int) -> None:
        """Extend to the given number of pod groups."""
        more = groups - len(self.queues)
        self.queues.extend([None] * more)
        for keys in (self.keys, self.reversed, self.keys_after_eviction):
            keys.extend([()] * more)
        self.kinds.extend(more)
        for flags in (self.is_pending, self.is_victim, self.is_evictable_victim):
            flags.extend([False] * more)

    def sort_victims(self) -> None:
        """Sort lists that were filled without order."""
        key = self.victim_keys.__getitem__
        for queue, victims in self.victims.items():
            victims.sort(key=key)
            if len(self.evictable_victims[queue]) == len(victims):
                self.evictable_victims[queue] = victims.copy()
            else:
                self.evictable_victims[queue].sort(key=key)

    def remove_spent(self, pod_groups: Container[int]) -> None:
        """Remove these from the spent pod groups."""
        for queue, spent in self.spent.items():
            if spent:
                self.spent[queue] = [index for index in spent if index not in pod_groups]

    def remove(self, index: int) -> None:
        """Remove a pod group that is in no list any more."""
        self.queues[index] = None
        self.is_pending[index] = self.is_victim[index] = self.is_evictable_victim[index] = False


def _copied(lists: dict[int, list[int]]) -> dict[int, list[int]]:
    return {queue: groups.copy() for queue, groups in lists.items()}
