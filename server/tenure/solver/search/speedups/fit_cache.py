"""Saves, with `node_index`: evaluating nodes on which a shape did not fit before.
Sound: the fit of a shape without shared claims depends on the capacity of the node alone; a changed node is
dropped.
Switch: `node_index`. Plain: `node_order.ScoredNodes`.
Compared by: tests/solver/search/speedups/test_fit_cache.py, tests/properties/test_node_index.py.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Final

from tenure.solver.framework.ledger import NO, Ledger
from tenure.solver.model.workload_parts import TaskShape

NO_VALUE: Final = -(1 << 60)
"""Value of a node that is not in a bucket."""


class NodeChanges:
    """Time of the last capacity change of each node."""

    __slots__ = ("_counts", "_latest", "_log", "count")

    def __init__(self, nodes: int) -> None:
        self.count = 0
        """Number of changes so far."""
        self._latest = [0] * nodes
        """By node: the count at its last change."""
        self._log: list[int] = []
        """Nodes in the order of their changes; shortened when most are no longer the latest of a node."""
        self._counts: list[int] = []
        """The counts at these changes."""

    def add(self, nodes: Iterable[int]) -> None:
        """Note capacity changes of these nodes."""
        count = self.count = self.count + 1
        latest, log, counts = self._latest, self._log, self._counts
        for node in nodes:
            latest[node] = count
            log.append(node)
            counts.append(count)
        if len(log) > 8 * len(latest) + 64:
            self._shorten()

    def since(self, count: int) -> list[int]:
        """Nodes that changed after the given count, the latest first."""
        latest, log, counts, nodes = self._latest, self._log, self._counts, list[int]()
        number = len(log) - 1
        while number >= 0 and counts[number] > count:
            node = log[number]
            if latest[node] == counts[number]:
                nodes.append(node)
            number -= 1
        return nodes

    def _shorten(self) -> None:
        nodes = self.since(0)
        nodes.reverse()
        self._log, self._counts = nodes, [self._latest[node] for node in nodes]


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
        node_infos = self._ledger.node_infos
        joined, apart = 0, 0
        for node in nodes:
            if left[node] >= 0 and left[node] >= node_infos[node].share_memory(self.shape):
                joined |= 1 << node
            else:
                apart |= 1 << node
        self.shared_fits = (self.shared_fits | joined) & ~apart


class Buckets:
    """Nodes by a small integer value."""

    def __init__(self, nodes: int) -> None:
        self.sets: dict[int, int] = {}
        self.values: list[int] = []
        """Values that some node has or had, ascending."""
        self._of = [NO_VALUE] * nodes

    def copy(self) -> "Buckets":
        """Independent copy."""
        other = Buckets(0)
        other.sets, other.values, other._of = self.sets.copy(), self.values.copy(), self._of.copy()
        return other

    def put(self, node: int, bit: int, value: int) -> None:
        """Set the value of the node, which is the only one in the bit set `bit`."""
        old = self._of[node]
        if old == value:
            return
        sets = self.sets
        if old != NO_VALUE:
            sets[old] ^= bit
        self._of[node] = value
        nodes = sets.get(value)
        if nodes is None:
            nodes = 0
            insort(self.values, value)
        sets[value] = nodes | bit

    def at_least(self, value: int) -> int:
        """Nodes with this value or more."""
        nodes = 0
        for key in self.values[bisect_left(self.values, value) :]:
            nodes |= self.sets[key]
        return nodes
