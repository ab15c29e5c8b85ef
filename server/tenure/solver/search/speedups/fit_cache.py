"""Cache of the nodes on which a shape does not fit, until their capacity changes."""

from collections.abc import Iterable

from tenure.solver.framework.ledger import NO, Ledger
from tenure.solver.model.workload import TaskShape


class NodeChanges:
    """Time of the last capacity change of each node."""

    __slots__ = ("_latest", "count")

    def __init__(self) -> None:
        self.count = 0
        """Number of changes so far."""
        self._latest: dict[int, int] = {}
        """By node: the count at its last change; the latest change is last."""

    def add(self, nodes: Iterable[int]) -> None:
        """Note capacity changes of these nodes."""
        self.count += 1
        latest = self._latest
        for node in nodes:
            latest.pop(node, None)
            latest[node] = self.count

    def since(self, count: int) -> list[int]:
        """Nodes that changed after the given count."""
        nodes: list[int] = []
        if count == self.count:
            return nodes
        for node in reversed(self._latest):
            if self._latest[node] <= count:
                break
            nodes.append(node)
        return nodes


class FitCache:
    """Cached fits of one shape, as of the changes processed so far.

    The shape must not use shared claims, whose fit does not depend on the capacity of a node alone.
    """

    __slots__ = ("_ledger", "misfits", "seen_changes", "shape", "shared_fits")

    def __init__(self, shape: TaskShape, ledger: Ledger) -> None:
        self.shape = shape
        self.seen_changes = 0
        self.misfits = 0
        """Checked nodes without capacity for it, now or later."""
        self.shared_fits = 0
        """Nodes with a shared device that has capacity for it, regardless of other resources."""
        self._ledger = ledger

    def fit(self, node: int) -> int:
        """NOW, SOON or NO; a NO is cached."""
        found = self._ledger.fit(self.shape, node)
        if found == NO:
            self.misfits |= 1 << node
        return found

    def invalidate(self, nodes: Iterable[int]) -> None:
        """Drop cached results of these nodes."""
        changed = 0
        for node in nodes:
            changed |= 1 << node
        self.misfits &= ~changed

    def update_shared_fits(self, nodes: Iterable[int], left: list[int]) -> None:
        """Update for a shape that shares devices; `left`: largest free part of a shared one, MiB by node."""
        rooms = self._ledger.node_infos
        joined, apart = 0, 0
        for node in nodes:
            if left[node] >= 0 and left[node] >= rooms[node].share_memory(self.shape):
                joined |= 1 << node
            else:
                apart |= 1 << node
        self.shared_fits = (self.shared_fits | joined) & ~apart
