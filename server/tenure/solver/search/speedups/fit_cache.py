"""On which nodes a shape does not fit, kept until their room changes."""

from collections.abc import Iterable

from tenure.solver.framework.ledger import NO, Ledger
from tenure.solver.model.workload import TaskShape


class NodeChanges:
    """When the room of each node changed last."""

    __slots__ = ("_latest", "count")

    def __init__(self) -> None:
        self.count = 0
        """How often changes were noted."""
        self._latest: dict[int, int] = {}
        """By node: the count when its room changed last; the latest change comes last."""

    def add(self, nodes: Iterable[int]) -> None:
        """The room of these nodes has changed."""
        self.count += 1
        latest = self._latest
        for node in nodes:
            latest.pop(node, None)
            latest[node] = self.count

    def since(self, count: int) -> list[int]:
        """Nodes whose room changed after so many changes were noted."""
        nodes: list[int] = []
        if count == self.count:
            return nodes
        for node in reversed(self._latest):
            if self._latest[node] <= count:
                break
            nodes.append(node)
        return nodes


class FitCache:
    """What was found out about one shape, as of the changes it has seen.

    It must not ask for claims that others share: where these are does not follow from the room of a node.
    """

    __slots__ = ("_ledger", "misfits", "seen_changes", "shape", "shared_fits")

    def __init__(self, shape: TaskShape, ledger: Ledger) -> None:
        self.shape = shape
        self.seen_changes = 0
        self.misfits = 0
        """Nodes that were asked and have no room for it, not even soon."""
        self.shared_fits = 0
        """Nodes on which a device in shared use has room for it, whatever else it lacks there."""
        self._ledger = ledger

    def fit(self, node: int) -> int:
        """NOW, SOON or NO; a NO is kept."""
        found = self._ledger.fit(self.shape, node)
        if found == NO:
            self.misfits |= 1 << node
        return found

    def invalidate(self, nodes: Iterable[int]) -> None:
        """The room of these nodes has changed."""
        changed = 0
        for node in nodes:
            changed |= 1 << node
        self.misfits &= ~changed

    def update_shared_fits(self, nodes: Iterable[int], left: list[int]) -> None:
        """The shape shares devices; `left` is the largest free part of one in shared use, in MiB by node."""
        rooms = self._ledger.node_infos
        joined, apart = 0, 0
        for node in nodes:
            if left[node] >= 0 and left[node] >= rooms[node].share_memory(self.shape):
                joined |= 1 << node
            else:
                apart |= 1 << node
        self.shared_fits = (self.shared_fits | joined) & ~apart
