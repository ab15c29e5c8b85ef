"""Uids by slot, in versions that have most in common: a version costs what it changes."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

PIECE: Final = 128
"""So many labels are copied when one changes."""


class Labels:
    """One version: labels in order, the same one several times where slots are empty."""

    def __init__(self, labels: Iterable[str] = ()) -> None:
        every = list(labels)
        self._pieces = [every[start : start + PIECE] for start in range(0, len(every), PIECE)]
        """All are full but the last one."""
        self._firsts = [piece[0] for piece in self._pieces]
        self._own: set[int] = set()
        """Pieces that no other version reads."""

    def after(self) -> "Labels":
        """The next version, the caller's to change before anybody else reads it."""
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

    def put(self, slot: int, label: str) -> None:
        """Label a slot, or one more at the end."""
        number, at = slot // PIECE, slot % PIECE
        if number == len(self._pieces):
            self._pieces.append([])
            self._firsts.append(label)
            self._own.add(number)
        elif number not in self._own:
            self._pieces[number] = self._pieces[number].copy()
            self._own.add(number)
        piece = self._pieces[number]
        if at == len(piece):
            piece.append(label)
        else:
            piece[at] = label
        if at == 0:
            self._firsts[number] = label

    def __len__(self) -> int:
        """How many slots there are."""
        return (len(self._pieces) - 1) * PIECE + len(self._pieces[-1]) if self._pieces else 0

    def __iter__(self) -> Iterator[str]:
        """All labels, by slot."""
        return chain.from_iterable(self._pieces)

    def __getitem__(self, slot: int) -> str:
        """The label of a slot; an IndexError where there is none."""
        return self._pieces[slot // PIECE][slot % PIECE]
