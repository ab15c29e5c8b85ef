"""Pod groups in the order of the queue tree: the best child queue first, at every level (semantics R3.4).

Used in one direction for pod groups that ask and in the other for victims. A leaf holds entries by pod
group key; an inner queue holds its children by queue key, each represented by its best entry.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any, NamedTuple

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import Share
from tenure.solver.model.workload import add_shares
from tenure.solver.search.heap import LiveHeap

ZERO: Share = (0, 0, 0)


class Entry(NamedTuple):
    """A pod group in a leaf. Keys are unique, so the rest is never compared."""

    key: tuple[int, ...]
    pod_group: int
    share: Share
    """What it asks for, or, as a victim, what it holds."""
    item: Any = None


class _Branch:
    """A queue in the tree."""

    __slots__ = (
        "children",
        "entries",
        "is_known",
        "key",
        "parent",
        "popped",
        "queue",
        "source",
        "source_key",
        "stale",
        "version",
    )

    def __init__(self, queue: int, parent: "_Branch | None", children: "LiveHeap[_Branch] | None") -> None:
        self.queue = queue
        self.parent = parent
        self.children = children
        self.entries: list[Entry] = []
        self.source: Iterator[Entry] = iter(())
        self.source_key: tuple[int, ...] | None = None
        self.stale = False
        """Whether its place among its siblings may be wrong."""
        self.popped = ZERO
        """What the victims hold that were popped from it, if it is a leaf."""
        self.key: tuple[Any, ...] = ()
        self.is_known = False
        """Whether the key is right, as long as the version of the queue is the one it was made from."""
        self.version = -1

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left below it."""
        return not (self.entries if self.children is None else self.children.items)

    def draw(self) -> None:
        """Take the next entry of the source: the heap always holds the source's best."""
        entry = next(self.source, None)
        self.source_key = None if entry is None else entry.key
        if entry is not None:
            heappush(self.entries, entry)


class QueueTree:
    """Entries of many queues, popped in order."""

    def __init__(self, session: Session, *, victims: bool = False) -> None:
        self._queues = session.cluster.queues
        self._keys = session.chains.queue_key
        self._versions = session.ledger.queue_versions
        self._victims = victims
        self._root = _Branch(-1, None, self._new_heap())
        self._leaves: dict[int, _Branch] = {}
        self._loose: list[_Branch] = []
        """Filled leaves that are not in the tree yet: it is built bottom-up, once all are there."""

    def fill(self, queue: int, source: Iterator[Entry]) -> None:
        """Give a leaf queue its entries, in ascending order of their keys; they are drawn as needed."""
        leaf = self._new_leaf(queue)
        leaf.source = source
        leaf.draw()
        if leaf.entries:
            self._loose.append(leaf)

    def push(self, queue: int, entry: Entry) -> None:
        """Add one entry."""
        self._build()
        leaf = self._leaves.get(queue)
        if leaf is None:
            leaf = self._new_leaf(queue)
        is_new = leaf.is_empty
        heappush(leaf.entries, entry)
        if is_new:
            self._attach(leaf)
        self._mark_stale(leaf)

    def pop(self) -> Entry | None:
        """The next entry, or None."""
        if self._loose:
            self._build()
        branch = self._root
        if branch.is_empty:
            return None
        while (children := branch.children) is not None:
            while (branch := children.items[0]).stale:
                branch.stale = False
                children.fix_top()
        entry = heappop(branch.entries)
        if entry.key == branch.source_key:
            branch.draw()
        if self._victims:
            branch.popped = add_shares(branch.popped, entry.share)
        self._mark_stale(branch)
        if branch.is_empty:
            self._prune(branch)
        return entry

    def _build(self) -> None:
        """Hang every filled leaf, then its ancestors, deepest first: a queue's place depends on its best."""
        level, self._loose = self._loose, []
        while level:
            deepest = max(len(self._queues[branch.queue].path) for branch in level)
            parents: dict[int, _Branch] = {}
            for branch in level:
                if len(self._queues[branch.queue].path) < deepest:
                    parents[branch.queue] = branch
                    continue
                parent = self._parent(branch)
                is_new = parent.is_empty and parent is not self._root
                branch.parent = parent
                branch.is_known = False
                assert parent.children is not None
                parent.children.push(branch)
                if is_new:
                    parents[parent.queue] = parent
            level = list(parents.values())

    def _parent(self, branch: _Branch) -> _Branch:
        queue = self._queues[branch.queue].parent
        if queue is None:
            return self._root
        if queue not in self._leaves:
            self._leaves[queue] = _Branch(queue, None, self._new_heap())
        return self._leaves[queue]

    def _new_heap(self) -> "LiveHeap[_Branch]":
        return LiveHeap(self._key, largest_first=self._victims)

    def _new_leaf(self, queue: int) -> _Branch:
        leaf = self._leaves[queue] = _Branch(queue, None, None)
        return leaf

    def _attach(self, leaf: _Branch) -> None:
        """Hang a branch below its parent queue, which is made if it is not there."""
        parent = self._parent(leaf)
        leaf.parent = parent
        leaf.is_known = False
        assert parent.children is not None
        is_new = parent.is_empty
        parent.children.push(leaf)
        if is_new and parent is not self._root:
            self._attach(parent)

    def _prune(self, branch: _Branch) -> None:
        """Remove empty branches upward; each is the top of its parent."""
        while branch.is_empty and branch.parent is not None:
            parent = branch.parent
            assert parent.children is not None
            parent.children.pop_top()
            branch.parent = None
            branch = parent

    def _mark_stale(self, branch: _Branch | None) -> None:
        """What the branch holds changed, and with it its key and those of the branches above it."""
        while branch is not None:
            branch.stale = True
            branch.is_known = False
            branch = branch.parent

    def _key(self, branch: _Branch) -> tuple[Any, ...]:
        """Of a queue with what it and its best pod group ask for; asked anew when either changed."""
        queue = branch.queue
        version = self._versions[queue]
        if branch.is_known and branch.version == version:
            return branch.key
        leaf = branch
        while leaf.children is not None:
            leaf = leaf.children.items[0]
        request, popped = leaf.entries[0].share, ZERO
        if self._victims:
            request, popped = ZERO, add_shares(leaf.popped, request)
        parts: list[Any] = []
        for key in self._keys:
            parts.append(key(queue, request, popped))
        parts.append(self._queues[queue].rank)
        branch.key = tuple(parts)
        branch.version, branch.is_known = version, True
        return branch.key
