"""Saves: sorting the pod groups of a queue for every search; they are sorted once and filed again per commit.
Possible victims and kinds are filed on first use, if no later session uses the lists: many cycles search for
none.
Sound: only commits change keys, and they name the pod groups that they moved (`session.changed_pod_groups`).
Switch: `pod_group_index`. Plain: `pod_group_lists.SortedPodGroups`.
Compared by: tests/properties/test_pod_group_index.py (lists equal sorted lists after random commits).
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import Share
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.resolution.slot_map import SlotChange
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.pod_group_lists import (
    ALONE,
    Key,
    KeyedPodGroup,
    PodGroupLists,
    key_without_tasks,
    reverse,
)
from tenure.solver.search.speedups.filed_pod_groups import FiledPodGroups
from tenure.solver.search.victim_keys import VictimKeys

_NEAR: Final = 4
"""Pod groups of a kind that are looked at one by one for the next one, before halves of them are."""


class PodGroupIndex(PodGroupLists):
    """Sorted pod groups by leaf queue; keys end in the pod group's rank, so they are unique.

    The first pod group is usually removed first, so it is at the end of its list, where removal is cheap.
    """

    def __init__(self, session: Session, gangs: GangPlanner) -> None:
        self._session = session
        self._gangs = gangs
        self._victim_order = VictimKeys(session, gangs)
        self._most: dict[int, Share] = {}
        self._requests: dict[int, Share] = {}
        """By kind."""
        self._has_kinds = not (session.cluster.claims or session.blocked)
        self._use(self._start())
        self._versions = dict.fromkeys(self._pending, 0)
        session.changed_pod_groups.clear()

    def _start(self) -> FiledPodGroups:
        """Lists at the start of the session, which owns them."""
        session = self._session
        if not session.chains.has_lasting_order:
            return self.build()
        return session.derived_data.get(_INDEX, self)

    def _use(self, filed: FiledPodGroups) -> None:
        self._filed = filed
        self._pending, self._victims, self._evictable_victims = (
            filed.pending,
            filed.victims,
            filed.evictable_victims,
        )
        self._by_kind, self._spent = filed.by_kind, filed.spent
        if not self._has_kinds:
            filed.by_kind.clear()
        self._keys, self._reversed, self._victim_keys = filed.keys, filed.reversed, filed.victim_keys
        self._keys_after_eviction = filed.keys_after_eviction
        self._kinds = filed.kinds
        self._is_pending, self._is_victim = filed.is_pending, filed.is_victim
        self._is_evictable_victim = filed.is_evictable_victim

    def build(self) -> FiledPodGroups:
        """Build the lists of all pod groups; those of victims and kinds too if a later session uses them."""
        cluster = self._session.cluster
        leaves = [queue.index for queue in cluster.queues if queue.is_leaf]
        filed = FiledPodGroups(leaves, len(cluster.pod_groups))
        if not self._victim_order.is_queue_order:
            filed.victim_keys = filed.keys.copy()
        self._use(filed)
        for group in map(cluster.pod_groups.__getitem__, self._gangs.pending()):
            if group.queue is not None:
                filed.queues[group.index] = group.queue
                self._add_pending(group, in_order=False)
        for pending in filed.pending.values():
            pending.sort(key=filed.reversed.__getitem__)
        if self._session.derived_data.is_kept and self._session.chains.has_lasting_order:
            self._fill_victims()
            for queue in leaves if self._has_kinds else ():
                self._fill_kinds(queue)
        return filed

    def update_changed(self, filed: FiledPodGroups, change: SlotChange) -> None:
        """Update the lists of an earlier session for changed pod groups."""
        groups = self._session.cluster.pod_groups
        filed.extend(len(groups))
        filed.remove_spent(change.pod_groups)
        self._use(filed)
        for index in change.pod_groups:
            queue = filed.queues[index]
            if queue is not None:
                self._remove_from(index, queue)
                filed.remove(index)
        for index in sorted(change.pod_groups):
            if groups[index].queue is not None:
                self._add(groups[index])

    def close(self) -> None:
        """Release the lists."""
        self._use(FiledPodGroups((), 0))

    def leaf_queues(self) -> list[int]:
        """Indices of all leaf queues."""
        return list(self._pending)

    def pending(self, queue: int, after: Key | None = None) -> Iterator[tuple[Key, int]]:
        """Keys and pod groups with pending tasks, best first; with `after`, only those behind that key."""
        self._refresh()
        groups = self._pending[queue]
        for number in range(self._end(groups, after) - 1, -1, -1):
            pod_group = groups[number]
            yield self._keys[pod_group], pod_group

    def most_requested(self, queue: int) -> Share:
        """Upper bound, per resource, of the requests of its pod groups with pending tasks."""
        self._refresh()
        if queue not in self._most:
            most: Share = (0, 0, 0)
            kinds = self.kinds(queue)
            for kind in (ALONE,) if kinds is None else kinds:
                for _, pod_group in self.pending(queue) if kinds is None else self.of_kind(queue, kind):
                    most = _most(most, self.request(pod_group))
                    if kind != ALONE:
                        break
            self._most[queue] = most
        return self._most[queue]

    def request(self, pod_group: int) -> Share:
        """Request of its next tasks to the queue."""
        kind = self.kind(pod_group)
        if kind < 0:
            return self._gangs.request(pod_group)
        known = self._requests.get(kind)
        if known is None:
            known = self._requests[kind] = self._gangs.request(pod_group)
        return known

    def kind(self, pod_group: int) -> int:
        """By its pods, priority, preemptibility and opt-outs, if none of its tasks has been placed."""
        if not self._has_kinds:
            return ALONE
        self._refresh()
        return self._kinds.of(self._session, pod_group)

    def kinds(self, queue: int) -> Collection[int] | None:
        """Listed on first use, then kept from session to session."""
        self._refresh()
        if not self._has_kinds:
            return None
        if queue not in self._by_kind:
            self._fill_kinds(queue)
        return self._by_kind[queue]

    def of_kind(self, queue: int, kind: int, after: Key | None = None) -> Iterator[KeyedPodGroup]:
        """From the list of that kind."""
        self.kinds(queue)
        groups = self._by_kind[queue].get(kind, ())
        for number in range(self._end(groups, after) - 1, -1, -1):
            pod_group = groups[number]
            yield self._keys[pod_group], pod_group

    def first_of_kind(self, queue: int, kind: int, after: Key | None = None) -> KeyedPodGroup | None:
        """From the end of the list of that kind."""
        self.kinds(queue)
        groups = self._by_kind[queue].get(kind)
        if not groups:
            return None
        end = len(groups)
        if after is not None:
            nearest = max(0, end - _NEAR)
            while end > nearest and self._keys[groups[end - 1]] <= after:
                end -= 1
            if end == nearest:
                end = self._end(groups, after)
        return (self._keys[groups[end - 1]], groups[end - 1]) if end else None

    def first_pending(self, queue: int) -> Key | None:
        """Key of the best pod group with pending tasks."""
        self._refresh()
        groups = self._pending[queue]
        return self._keys[groups[-1]] if groups else None

    def victims(self, queue: int) -> Iterator[tuple[Key, int]]:
        """Keys (of the reversed order) and pod groups with possible victims, worst first."""
        self._refresh_victims()
        for pod_group in reversed(self._victims[queue]):
            yield self._victim_backwards(pod_group), pod_group

    def victim_groups(self, queue: int) -> Sequence[int]:
        """Possible victims without their keys."""
        self._refresh_victims()
        return self._victims[queue][::-1]

    def evictable_victims(self, queue: int) -> Iterator[tuple[Key, int]]:
        """Possible victims without those whose tasks this cycle placed or relocated completely."""
        self._refresh_victims()
        for pod_group in reversed(self._evictable_victims[queue]):
            yield self._victim_backwards(pod_group), pod_group

    def spent(self, queue: int) -> Sequence[int]:
        """Pod groups of the difference, in order of occurrence; some may have changed since."""
        self._refresh_victims()
        return self._spent[queue]

    def has_victims(self, queue: int) -> bool:
        """Whether the queue has possible victims."""
        self._refresh_victims()
        return bool(self._victims[queue])

    def is_victim(self, pod_group: int) -> bool:
        """Whether the pod group is a possible victim."""
        group = self._session.cluster.pod_groups[pod_group]
        return group.queue is not None and group.is_evictable and self._is_active(group)

    def key_after_eviction(self, pod_group: int) -> Key:
        """Computed on first use, and kept while the pod group does not change."""
        self._refresh()
        known = self._keys_after_eviction[pod_group]
        if not known:
            known = self._keys_after_eviction[pod_group] = key_without_tasks(self._session, pod_group)
        return known

    def version(self, queue: int) -> int:
        """Changes with the lists of the queue."""
        self._refresh()
        return self._versions[queue]

    def _refresh(self) -> None:
        if not self._session.changed_pod_groups:
            return
        for index in sorted(self._session.changed_pod_groups):
            group = self._session.cluster.pod_groups[index]
            if group.queue is not None:
                self._versions[group.queue] += 1
                self._remove_from(index, group.queue)
                self._add(group)
        self._session.changed_pod_groups.clear()

    def _refresh_victims(self) -> None:
        """Update the lists; fill those of victims on first use."""
        if self._session.changed_pod_groups:
            self._refresh()
        if not self._filed.has_victims:
            self._fill_victims()

    def _fill_victims(self) -> None:
        """Fill the lists of victims."""
        self._filed.has_victims = True
        groups = [group for group in self._session.cluster.pod_groups if group.queue is not None]
        for group in sorted(groups, key=_rank):
            self._filed.queues[group.index] = group.queue
            self._add_victim(group, in_order=False)
        self._filed.sort_victims()

    def _fill_kinds(self, queue: int) -> None:
        """List its pending pod groups by kind."""
        self._by_kind[queue] = kinds = dict[int, list[int]]()
        for pod_group in self._pending[queue]:
            kind = self._kinds.of(self._session, pod_group)
            of_kind = kinds.get(kind)
            if of_kind is None:
                of_kind = kinds[kind] = []
            of_kind.append(pod_group)

    def _add(self, group: PodGroup) -> None:
        """Add a pod group to its lists."""
        index, has_pending = group.index, self._gangs.has_pending(group.index)
        if self._filed.queues[index] is None and (has_pending or self._filed.has_victims):
            self._filed.queues[index] = group.queue
        self._keys[index] = self._reversed[index] = self._keys_after_eviction[index] = ()
        self._kinds.forget(index)
        self._is_pending[index] = False
        if has_pending:
            self._add_pending(group, in_order=True)
        if self._filed.has_victims:
            self._add_victim(group, in_order=True)

    def _add_pending(self, group: PodGroup, in_order: bool) -> None:
        """Add it to the lists of pending pod groups, in order or (to be sorted later) at the end."""
        assert group.queue is not None
        index, queue = group.index, group.queue
        self._keys[index], self._is_pending[index] = self._session.pod_group_key(index), True
        self._backwards(index)
        _put(self._pending[queue], index, self._reversed, in_order)
        if queue in self._by_kind:
            kind = self._kinds.of(self._session, index)
            _put(self._by_kind[queue].setdefault(kind, []), index, self._reversed, in_order)
        if queue in self._most:
            self._most[queue] = _most(self._most[queue], self._gangs.request(index))

    def _add_victim(self, group: PodGroup, in_order: bool) -> None:
        """Add it to the lists of possible victims, if it is one."""
        assert group.queue is not None
        index, queue = group.index, group.queue
        is_victim = self._is_active(group) and group.is_evictable
        is_takeable = is_victim and self._gangs.has_evictable(group)
        self._is_victim[index], self._is_evictable_victim[index] = is_victim, is_takeable
        if is_victim:
            key = self._keys[index] = self._keys[index] or self._session.pod_group_key(index)
            if not self._victim_order.is_queue_order:
                self._victim_keys[index] = self._victim_order.whole(index, key)
            _put(self._victims[queue], index, self._victim_keys, in_order)
            if is_takeable:
                _put(self._evictable_victims[queue], index, self._victim_keys, in_order)
            else:
                self._spent[queue].append(index)

    def _end(self, groups: Sequence[int], after: Key | None) -> int:
        """Number of pod groups in a list, best last, that are behind a key."""
        if after is None:
            return len(groups)
        return bisect_left(groups, reverse(after), key=self._reversed.__getitem__)

    def _backwards(self, index: int) -> Key:
        """Reversed key of a pod group, computed on first use."""
        backwards = self._reversed[index]
        if not backwards:
            backwards = self._reversed[index] = reverse(self._keys[index])
        return backwards

    def _victim_backwards(self, index: int) -> Key:
        """Reversed key of a victim."""
        if self._victim_order.is_queue_order:
            return self._backwards(index)
        return reverse(self._victim_keys[index])

    def _remove_from(self, index: int, queue: int) -> None:
        if self._is_pending[index]:
            _remove(self._pending[queue], index, self._reversed)
            if queue in self._by_kind:
                kind = self._kinds.known(index)
                _remove(self._by_kind[queue][kind], index, self._reversed)
                if not self._by_kind[queue][kind]:
                    del self._by_kind[queue][kind]
        if self._is_victim[index]:
            _remove(self._victims[queue], index, self._victim_keys)
        if self._is_evictable_victim[index]:
            _remove(self._evictable_victims[queue], index, self._victim_keys)

    def _is_active(self, group: PodGroup) -> bool:
        active, pod_sets = self._session.ledger.active_allocated, group.pod_sets
        if len(pod_sets) == 1:
            return active[pod_sets[0].index] > 0
        return any(active[pod_set.index] for pod_set in pod_sets)


def _follow(index: FiledPodGroups, lists: PodGroupIndex, change: SlotChange) -> None:
    lists.update_changed(index, change)


_INDEX: Final = Derived(PodGroupIndex.build, _follow, FiledPodGroups.copy)


def _most(share: Share, other: Share) -> Share:
    return (max(share[0], other[0]), max(share[1], other[1]), max(share[2], other[2]))


def _rank(group: PodGroup) -> int:
    return group.rank


def _put(groups: list[int], index: int, keys: list[Key], in_order: bool) -> None:
    if in_order and groups and keys[groups[-1]] > keys[index]:
        insort(groups, index, key=keys.__getitem__)
    else:
        groups.append(index)


def _remove(groups: list[int], index: int, keys: list[Key]) -> None:
    if groups[-1] == index:
        groups.pop()
    else:
        del groups[bisect_left(groups, keys[index], key=keys.__getitem__)]
