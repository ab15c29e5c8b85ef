"""Pod groups that a cycle did not evaluate: the next one turns to them before it repeats failures.

Each action begins in queue order. When half of its time or of its simulations is used, the pod groups that
earlier cycles did not evaluate go first (semantics R2.25): what fails again and again cannot keep them from
their turn. The caller carries them as rows.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from itertools import islice, zip_longest
from typing import Final, cast, final

from tenure.solver.framework.session import Session
from tenure.solver.model.caller_state import POSTPONED, PostponedPodGroup
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.workload import PodGroup
from tenure.solver.search.queue_tree import QueueTree, QueueTreeEntry

MAX_POSTPONED: Final = 1_000
"""Rows of all queues; each queue has as many as the others, if it needs them."""

_Key = tuple[int, int, str]


@final
class PostponedFirst:
    """Entries in the order of a queue tree; once it is time, those of postponed pod groups come first.

    Of those, the ones of a queue that have waited longest precede. Pod groups that began to wait after all of
    them count as postponed, too: no cycle could evaluate them before.
    """

    def __init__(self, session: Session, tree: QueueTree, postponed: Mapping[int, int]) -> None:
        """`postponed` has pod groups that were not popped yet, with the times since when."""
        self._session = session
        self._groups = session.cluster.pod_groups
        self._postponed = postponed
        self._newest = max(postponed.values(), default=0)
        self._first: QueueTree | None = None
        """Those that come first, once it is time."""
        self.is_divided = False
        """Whether some came first."""
        self._tree = tree

    def push(self, queue: int, entry: QueueTreeEntry) -> None:
        """Add an entry."""
        self._tree.push(queue, entry)

    def pop(self, is_due: Callable[[], bool]) -> QueueTreeEntry | None:
        """Remove and return the next entry; None: there are none. `is_due` says whether it is time."""
        if self._first is None and self._postponed and is_due():
            self._divide()
        if self._first is not None and (first := self._first.pop()) is not None:
            return cast(QueueTreeEntry, first.item)
        return self._tree.pop()

    def _divide(self) -> None:
        """Put the entries of postponed pod groups first: each entry is moved once."""
        tree, self._tree, self._first = self._tree, QueueTree(self._session), QueueTree(self._session)
        while (entry := tree.pop()) is not None:
            group, since = self._groups[entry.pod_group], self._postponed.get(entry.pod_group)
            queue, begin = group.queue, max(group.facts.creation, group.facts.last_eviction or 0)
            assert queue is not None
            if since is None and begin <= self._newest:
                self._tree.push(queue, entry)
                continue
            key = (begin if since is None else since, *entry.key)
            self._first.push(queue, QueueTreeEntry(key, entry.pod_group, entry.share, entry))
            self.is_divided = self.is_divided or since is not None


def postponed_in(cluster: Cluster) -> Mapping[int, int]:
    """Pod groups of the snapshot that earlier cycles did not evaluate, with the times since when."""
    since = {row.pod_group: row.since for row in cluster.carried.rows(POSTPONED)}
    if not since:
        return {}
    known = (group for group in cluster.pod_groups if group.facts.uid in since)
    return {group.index: since[group.facts.uid] for group in known}


def postponed_rows(
    cluster: Cluster, earlier: Mapping[int, int], left: Iterable[int], too_long: Set[int]
) -> list[PostponedPodGroup]:
    """Rows of the pod groups that this cycle did not evaluate: at most MAX_POSTPONED.

    `earlier` is what `postponed_in` returns. Of each queue, those stay, and those come next that follow the
    last of them in the order of the queue. So each has its turn, however many there are. Those that took
    `too_long` wait from now on.
    """
    last: dict[int | None, _Key] = {}
    for group in (cluster.pod_groups[index] for index in earlier):
        last[group.queue] = max(last.get(group.queue, _key(group)), _key(group))
    by_queue: dict[int, list[tuple[bool, bool, _Key, int]]] = {}
    for group in (cluster.pod_groups[index] for index in left):
        if group.queue is not None:
            key, since = _key(group), earlier.get(group.index)
            is_before = group.queue in last and key <= last[group.queue]
            start = cluster.now if since is None or group.index in too_long else since
            place = (since is None, is_before, key, start)
            by_queue.setdefault(group.queue, []).append(place)
    lines = [sorted(by_queue[queue]) for queue in sorted(by_queue)]
    places = (place for rank in zip_longest(*lines) for place in rank if place is not None)
    return [PostponedPodGroup(key[-1], since) for _, _, key, since in islice(places, MAX_POSTPONED)]


def _key(group: PodGroup) -> _Key:
    """Higher priority first, then earlier creation."""
    return -group.facts.priority, group.facts.creation, group.facts.uid
