"""Pod groups by age, in versions that have most in common, and the ranks that say which is older.

Ranks are numbers with gaps, so that who comes gets one between those of its neighbours.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

GAP: Final = 2**20
"""Between the ranks of two pod groups that were ranked one after the other."""
CHUNK_SIZE: Final = 128
"""So many are copied when one changes, and up to twice as many."""

Age = tuple[int, str, int]
"""Creation time, uid, rank."""


class AgeOrder:
    """One version: the oldest first, and by uid where two are equally old."""

    def __init__(self, ages: Iterable[Age] = ()) -> None:
        every = list(ages)
        self._chunks = [every[start : start + CHUNK_SIZE] for start in range(0, len(every), CHUNK_SIZE)]
        self._lasts = [piece[-1] for piece in self._chunks]
        self._count = len(every)

    @classmethod
    def from_creations(cls, creations: Iterable[tuple[int, str]]) -> "AgeOrder":
        """Pod groups given by creation time and uid, in any order, with new ranks."""
        ordered = sorted(creations)
        return cls([(creation, uid, place * GAP) for place, (creation, uid) in enumerate(ordered)])

    def next_version(self) -> "AgeOrder":
        """The next version, the caller's to change before anybody else reads it."""
        later = AgeOrder()
        later._chunks, later._lasts, later._count = self._chunks.copy(), self._lasts.copy(), self._count
        return later

    def ranks(self) -> dict[str, int]:
        """The rank of each pod group, by uid."""
        return {uid: rank for piece in self._chunks for _, uid, rank in piece}

    def enter(self, creation: int, uid: str) -> int | None:
        """A rank for one that comes; None when there is none left at its place, and nothing is changed."""
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
        """Forget one that is here."""
        number = bisect_left(self._lasts, (creation, uid))
        piece = self._chunks[number]
        at = bisect_left(piece, (creation, uid))
        self._change(number, [*piece[:at], *piece[at + 1 :]])
        self._count -= 1

    def _change(self, number: int, chunk: list[Age]) -> None:
        """Let these be there instead of a piece: in two, when they are too many for one."""
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
        """How many there are."""
        return self._count


def _between(older: Age | None, younger: Age | None) -> int | None:
    """A rank after the one and before the other, of which there is at least one."""
    if younger is None:
        assert older is not None
        return older[2] + GAP
    if older is None:
        return younger[2] - GAP
    rank = (older[2] + younger[2]) // 2
    return None if rank == older[2] else rank
