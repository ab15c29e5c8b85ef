"""Columns: lists in versions that have most in common, so that a version costs what it changes."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from mypy_extensions import i64  # an int where this is compiled to machine code, which asks no more

Item = TypeVar("Item")

_SHIFT: Final = 7
PIECE: Final = 1 << _SHIFT
"""So many items are copied when one changes."""
_WITHIN: Final = PIECE - 1


class Column(Generic[Item]):
    """One version. Whoever makes it may change it before anybody else reads it, and nobody afterwards."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        every = list(items)
        self._pieces = [every[start : start + PIECE] for start in range(0, len(every), PIECE)]
        """All are full but the last one."""
        self._own: set[int] = set()
        """Pieces that no other version reads."""

    def after(self) -> "Column[Item]":
        """The next version, the caller's to change."""
        later: Column[Item] = Column()
        later._pieces = self._pieces.copy()
        return later

    def put(self, index: "i64", item: Item) -> None:
        """Put an item in place of another, or one more at the end."""
        number, at = index >> _SHIFT, index & _WITHIN
        if number == len(self._pieces):
            self._pieces.append([])
            self._own.add(number)
        elif number not in self._own:
            self._pieces[number] = self._pieces[number].copy()
            self._own.add(number)
        piece = self._pieces[number]
        if at == len(piece):
            piece.append(item)
        else:
            piece[at] = item

    def __len__(self) -> int:
        """How many items there are."""
        pieces = self._pieces
        return (len(pieces) - 1) * PIECE + len(pieces[-1]) if pieces else 0

    def __getitem__(self, index: "i64") -> Item:
        """An item by its index, counted from the first; an IndexError where there is none."""
        if index < 0:
            raise IndexError(index)
        return self._pieces[index >> _SHIFT][index & _WITHIN]

    def __iter__(self) -> Iterator[Item]:
        """All items."""
        return chain.from_iterable(self._pieces)

    def __reversed__(self) -> Iterator[Item]:
        """All items, the last one first."""
        return chain.from_iterable([reversed(piece) for piece in reversed(self._pieces)])

    def __eq__(self, other: object) -> bool:
        """Whether it has the same items as another column."""
        return isinstance(other, Column) and self._pieces == other._pieces

    def __hash__(self) -> int:
        """Equal columns have equal ones."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """The items."""
        return f"Column({list(self)!r})"
