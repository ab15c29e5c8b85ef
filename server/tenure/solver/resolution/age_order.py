"""Pod groups ordered by age, in versions that share chunks, with a rank per pod group.

Ranks are numbers with gaps, so that a new pod group receives one between those of its neighbors.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

GAP: Final = 2**20
"""Gap between the ranks of two neighbors when all are ranked."""
CHUNK_SIZE: Final = 128
"""Number of entries copied when one changes; up to twice as many."""

Age = tuple[int, str, int]
"""Creation time, uid, rank."""


class AgeOrder:
    """One version: oldest first; equally old ones by uid."""

    def __init__(self, ages: Iterable[Age] = ()) -> None:
        every = list(ages)
        self._chunks = [every[start : start + CHUNK_SIZE] for start in range(0, len(every), CHUNK_SIZE)]
        self._lasts = [piece[-1] for piece in self._chunks]
        self._count = len(every)

    @classmethod
    def from_creations(cls, creations: Iterable[tuple[int, str]]) -> "AgeOrder":
        """Order pod groups given by creation time and uid, in any order, with new ranks."""
        ordered = sorted(creations)
        return cls([(creation, uid, place * GAP) for place, (creation, uid) in enumerate(ordered)])

    def next_version(self) -> "AgeOrder":
        """Next version, which the caller may change before it is shared."""
        later = AgeOrder()
        later._chunks, later._lasts, later._count = self._chunks.copy(), self._lasts.copy(), self._count
        return later

    def ranks(self) -> dict[str, int]:
        """Rank of each pod group, by uid."""
        return {uid: rank for piece in self._chunks for _, uid, rank in piece}

    def enter(self, creation: int, uid: str) -> int | None:
        """Insert a pod group and return its rank; None, without a change, if there is no free rank."""
        if not self._chunks:
            self._change(0, [(creation, uid, 0)])
            self._count = 1
            return 0
        number = min(bisect_left(self._lasts, (creation, uid)), len(self._chunks) - 1)
        piece = self._chunks[number]
        at = bisect_left(piece, (creation, uid))
        older = piece[at - 1] if at else self._chunks[number - 1][-1] if number else None
        rank = _between(older, piece[at] if at < len(piece) else None)
        if rank is not None:
            self._change(number, [*piece[:at], (creation, uid, rank), *piece[at:]])
            self._count += 1
        return rank

    def remove(self, creation: int, uid: str) -> None:
        """Remove a pod group."""
        number = bisect_left(self._lasts, (creation, uid))
        piece = self._chunks[number]
        at = bisect_left(piece, (creation, uid))
        self._change(number, [*piece[:at], *piece[at + 1 :]])
        self._count -= 1

    def _change(self, number: int, chunk: list[Age]) -> None:
        """Replace a chunk by these entries: by two chunks if they are too many for one."""
        pieces = (
            [chunk[:CHUNK_SIZE], chunk[CHUNK_SIZE:]]
            if len(chunk) > 2 * CHUNK_SIZE
            else [chunk]
            if chunk
            else []
        )
        self._chunks[number : number + 1] = pieces
        self._lasts[number : number + 1] = [each[-1] for each in pieces]

    def __len__(self) -> int:
        """Number of pod groups."""
        return self._count


def _between(older: Age | None, younger: Age | None) -> int | None:
    """A rank after the one and before the other, at least one of which is given."""
    if younger is None:
        assert older is not None
        return older[2] + GAP
    if older is None:
        return younger[2] - GAP
    rank = (older[2] + younger[2]) // 2
    return None if rank == older[2] else rank
