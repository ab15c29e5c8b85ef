"""Columns: lists in versions that have most in common, so that a version costs what it changes."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from mypy_extensions import i64  # an int where this is compiled to machine code, which asks no more

Item = TypeVar("Item")

_SHIFT: Final = 7
CHUNK_SIZE: Final = 1 << _SHIFT
"""So many items are copied when one changes."""
_WITHIN: Final = CHUNK_SIZE - 1


class PersistentVector(Generic[Item]):
    """One version. Whoever makes it may change it before anybody else reads it, and nobody afterwards."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        every = list(items)
        self._chunks = [every[start : start + CHUNK_SIZE] for start in range(0, len(every), CHUNK_SIZE)]
        """All are full but the last one."""
        self._own: set[int] = set()
        """Pieces that no other version reads."""

    def next_version(self) -> "PersistentVector[Item]":
        """The next version, the caller's to change."""
        later: PersistentVector[Item] = PersistentVector()
        later._chunks = self._chunks.copy()
        return later

    def put(self, index: "i64", item: Item) -> None:
        """Put an item in place of another, or one more at the end."""
        number, at = index >> _SHIFT, index & _WITHIN
        if number == len(self._chunks):
            self._chunks.append([])
            self._own.add(number)
        elif number not in self._own:
            self._chunks[number] = self._chunks[number].copy()
            self._own.add(number)
        piece = self._chunks[number]
        if at == len(piece):
            piece.append(item)
        else:
            piece[at] = item

    def __len__(self) -> int:
        """How many items there are."""
        pieces = self._chunks
        return (len(pieces) - 1) * CHUNK_SIZE + len(pieces[-1]) if pieces else 0

    def __getitem__(self, index: "i64") -> Item:
        """An item by its index, counted from the first; an IndexError where there is none."""
        if index < 0:
            raise IndexError(index)
        return self._chunks[index >> _SHIFT][index & _WITHIN]

    def __iter__(self) -> Iterator[Item]:
        """All items."""
        return chain.from_iterable(self._chunks)

    def __reversed__(self) -> Iterator[Item]:
        """All items, the last one first."""
        return chain.from_iterable([reversed(piece) for piece in reversed(self._chunks)])

    def __eq__(self, other: object) -> bool:
        """Whether it has the same items as another column."""
        return isinstance(other, PersistentVector) and self._chunks == other._chunks

    def __hash__(self) -> int:
        """Equal columns have equal ones."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """The items."""
        return f"Column({list(self)!r})"
