"""Where a state comes from: a full snapshot and the deltas since, so that it can be written down shortly."""

from itertools import count
from typing import Final, NamedTuple

MAX_DELTAS: Final = 50
"""Deltas that are remembered; the state after the next one counts as a full snapshot again."""
MAX_PART: Final = 4
"""Nor may they be larger than this part of the state: one in so many bytes."""
_NUMBERS: Final = count(1)


class Lineage(NamedTuple):
    """The number of a full snapshot, unique in this process, and the deltas on it in order, as bytes."""

    base: int
    deltas: tuple[bytes, ...] = ()

    def after(self, delta: bytes, size: int) -> "Lineage":
        """With one delta more, for a state of so many bytes; a new base when it is no short way any more."""
        deltas = (*self.deltas, delta)
        if len(deltas) > MAX_DELTAS or sum(map(len, deltas)) * MAX_PART > size:
            return new_lineage()
        return Lineage(self.base, deltas)


def new_lineage() -> Lineage:
    """That of a full snapshot."""
    return Lineage(next(_NUMBERS))
