"""Saves: filling a queue tree with all pending pod groups for every simulation.
Sound: a bystander matters only because a queue's position depends on its best pod group. So only leaves that
can change the order of the others are considered; a pod group and those after it with no larger request are
one step, because a smaller request never moves a queue back; the last pod group is not searched for.
Switch: `simulation_order`. Plain: `pod_group_lists.AllPending`.
Compared by: tests/properties/test_simulation_order.py (equal orders on random scenarios).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import NO_SHARE, Share
from tenure.solver.search.pod_group_lists import KeyedPodGroup, SimulationOrder
from tenure.solver.search.queue_tree import QueueKeys, QueueTree, QueueTreeEntry
from tenure.solver.search.speedups.pod_group_index import PodGroupIndex


class FewPending(SimulationOrder):
    """Orders the few pod groups of a scenario among all pending ones."""

    def __init__(self, session: Session, lists: PodGroupIndex) -> None:
        self._session = session
        self._pod_group_index = lists
        self._queue_keys = QueueKeys(session)
        self._bystanders: dict[frozenset[int], list[int]] = {}
        self._known: dict[int, _Steps] = {}
        """Of each queue, from its first pending pod group on."""

    def close(self) -> None:
        """Release the generators, which refer to this."""
        self._known.clear()

    def in_order(
        self, preemptor: int, victims: Iterable[int], share: Callable[[int], Share]
    ) -> Iterator[int]:
        """These pod groups with requests, in order; the ledger may change between two items."""
        keys = [(self._session.pod_group_key(preemptor), preemptor)]
        for victim in victims:
            keys.append((self._session.pod_group_key(victim), victim))
        keys.sort()
        if self._session.cluster.claims:
            # The charge of a claim depends on its users, so it is computed before any pod group is placed.
            share = {pod_group: share(pod_group) for _, pod_group in keys}.__getitem__
        if len(keys) == 2 and self._are_first(keys, preemptor):
            return iter(self._two(keys[0][1], keys[1][1], share))
        return self._among_all(keys, preemptor, share)

    def _among_all(
        self, keys: Sequence[KeyedPodGroup], preemptor: int, share: Callable[[int], Share]
    ) -> Iterator[int]:
        """These pod groups in order, among all pending ones."""
        by_queue: dict[int, list[KeyedPodGroup]] = {}
        for key, pod_group in keys:
            queue = self._session.cluster.pod_groups[pod_group].queue
            assert queue is not None
            by_queue.setdefault(queue, []).append((key, pod_group))
        waiting = {pod_group for _, pod_group in keys}
        if len(by_queue) == 1:
            yield from [pod_group for _, pod_group in keys]
            return
        tree = self._tree(by_queue, preemptor, share)
        while len(waiting) > 1 and (head := tree.pop()) is not None:
            self._session.stop.check()
            if head.pod_group in waiting:
                waiting.discard(head.pod_group)
                yield head.pod_group
        yield from waiting

    def _are_first(self, keys: Iterable[KeyedPodGroup], preemptor: int) -> bool:
        """Whether these are of different queues, and no other pending pod group could precede them."""
        groups, leaves = self._session.cluster.pod_groups, set()
        for key, pod_group in keys:
            queue = groups[pod_group].queue
            assert queue is not None
            if pod_group != preemptor and self._session.ledger.pending[pod_group]:
                return False
            first = self._pod_group_index.first_pending(queue)
            if first is not None and first < key:
                return False
            leaves.add(queue)
        return len(leaves) == 2 and not self._bystanders_of(frozenset(leaves))

    def _two(self, one: int, other: int, share: Callable[[int], Share]) -> tuple[int, int]:
        """These two, ordered by their queues at the level where their paths diverge."""
        groups, queues = self._session.cluster.pod_groups, self._session.cluster.queues
        queue, other_queue = groups[one].queue, groups[other].queue
        assert queue is not None
        assert other_queue is not None
        for here, there in zip(queues[queue].path, queues[other_queue].path, strict=False):
            if here != there:
                break
        key = self._queue_keys.key(here, share(one), NO_SHARE)
        return (one, other) if key < self._queue_keys.key(there, share(other), NO_SHARE) else (other, one)

    def _tree(
        self, by_queue: dict[int, list[KeyedPodGroup]], preemptor: int, share: Callable[[int], Share]
    ) -> QueueTree:
        tree = QueueTree(self._session)
        leaves = frozenset(by_queue)
        for queue in self._bystanders_of(leaves):
            tree.fill(queue, self._steps_of(queue))
        for queue in sorted(leaves):
            tree.fill(queue, self._merged(queue, by_queue[queue], preemptor, share))
        return tree

    def _bystanders_of(self, leaves: frozenset[int]) -> list[int]:
        """Other leaves below a queue that competes with a queue of another concerned leaf."""
        known = self._bystanders.get(leaves)
        if known is None:
            known = self._bystanders[leaves] = self._find_bystanders(leaves)
        return known

    def _find_bystanders(self, leaves: frozenset[int]) -> list[int]:
        queues = self._session.cluster.queues
        on_path = {queue for leaf in leaves for queue in queues[leaf].path}
        children: dict[int | None, int] = {}
        for queue in on_path:
            parent = queues[queue].parent
            children[parent] = children.get(parent, 0) + 1
        compete = {queue for queue in on_path if children[queues[queue].parent] > 1}
        return [
            leaf
            for leaf in self._pod_group_index.leaf_queues()
            if leaf not in leaves and not compete.isdisjoint(queues[leaf].path)
        ]

    def _merged(
        self, queue: int, concerned: Sequence[KeyedPodGroup], preemptor: int, share: Callable[[int], Share]
    ) -> Iterator[QueueTreeEntry]:
        """Pending pod groups of the queue and the concerned ones, in order; of the others the steps only."""
        pending = self._session.ledger.pending
        if any(pending[pod_group] and pod_group != preemptor for _, pod_group in concerned):
            yield from self._interleave(queue, concerned, share)
            return
        steps: Iterator[QueueTreeEntry] = self._steps_of(queue)
        for key, pod_group in concerned:
            for entry in steps:
                if entry.key >= key:
                    break
                yield entry
            yield QueueTreeEntry(key, pod_group, share(pod_group))
            steps = self._steps(self._pod_group_index.pending(queue, after=key), self._most(queue))
        yield from steps

    def _most(self, queue: int) -> Share | None:
        """Maximum request of its pending pod groups, unless it depends on shared claims."""
        return None if self._session.cluster.claims else self._pod_group_index.most_requested(queue)

    def _interleave(
        self, queue: int, concerned: Sequence[KeyedPodGroup], share: Callable[[int], Share]
    ) -> Iterator[QueueTreeEntry]:
        """Those entries if victims of the queue have pending tasks too: their positions differ."""
        indices = {pod_group for _, pod_group in concerned}
        others = [(key, group) for key, group in self._pod_group_index.pending(queue) if group not in indices]
        for key, pod_group in concerned:
            yield from self._steps(entry for entry in others if entry[0] < key)
            yield QueueTreeEntry(key, pod_group, share(pod_group))
            others = [entry for entry in others if entry[0] > key]
        yield from self._steps(others)

    def _steps_of(self, queue: int) -> Iterator[QueueTreeEntry]:
        """Steps from the first pending pod group on; kept until a pod group of the queue changes.

        Requests of pod groups that share claims depend on those of other queues.
        """
        lists = self._pod_group_index
        version = self._session.commit_count if self._session.cluster.claims else lists.version(queue)
        known = self._known.get(queue)
        if known is None or known.version != version:
            most = self._most(queue)
            known = self._known[queue] = _Steps(version, self._steps(lists.pending(queue), most), most)
        return iter(known.found) if known.is_complete else known.drawn()

    def _steps(
        self, pending: Iterable[tuple[tuple[int, ...], int]], most: Share | None = None
    ) -> Iterator[QueueTreeEntry]:
        """Pod groups in order, without those that request no more than the step before them.

        These would directly follow it: a smaller request does not move a queue back. None of them requests
        more than `most`.
        """
        last = None
        for key, pod_group in pending:
            share = self._pod_group_index.request(pod_group)
            if last is None or not _is_at_most(share, last):
                last = share
                yield QueueTreeEntry(key, pod_group, share)
                if most is not None and _is_at_most(most, share):
                    break


class _Steps:
    """Steps of a queue: those found, and the generator of further ones."""

    __slots__ = ("_more", "_most", "found", "version")

    def __init__(self, version: int, more: Iterator[QueueTreeEntry], most: Share | None) -> None:
        """`version` is that of what the steps depend on. None of them requests more than `most`."""
        self.version = version
        self.found: list[QueueTreeEntry] = []
        self._more: Iterator[QueueTreeEntry] | None = more
        self._most = most
        self._draw()

    @property
    def is_complete(self) -> bool:
        """Whether all steps were found."""
        return self._more is None

    def drawn(self) -> Iterator[QueueTreeEntry]:
        """The steps in order; further ones are found on demand."""
        number = 0
        while number < len(self.found) or self._draw():
            yield self.found[number]
            number += 1

    def _draw(self) -> bool:
        """Find one more step."""
        if self._more is None:
            return False
        for entry in self._more:
            self.found.append(entry)
            if self._most is not None and _is_at_most(self._most, entry.share):
                self._more = None
            return True
        self._more = None
        return False


def _is_at_most(share: Share, other: Share) -> bool:
    return share[0] <= other[0] and share[1] <= other[1] and share[2] <= other[2]
