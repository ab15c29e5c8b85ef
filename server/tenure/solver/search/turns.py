"""Whose turn it is in a simulation: preemptor and victims in queue order (semantics R5.52, R5.53).

The reference lets every pending pod group take its turn and passes over those that are neither preemptor
nor victim. They matter only because a queue stands where its best pod group puts it. So only the leaves that
can change the order of the others are looked at, runs of pod groups that ask for the same are one step, and
the last one to take a turn is not searched for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import Share
from tenure.solver.search.gang import Gangs
from tenure.solver.search.podgrouplists import PodGroupLists
from tenure.solver.search.queuetree import Entry, QueueTree

Turn = tuple[tuple[int, ...], int]
"""A pod group with its key."""


class Turns:
    """Orders the few pod groups of a scenario among all that are pending."""

    def __init__(self, session: Session, gangs: Gangs, lists: PodGroupLists) -> None:
        self._session = session
        self._gangs = gangs
        self._lists = lists
        self._bystanders: dict[frozenset[int], list[int]] = {}

    def in_order(self, pod_groups: Iterable[int], share: Callable[[int], Share]) -> Iterator[int]:
        """These pod groups, which ask for that; the ledger may change between two turns."""
        keys = sorted((self._session.pod_group_key(pod_group), pod_group) for pod_group in pod_groups)
        if self._session.cluster.claims:
            # What a claim adds depends on who uses it, so it is asked before anybody takes a turn.
            share = {pod_group: share(pod_group) for _, pod_group in keys}.__getitem__
        by_queue: dict[int, list[Turn]] = {}
        for key, pod_group in keys:
            queue = self._session.cluster.pod_groups[pod_group].queue
            assert queue is not None
            by_queue.setdefault(queue, []).append((key, pod_group))
        waiting = {pod_group for _, pod_group in keys}
        if len(by_queue) == 1:
            yield from (pod_group for _, pod_group in keys)
            return
        tree = self._tree(by_queue, frozenset(waiting), share)
        while len(waiting) > 1 and (head := tree.pop()) is not None:
            self._session.stop.check()
            if head.pod_group in waiting:
                waiting.discard(head.pod_group)
                yield head.pod_group
        yield from waiting

    def _tree(
        self, by_queue: dict[int, list[Turn]], concerned: frozenset[int], share: Callable[[int], Share]
    ) -> QueueTree:
        tree = QueueTree(self._session)
        leaves = frozenset(by_queue)
        if leaves not in self._bystanders:
            self._bystanders[leaves] = self._bystanders_of(leaves)
        for queue in (*self._bystanders[leaves], *sorted(leaves)):
            turns = by_queue.get(queue, [])
            tree.fill(queue, self._merged(queue, turns, concerned, share))
        return tree

    def _bystanders_of(self, leaves: frozenset[int]) -> list[int]:
        """Other leaves below a queue that competes with a queue of another concerned leaf."""
        queues = self._session.cluster.queues
        on_path = {queue for leaf in leaves for queue in queues[leaf].path}
        children: dict[int | None, int] = {}
        for queue in on_path:
            parent = queues[queue].parent
            children[parent] = children.get(parent, 0) + 1
        compete = {queue for queue in on_path if children[queues[queue].parent] > 1}
        return [
            leaf
            for leaf in self._lists.leaves()
            if leaf not in leaves and not compete.isdisjoint(queues[leaf].path)
        ]

    def _merged(
        self,
        queue: int,
        turns: Sequence[Turn],
        concerned: frozenset[int],
        share: Callable[[int], Share],
    ) -> Iterator[Entry]:
        """The queue's pending pod groups and the concerned ones, in order; runs of equal others as one."""
        following = iter(turns)
        turn = next(following, None)
        last_share = None
        for key, pod_group in self._lists.pending(queue):
            while turn is not None and turn[0] < key:
                yield Entry(*turn, share(turn[1]))
                turn, last_share = next(following, None), None
            if pod_group in concerned:
                continue
            theirs = self._gangs.request(pod_group)
            if theirs != last_share:
                last_share = theirs
                yield Entry(key, pod_group, theirs)
        while turn is not None:
            yield Entry(*turn, share(turn[1]))
            turn = next(following, None)
