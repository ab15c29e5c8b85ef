"""Saves, with `pruning`: counting again how many tasks of a shape fit on a node whose capacity did not
change.
Sound: a fit count depends on the capacity of the node alone, and the node index knows which nodes changed.
Switch: `pruning`. Plain: the simulation.
Compared by: tests/properties/test_fit_counts.py (fit counts equal fresh counts after random moves).
"""

from typing import Final

from tenure.solver.framework.ledger import Ledger
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.search.fits import count_fits
from tenure.solver.search.node_order import bit_set, bits
from tenure.solver.search.speedups.node_index import NodeIndex

UNKNOWN: Final = -1


class FitCounts:
    """Current fit counts, updated only for nodes whose capacity changed."""

    def __init__(self, ledger: Ledger, index: NodeIndex) -> None:
        self._ledger = ledger
        self._index = index
        self._counted: dict[int, _Counted] = {}
        """Fit counts by shape."""

    def on(self, shape: TaskShape, nodes: int) -> tuple[int, list[int]]:
        """Fit counts on the nodes of the set: the total, and by node; 0 on all other nodes."""
        counted = self._counted.get(shape.index)
        if counted is None:
            counted = self._counted[shape.index] = _Counted(len(self._ledger.nodes))
        changes, known = self._index.changes(), counted.known
        changed = changes.since(counted.seen_changes)
        counted.seen_changes = changes.count
        for node in changed:
            known[node] = UNKNOWN
        different = bit_set(changed) | (nodes ^ counted.nodes)
        for node in bits(different & nodes):
            if known[node] == UNKNOWN:
                known[node] = count_fits(self._ledger, shape, node, ())
            counted.put(node, known[node])
        for node in bits(different & ~nodes):
            counted.put(node, 0)
        counted.nodes = nodes
        return counted.total, counted.fits.copy()


class _Counted:
    """Fit counts of one shape by node, as of the changes processed so far."""

    __slots__ = ("fits", "known", "nodes", "seen_changes", "total")

    def __init__(self, nodes: int) -> None:
        self.seen_changes = 0
        self.known = [UNKNOWN] * nodes
        """Also of nodes outside the set."""
        self.nodes = 0
        """The set of nodes of the last time."""
        self.fits = [0] * nodes
        """On these nodes; 0 on all others."""
        self.total = 0

    def put(self, node: int, fits: int) -> None:
        """Set the fit count of a node."""
        self.total += fits - self.fits[node]
        self.fits[node] = fits


def requests_whole_gpus(shape: TaskShape) -> bool:
    """Whether it requests GPUs as whole devices only, or none."""
    return not (shape.shares_devices or shape.mig_gpu_milli or shape.claimed_gpu_milli)
