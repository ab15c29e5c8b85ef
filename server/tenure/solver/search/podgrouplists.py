"""Pod groups of every leaf queue, sorted once and kept sorted from commit to commit.

Two lists per leaf: those with pending tasks, best first, and those that may be victims, worst first. A
commit moves only the pod groups it touched; nothing is sorted again (the reference sorts per search).
Read between statements only: the lists describe committed state.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator

from tenure.solver.framework.session import Session
from tenure.solver.model.workload import PodGroup
from tenure.solver.search.gang import Gangs

Key = tuple[int, ...]


class PodGroupLists:
    """Sorted pod groups by leaf queue; keys end in the pod group's rank, so they are unique."""

    def __init__(self, session: Session, gangs: Gangs) -> None:
        self._session = session
        self._gangs = gangs
        groups = session.cluster.pod_groups
        self._by_rank = [g.index for g in sorted(groups, key=lambda g: g.rank)]
        leaves = [queue.index for queue in session.cluster.queues if queue.is_leaf]
        self._pending: dict[int, list[Key]] = {leaf: [] for leaf in leaves}
        self._victims: dict[int, list[Key]] = {leaf: [] for leaf in leaves}
        self._filed: dict[int, tuple[Key | None, Key | None]] = {}
        for group in groups:
            if group.queue is not None:
                self._file(group)
        session.changed.clear()

    def leaves(self) -> list[int]:
        """Indices of all leaf queues."""
        return list(self._pending)

    def pending(self, queue: int) -> Iterator[tuple[Key, int]]:
        """Keys and pod groups with pending tasks, best first."""
        self._refresh()
        by_rank = self._by_rank
        return ((key, by_rank[key[-1]]) for key in self._pending[queue])

    def victims(self, queue: int) -> Iterator[tuple[Key, int]]:
        """Keys (of the reversed order) and pod groups that may yield active tasks, worst first."""
        self._refresh()
        by_rank = self._by_rank
        return ((key, by_rank[-key[-1]]) for key in self._victims[queue])

    def has_victims(self, queue: int) -> bool:
        """Whether the queue holds any possible victim."""
        self._refresh()
        return bool(self._victims[queue])

    def _refresh(self) -> None:
        if not self._session.changed:
            return
        for index in sorted(self._session.changed):
            group = self._session.cluster.pod_groups[index]
            if group.queue is not None:
                self._unfile(group)
                self._file(group)
        self._session.changed.clear()

    def _file(self, group: PodGroup) -> None:
        assert group.queue is not None
        key = self._session.pod_group_key(group.index)
        pending = key if self._gangs.has_pending(group.index) else None
        victim = reverse(key) if group.may_yield and self._is_active(group) else None
        if pending is not None:
            insort(self._pending[group.queue], pending)
        if victim is not None:
            insort(self._victims[group.queue], victim)
        self._filed[group.index] = (pending, victim)

    def _unfile(self, group: PodGroup) -> None:
        assert group.queue is not None
        pending, victim = self._filed[group.index]
        if pending is not None:
            keys = self._pending[group.queue]
            del keys[bisect_left(keys, pending)]
        if victim is not None:
            keys = self._victims[group.queue]
            del keys[bisect_left(keys, victim)]

    def _is_active(self, group: PodGroup) -> bool:
        active = self._session.ledger.active_allocated
        return any(active[pod_set.index] for pod_set in group.pod_sets)


def reverse(key: Key) -> Key:
    """The key of the opposite order."""
    return tuple(-part for part in key)
