"""Sets of nodes: bit sets in plain integers, bit i for the node of index i."""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator
from typing import Final

WORD_BITS: Final = 60
WORD: Final = (1 << WORD_BITS) - 1
SPARSE_LIMIT: Final = 8
NO_VALUE: Final = -(1 << 60)
"""Value of a node that is not in a bucket."""


def bits(nodes: int) -> Iterator[int]:
    """Node indices of a bit set, lowest first.

    Continues with a word behind each bit: every operation on a wide integer costs its width.
    """
    start = 0
    while nodes:
        gap = (nodes & -nodes).bit_length()
        start += gap
        yield start - 1
        nodes >>= gap
        word = nodes & WORD
        while word:
            low = word & -word
            yield start + low.bit_length() - 1
            word ^= low
        start, nodes = start + WORD_BITS, nodes >> WORD_BITS


def bit_set(nodes: Collection[int]) -> int:
    """Bit set of node indices. Collects many bits in bytes: each step on a wide integer costs its width."""
    if len(nodes) <= SPARSE_LIMIT:
        found = 0
        for node in nodes:
            found |= 1 << node
        return found
    marks = bytearray((max(nodes) >> 3) + 1)
    for node in nodes:
        marks[node >> 3] |= 1 << (node & 7)
    return int.from_bytes(marks, "little")


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
