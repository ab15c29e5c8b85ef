"""Pod groups in order: of each leaf queue, and those of a simulation among all that are pending.

Keys are unique: they end in the pod group's rank. Lists describe committed state; they are read between
statements. Within a simulation, bystanders keep their keys, because it moves tasks of preemptor and victims
only.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import Share
from tenure.solver.model.workload import PodGroup
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.queue_tree import QueueTree, QueueTreeEntry
from tenure.solver.search.victim_keys import VictimKeys

Key = tuple[int, ...]
KeyedPodGroup = tuple[Key, int]
"""A pod group with its sort key."""
ALONE: Final = -1
"""Kind of a pod group that is like no other one."""


class PodGroupLists(ABC):
    """The lists of all leaf queues."""

    @abstractmethod
    def leaf_queues(self) -> list[int]:
        """Indices of all leaf queues."""

    @abstractmethod
    def pending(self, queue: int) -> Iterator[KeyedPodGroup]:
        """Pod groups with pending tasks, best first."""

    def has_pending(self) -> bool:
        """Whether any pod group has pending tasks."""
        return any(next(self.pending(queue), None) is not None for queue in self.leaf_queues())

    def kind(self, pod_group: int) -> int:
        """Equal for pod groups of a queue that any search treats alike; ALONE: like no other one."""
        return ALONE

    def kinds(self, queue: int) -> Collection[int] | None:
        """Kinds of its pod groups with pending tasks; None: they are not listed by kind."""
        return None

    def of_kind(self, queue: int, kind: int, after: Key | None = None) -> Iterator[KeyedPodGroup]:
        """Pod groups of one kind with pending tasks, best first; with `after`, those behind that key."""
        for keyed in self.pending(queue):
            if self.kind(keyed[1]) == kind and (after is None or keyed[0] > after):
                yield keyed

    def first_of_kind(self, queue: int, kind: int, after: Key | None = None) -> KeyedPodGroup | None:
        """The first of these, if any."""
        return next(self.of_kind(queue, kind, after), None)

    @abstractmethod
    def victims(self, queue: int) -> Iterator[KeyedPodGroup]:
        """Evictable pod groups with active tasks, worst first, with keys of the reversed order."""

    def has_victims(self, queue: int) -> bool:
        """Whether the queue has possible victims."""
        return bool(self.victim_groups(queue))

    def victim_groups(self, queue: int) -> Sequence[int]:
        """Possible victims without their keys."""
        return [pod_group for _, pod_group in self.victims(queue)]

    @abstractmethod
    def evictable_victims(self, queue: int) -> Iterator[KeyedPodGroup]:
        """Possible victims without those whose tasks this cycle placed or relocated completely."""

    @abstractmethod
    def is_victim(self, pod_group: int) -> bool:
        """Whether the pod group is a possible victim."""

    @abstractmethod
    def key_after_eviction(self, pod_group: int) -> Key:
        """Its key if it has no running tasks."""

    @abstractmethod
    def close(self) -> None:
        """Release the lists."""


class SortedPodGroups(PodGroupLists):
    """Sorts the pod groups of a queue whenever they are read."""

    def __init__(self, session: Session, gangs: GangPlanner) -> None:
        self._session = session
        self._gangs = gangs
        self._victim_keys = VictimKeys(session, gangs)
        self._by_queue: dict[int, list[PodGroup]] | None = None

    def leaf_queues(self) -> list[int]:
        """In the order of their indices."""
        return [queue.index for queue in self._session.cluster.queues if queue.is_leaf]

    def pending(self, queue: int) -> Iterator[KeyedPodGroup]:
        """Sorted by key."""
        waiting = [group.index for group in self._of(queue) if self._gangs.has_pending(group.index)]
        return iter(sorted((self._session.pod_group_key(index), index) for index in waiting))

    def victims(self, queue: int) -> Iterator[KeyedPodGroup]:
        """Sorted by reversed key."""
        return self._worst_first([group for group in self._of(queue) if self.is_victim(group.index)])

    def evictable_victims(self, queue: int) -> Iterator[KeyedPodGroup]:
        """Sorted by reversed key."""
        victims = [group for group in self._of(queue) if self.is_victim(group.index)]
        return self._worst_first([group for group in victims if self._gangs.has_evictable(group)])

    def is_victim(self, pod_group: int) -> bool:
        """By its preemptibility and its tasks."""
        group = self._session.cluster.pod_groups[pod_group]
        active = self._session.ledger.active_allocated
        if group.queue is None or not group.is_evictable:
            return False
        return any(active[pod_set.index] for pod_set in group.pod_sets)

    def key_after_eviction(self, pod_group: int) -> Key:
        """Computed whenever it is read."""
        return key_without_tasks(self._session, pod_group)

    def close(self) -> None:
        """Forget the pod groups."""
        self._by_queue = None

    def _of(self, queue: int) -> list[PodGroup]:
        if self._by_queue is None:
            self._by_queue = {leaf: [] for leaf in self.leaf_queues()}
            for group in self._session.cluster.pod_groups:
                if group.queue is not None:
                    self._by_queue[group.queue].append(group)
        return self._by_queue[queue]

    def _worst_first(self, groups: list[PodGroup]) -> Iterator[KeyedPodGroup]:
        keys = [(reverse(self._victim_keys.whole(group.index)), group.index) for group in groups]
        return iter(sorted(keys))


class SimulationOrder(ABC):
    """Orders preemptor and victims by queue order, among all pending pod groups (semantics R5.52, R5.53)."""

    @abstractmethod
    def in_order(
        self, preemptor: int, victims: Iterable[int], share: Callable[[int], Share]
    ) -> Iterator[int]:
        """These pod groups with their requests, in order; the ledger may change between two items."""

    @abstractmethod
    def close(self) -> None:
        """Release what refers to the session."""


class AllPending(SimulationOrder):
    """Fills a queue tree with all pending pod groups; bystanders matter through their queue's position."""

    def __init__(self, session: Session, gangs: GangPlanner, lists: PodGroupLists) -> None:
        self._session = session
        self._gangs = gangs
        self._lists = lists

    def in_order(
        self, preemptor: int, victims: Iterable[int], share: Callable[[int], Share]
    ) -> Iterator[int]:
        """By the queue tree; other pod groups are passed over."""
        waiting, groups = {preemptor, *victims}, self._session.cluster.pod_groups
        entries: dict[int, list[QueueTreeEntry]] = {queue: [] for queue in self._lists.leaf_queues()}
        for pod_group in sorted(waiting):
            queue = groups[pod_group].queue
            assert queue is not None
            key = self._session.pod_group_key(pod_group)
            entries[queue].append(QueueTreeEntry(key, pod_group, share(pod_group)))
        tree = QueueTree(self._session)
        for queue, found in entries.items():
            for key, pod_group in self._lists.pending(queue):
                if pod_group not in waiting:
                    found.append(QueueTreeEntry(key, pod_group, self._gangs.request(pod_group)))
            tree.fill(queue, iter(sorted(found)))
        while waiting and (entry := tree.pop()) is not None:
            self._session.stop.check()
            if entry.pod_group in waiting:
                waiting.discard(entry.pod_group)
                yield entry.pod_group

    def close(self) -> None:
        """Nothing is held."""


def key_without_tasks(session: Session, pod_group: int) -> Key:
    """Key of a pod group as if none of its tasks ran."""
    none: dict[int, int] = {}
    for pod_set in session.cluster.pod_groups[pod_group].pod_sets:
        none[pod_set.index] = 0
    return session.pod_group_key(pod_group, none)


def reverse(key: Key) -> Key:
    """Key of the opposite order."""
    return tuple([-part for part in key])
