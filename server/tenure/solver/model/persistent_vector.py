"""Persistent vectors: versions share unchanged chunks, so that a version costs what it changes."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from mypy_extensions import i64  # an unchecked int where this is compiled to machine code

Item = TypeVar("Item")

_SHIFT: Final = 7
CHUNK_SIZE: Final = 1 << _SHIFT
"""Number of items copied when one changes."""
_WITHIN: Final = CHUNK_SIZE - 1


class PersistentVector(Generic[Item]):
    """One version. Its creator may change it before it is shared; afterwards it is immutable."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        every = list(items)
        self._chunks = [every[start : start + CHUNK_SIZE] for start in range(0, len(every), CHUNK_SIZE)]
        """All chunks are full except the last one."""
        self._own: set[int] = set()
        """Chunks that no other version shares."""

    def next_version(self) -> "PersistentVector[Item]":
        """Next version, which the caller may change."""
        later: PersistentVector[Item] = PersistentVector()
        later._chunks = self._chunks.copy()
        return later

    def put(self, index: "i64", item: Item) -> None:
        """Replace an item, or append one."""
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
        """Number of items."""
        pieces = self._chunks
        return (len(pieces) - 1) * CHUNK_SIZE + len(pieces[-1]) if pieces else 0

    def __getitem__(self, index: "i64") -> Item:
        """Item by index, counted from the first. Raises IndexError."""
        if index < 0:
            raise IndexError(index)
        number, at = index >> _SHIFT, index & _WITHIN  # names, so that compiled code counts no references
        return self._chunks[number][at]

    def __iter__(self) -> Iterator[Item]:
        """All items."""
        return chain.from_iterable(self._chunks)

    def __reversed__(self) -> Iterator[Item]:
        """All items, last first."""
        return chain.from_iterable([reversed(piece) for piece in reversed(self._chunks)])

    def __eq__(self, other: object) -> bool:
        """Whether it has the same items as another vector."""
        return isinstance(other, PersistentVector) and self._chunks == other._chunks

    def __hash__(self) -> int:
        """Equal vectors have equal hashes."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """The items."""
        return f"Column({list(self)!r})"
