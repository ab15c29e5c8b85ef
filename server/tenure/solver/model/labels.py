"""Uids by slot, in order."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tenure.solver.model.column import PIECE, Column

if TYPE_CHECKING:
    from mypy_extensions import i64


class Labels(Column[str]):
    """One version: sorted, with the same label several times where slots are empty."""

    def __init__(self, labels: Iterable[str] = ()) -> None:
        super().__init__(labels)
        self._firsts = [piece[0] for piece in self._pieces]

    def after(self) -> "Labels":
        """See Column."""
        later = Labels()
        later._pieces, later._firsts = self._pieces.copy(), self._firsts.copy()
        return later

    def place(self, uid: str) -> int:
        """The first slot whose label is not before this one."""
        piece = bisect_left(self._firsts, uid) - 1
        return piece * PIECE + bisect_left(self._pieces[piece], uid) if piece >= 0 else 0

    def find(self, uid: str) -> int:
        """The first slot with this label, or -1."""
        slot = self.place(uid)
        return slot if slot < len(self) and self[slot] == uid else -1

    def put(self, index: "i64", item: str) -> None:
        """See Column; the order stays the caller's care."""
        super().put(index, item)
        if index % PIECE == 0:
            self._firsts[index // PIECE : index // PIECE + 1] = [item]
