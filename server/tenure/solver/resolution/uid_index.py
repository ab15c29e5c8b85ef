"""Sorted uids by slot."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tenure.solver.model.persistent_vector import CHUNK_SIZE, PersistentVector

if TYPE_CHECKING:
    from mypy_extensions import i64


class UidIndex(PersistentVector[str]):
    """One version: sorted; empty slots repeat a label."""

    def __init__(self, labels: Iterable[str] = ()) -> None:
        super().__init__(labels)
        self._firsts = [piece[0] for piece in self._chunks]

    def next_version(self) -> "UidIndex":
        """Next version, which the caller may change."""
        later = UidIndex()
        later._chunks, later._firsts = self._chunks.copy(), self._firsts.copy()
        return later

    def place(self, uid: str) -> int:
        """First slot whose label is not before this one."""
        piece = bisect_left(self._firsts, uid) - 1
        return piece * CHUNK_SIZE + bisect_left(self._chunks[piece], uid) if piece >= 0 else 0

    def find(self, uid: str) -> int:
        """First slot with this label, or -1."""
        slot = self.place(uid)
        return slot if slot < len(self) and self[slot] == uid else -1

    def put(self, index: "i64", item: str) -> None:
        """Replace an item; the caller preserves the order."""
        super().put(index, item)
        if index % CHUNK_SIZE == 0:
            self._firsts[index // CHUNK_SIZE : index // CHUNK_SIZE + 1] = [item]
