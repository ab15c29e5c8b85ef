"""Pod groups in the order of the queue tree: the best child queue first, at every level (semantics R3.4).

Used in one direction for pending pod groups and in the other for victims. A leaf contains entries by pod
group key; an inner queue contains its children by queue key, each represented by its best entry.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import NO_SHARE, Share
from tenure.solver.model.workload import add_shares
from tenure.solver.search.heap import HeapItem, LiveHeap


class QueueKeys:
    """Sort keys of queues among their siblings, from the plugins."""

    __slots__ = ("_chains", "_queues", "versions")

    def __init__(self, session: Session) -> None:
        self._queues = session.cluster.queues
        self._chains = session.chains
        self.versions = session.ledger.queue_versions
        """Change with every move below a queue."""

    def key(self, queue: int, request: Share, popped: Share) -> tuple[Any, ...]:
        """Unique key of a queue with its best request or popped share."""
        return (self._chains.queue_key(queue, request, popped), self._queues[queue].rank)


class QueueTreeEntry:
    """A pod group in a leaf. Keys are unique, and only keys are compared."""

    __slots__ = ("item", "key", "pod_group", "share")

    def __init__(self, key: tuple[int, ...], pod_group: int, share: Share, item: Any = None) -> None:
        """`share`: its request, or, for a victim, its allocated resources."""
        self.key = key
        self.pod_group = pod_group
        self.share = share
        self.item = item

    def __lt__(self, other: "QueueTreeEntry") -> bool:
        return self.key < other.key


class _Branch(HeapItem):
    """A queue in the tree. Has no reference to its parent, so that an unused tree is freed at once."""

    __slots__ = (
        "_is_known",
        "_key",
        "_keys",
        "_source",
        "_source_key",
        "_version",
        "_victims",
        "children",
        "entries",
        "lacks_next",
        "popped",
        "queue",
        "stale",
    )

    def __init__(
        self, keys: QueueKeys, victims: bool, queue: int, source: Iterator[QueueTreeEntry] | None
    ) -> None:
        """With a source of entries it is a leaf."""
        self._keys = keys
        self._victims = victims
        self.queue = queue
        self.children: LiveHeap[_Branch] | None = None
        if source is None:
            self.children = LiveHeap(largest_first=victims)
        self.entries: list[QueueTreeEntry] = []
        self._source = source
        self._source_key: tuple[int, ...] | None = None
        self.lacks_next = False
        """Whether the source's best entry is not in the heap."""
        self.stale = False
        """Whether its position among its siblings may be wrong."""
        self.popped = NO_SHARE
        """Resources of the victims popped from it, if it is a leaf."""
        self._key: tuple[Any, ...] = ()
        self._is_known = False
        """Whether the key is valid while the queue's version is unchanged."""
        self._version = -1

    @property
    def is_empty(self) -> bool:
        """Whether it has no entries."""
        return not (self.entries if self.children is None else self.children.items)

    def draw(self) -> None:
        """Take the next entry of the source, whose best must be in the heap before it is compared."""
        self.lacks_next, self._source_key = False, None
        if self._source is not None:
            for entry in self._source:
                self._source_key = entry.key
                if self.entries:
                    heappush(self.entries, entry)
                else:
                    self.entries.append(entry)
                break

    def take(self) -> QueueTreeEntry:
        """Remove and return the best entry."""
        entry = heappop(self.entries) if len(self.entries) > 1 else self.entries.pop()
        self.lacks_next = entry.key == self._source_key
        if self._victims:
            self.popped = add_shares(self.popped, entry.share)
        return entry

    def mark_stale(self) -> None:
        """Note that its entries, or those of a branch below, and so its key changed."""
        self.stale = True
        self._is_known = False

    def hang(self, parent: "_Branch") -> None:
        """Become a child of `parent`."""
        assert parent.children is not None
        self._is_known = False
        parent.children.push(self)

    def current_key(self) -> tuple[Any, ...]:
        """Key with the request of its best pod group; computed again when either changed."""
        version = self._keys.versions[self.queue]
        if self._is_known and self._version == version:
            return self._key
        leaf = self
        while leaf.children is not None:
            leaf = leaf.children.items[0]
        share = leaf.entries[0].share
        if self._victims:
            self._key = self._keys.key(self.queue, NO_SHARE, add_shares(leaf.popped, share))
        else:
            self._key = self._keys.key(self.queue, share, NO_SHARE)
        self._version, self._is_known = version, True
        return self._key


class QueueTree:
    """Entries of many queues, popped in order."""

    def __init__(self, session: Session, *, victims: bool = False) -> None:
        self._keys = QueueKeys(session)
        self._victims = victims
        self._queues = session.cluster.queues
        self._root = self._new_branch(-1, None)
        self._branches: dict[int, _Branch] = {}
        self._loose: list[_Branch] = []
        """Filled leaves that are not attached yet: the tree is built bottom-up when all are there."""
        self._only: _Branch | None = None
        """The leaf while there is only one: then queues need no order."""

    def fill(self, queue: int, source: Iterator[QueueTreeEntry]) -> None:
        """Fill a leaf queue with entries in ascending key order; they are drawn on demand."""
        leaf = self._branches[queue] = self._new_branch(queue, source)
        leaf.draw()
        if leaf.entries:
            self._loose.append(leaf)

    def push(self, queue: int, entry: QueueTreeEntry) -> None:
        """Add one entry."""
        self._build()
        leaf = self._branches.get(queue)
        if self._only is not None:
            if leaf is self._only:
                heappush(leaf.entries, entry)
                return
            self._hang_only()
        if leaf is None:
            leaf = self._branches[queue] = self._new_branch(queue, iter(()))
        is_new = not leaf.entries
        heappush(leaf.entries, entry)
        if is_new:
            self._attach(leaf)
        for above in self._queues[queue].path:
            self._branches[above].mark_stale()

    def pop(self) -> QueueTreeEntry | None:
        """Remove and return the next entry, or None."""
        if self._loose:
            self._build()
        if self._only is not None:
            if self._only.lacks_next:
                self._only.draw()
            return self._only.take() if self._only.entries else None
        branch = self._root
        if branch.is_empty:
            return None
        while (children := branch.children) is not None:
            while (branch := children.items[0]).stale:
                branch.stale = False
                children.fix_top()
            branch.mark_stale()
        entry = branch.take()
        if branch.lacks_next:
            branch.draw()
        if not branch.entries:
            self._prune(branch)
        return entry

    def _build(self) -> None:
        """Attach filled leaves, then ancestors, deepest first: a queue's position depends on its best."""
        level, self._loose = self._loose, []
        if len(level) == 1 and self._only is None and self._root.is_empty:
            self._only = level[0]
            return
        if level and self._only is not None:
            self._hang_only()
        while level:
            deepest = max([len(self._queues[branch.queue].path) for branch in level])
            parents: dict[int, _Branch] = {}
            for branch in level:
                if len(self._queues[branch.queue].path) < deepest:
                    parents[branch.queue] = branch
                    continue
                parent = self._parent(branch)
                is_new = parent.is_empty and parent is not self._root
                branch.hang(parent)
                if is_new:
                    parents[parent.queue] = parent
            level = list(parents.values())

    def _hang_only(self) -> None:
        """Attach the only leaf because another one is added."""
        leaf, self._only = self._only, None
        if leaf is not None and leaf.lacks_next:
            leaf.draw()
        if leaf is not None and leaf.entries:
            self._attach(leaf)

    def _parent(self, branch: _Branch) -> _Branch:
        queue = self._queues[branch.queue].parent
        if queue is None:
            return self._root
        if queue not in self._branches:
            self._branches[queue] = self._new_branch(queue, None)
        return self._branches[queue]

    def _new_branch(self, queue: int, source: Iterator[QueueTreeEntry] | None) -> _Branch:
        return _Branch(self._keys, self._victims, queue, source)

    def _attach(self, branch: _Branch) -> None:
        """Attach a branch to its parent queue, which is created if missing."""
        parent = self._parent(branch)
        is_new = parent.is_empty
        branch.hang(parent)
        if is_new and parent is not self._root:
            self._attach(parent)

    def _prune(self, branch: _Branch) -> None:
        """Remove empty branches upward; each is the top of its parent."""
        while branch.is_empty and branch is not self._root:
            parent = self._parent(branch)
            assert parent.children is not None
            parent.children.pop_top()
            branch = parent
