"""Which full snapshot and deltas a state comes from, so that records store only what changed."""

from itertools import count
from typing import Final, NamedTuple

MAX_DELTAS: Final = 50
"""Maximum number of deltas in a lineage; the state after the next one is a new base."""
MAX_DELTA_PART: Final = 4
"""Maximum size of the deltas of a lineage: one n-th of the state."""
_NUMBERS: Final = count(1)


class Lineage(NamedTuple):
    """Origin of a state: number of a full snapshot, unique in the process, and the deltas since, in bytes."""

    base: int
    deltas: tuple[bytes, ...] = ()

    def with_delta(self, delta: bytes, size: int) -> "Lineage":
        """Append a delta, for a state of `size` bytes; a new base if the deltas exceed the limits."""
        deltas = (*self.deltas, delta)
        if len(deltas) > MAX_DELTAS or sum(map(len, deltas)) * MAX_DELTA_PART > size:
            return new_lineage()
        return Lineage(self.base, deltas)

    @property
    def size(self) -> int:
        """Bytes of the deltas."""
        return sum(map(len, self.deltas))


def new_lineage() -> Lineage:
    """Lineage of a full snapshot."""
    return Lineage(next(_NUMBERS))
