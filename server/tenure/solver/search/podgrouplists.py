"""Pod groups of every leaf queue, sorted once and kept sorted from commit to commit.

Two lists per leaf: those with pending tasks, best first, and those that may be victims, worst first. A
commit moves only the pod groups it touched; nothing is sorted again (the reference sorts per search).
Read between statements only: the lists describe committed state.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import Share
from tenure.solver.model.workload import PodGroup
from tenure.solver.search.gang import Gangs

Key = tuple[int, ...]


class PodGroupLists:
    """Sorted pod groups by leaf queue; keys end in the pod group's rank, so they are unique.

    Who comes first leaves first, as a rule, so lists are kept with the first at the end: taking it out
    there moves nobody else.
    """

    def __init__(self, session: Session, gangs: Gangs) -> None:
        self._session = session
        self._gangs = gangs
        groups = session.cluster.pod_groups
        self._by_rank = [g.index for g in sorted(groups, key=lambda g: g.rank)]
        leaves = [queue.index for queue in session.cluster.queues if queue.is_leaf]
        self._pending: dict[int, list[Key]] = {leaf: [] for leaf in leaves}
        """By the reversed key: best last."""
        self._victims: dict[int, list[Key]] = {leaf: [] for leaf in leaves}
        """By the key: worst last."""
        self._takeable: dict[int, list[Key]] = {leaf: [] for leaf in leaves}
        """Those among them of which anything may be taken in this cycle."""
        self._spent: dict[int, list[int]] = {leaf: [] for leaf in leaves}
        self._most: dict[int, Share] = dict.fromkeys(leaves, (0, 0, 0))
        self._versions = dict.fromkeys(leaves, 0)
        self._keys: list[Key] = [()] * len(groups)
        self._reversed: list[Key] = [()] * len(groups)
        self._is_pending = [False] * len(groups)
        self._is_victim = [False] * len(groups)
        self._is_takeable = [False] * len(groups)
        for group in groups:
            if group.queue is not None:
                self._file(group, list.append)
        for keys in (*self._pending.values(), *self._victims.values(), *self._takeable.values()):
            keys.sort()
        session.changed.clear()

    def leaves(self) -> list[int]:
        """Indices of all leaf queues."""
        return list(self._pending)

    def pending(self, queue: int, after: Key | None = None) -> Iterator[tuple[Key, int]]:
        """Keys and pod groups with pending tasks, best first; only those behind a key, if one is given."""
        self._refresh()
        keys = self._pending[queue]
        end = len(keys) if after is None else bisect_left(keys, reverse(after))
        for number in range(end - 1, -1, -1):
            pod_group = self._by_rank[-keys[number][-1]]
            yield self._keys[pod_group], pod_group

    def most_requested(self, queue: int) -> Share:
        """In each resource, at least as much as any of its pod groups with pending tasks asks for."""
        self._refresh()
        return self._most[queue]

    def first_pending(self, queue: int) -> Key | None:
        """The key of the best pod group with pending tasks."""
        self._refresh()
        keys = self._pending[queue]
        return self._keys[self._by_rank[-keys[-1][-1]]] if keys else None

    def victims(self, queue: int) -> Iterator[tuple[Key, int]]:
        """Keys (of the reversed order) and pod groups that may yield active tasks, worst first."""
        self._refresh()
        for key in reversed(self._victims[queue]):
            pod_group = self._by_rank[key[-1]]
            yield self._reversed[pod_group], pod_group

    def takeable(self, queue: int) -> Iterator[tuple[Key, int]]:
        """The same without those of which this cycle may take nothing: it gave or moved all they have."""
        self._refresh()
        for key in reversed(self._takeable[queue]):
            pod_group = self._by_rank[key[-1]]
            yield self._reversed[pod_group], pod_group

    def spent(self, queue: int) -> Sequence[int]:
        """These, in the order in which it came about; some may have become something else since."""
        self._refresh()
        return self._spent[queue]

    def has_victims(self, queue: int) -> bool:
        """Whether the queue holds any possible victim."""
        self._refresh()
        return bool(self._victims[queue])

    def version(self, queue: int) -> int:
        """Changes with the lists of the queue."""
        self._refresh()
        return self._versions[queue]

    def _refresh(self) -> None:
        if not self._session.changed:
            return
        for index in sorted(self._session.changed):
            group = self._session.cluster.pod_groups[index]
            if group.queue is not None:
                self._versions[group.queue] += 1
                self._unfile(group)
                self._file(group, insort)
        self._session.changed.clear()

    def _file(self, group: PodGroup, put: Callable[[list[Key], Key], None]) -> None:
        assert group.queue is not None
        index, queue = group.index, group.queue
        key = self._keys[index] = self._session.pod_group_key(index)
        backwards = self._reversed[index] = reverse(key)
        is_pending = self._is_pending[index] = self._gangs.has_pending(index)
        if is_pending:
            put(self._pending[queue], backwards)
            asked, most = self._gangs.request(index), self._most[queue]
            if asked[0] > most[0] or asked[1] > most[1] or asked[2] > most[2]:
                self._most[queue] = (max(asked[0], most[0]), max(asked[1], most[1]), max(asked[2], most[2]))
        is_victim = self._is_victim[index] = self._is_active(group) and group.may_yield
        is_takeable = self._is_takeable[index] = is_victim and self._gangs.has_evictable(group)
        if is_victim:
            put(self._victims[queue], key)
            if is_takeable:
                put(self._takeable[queue], key)
            else:
                self._spent[queue].append(index)

    def _unfile(self, group: PodGroup) -> None:
        assert group.queue is not None
        index = group.index
        if self._is_pending[index]:
            _remove(self._pending[group.queue], self._reversed[index])
        if self._is_victim[index]:
            _remove(self._victims[group.queue], self._keys[index])
        if self._is_takeable[index]:
            _remove(self._takeable[group.queue], self._keys[index])

    def _is_active(self, group: PodGroup) -> bool:
        active, pod_sets = self._session.ledger.active_allocated, group.pod_sets
        if len(pod_sets) == 1:
            return active[pod_sets[0].index] > 0
        return any(active[pod_set.index] for pod_set in pod_sets)


def _remove(keys: list[Key], key: Key) -> None:
    del keys[bisect_left(keys, key)]


def reverse(key: Key) -> Key:
    """The key of the opposite order."""
    return tuple([-part for part in key])
