"""Rows by uid, in versions that differ by a few rows and have all others in common."""

import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Final, Generic, TypeVar

Row = TypeVar("Row")

MERGE_RATIO: Final = 8
"""What changed is kept apart while it is no more than one for so many rows."""
_NUMBERS: Final = itertools.count(1)


class PersistentMap(Generic[Row]):
    """One version. Never changed in place."""

    def __init__(self, rows: dict[str, Row]) -> None:
        """The first version: the rows are this object's from now on."""
        self._rows = rows
        self._changed: dict[str, Row | None] = {}
        """Rows that are other ones by now; None: there is none any more."""
        self._count = len(rows)
        self.origin: int = next(_NUMBERS)
        """Versions with the same one, unique in this process, have all rows in common that are not in what
        changed.
        """

    @property
    def changed_uids(self) -> Collection[str]:
        """Uids of the rows that may be other ones than in any earlier version of the same origin."""
        return self._changed.keys()

    def with_changes(self, changes: Mapping[str, Row | None]) -> "PersistentMap[Row]":
        """The version with these rows, instead of those with their uids; None takes a row away."""
        changed, count = self._changed.copy(), self._count
        for uid, row in changes.items():
            count += (row is not None) - (uid in self)
            changed[uid] = row
        if len(changed) * MERGE_RATIO > len(self._rows):
            return PersistentMap(_merged(self._rows.copy(), changed))
        later = PersistentMap(self._rows)
        later._changed, later._count, later.origin = changed, count, self.origin
        return later

    def get(self, uid: str) -> Row | None:
        """The row with this uid."""
        return self._changed[uid] if uid in self._changed else self._rows.get(uid)

    def to_dict(self) -> dict[str, Row]:
        """All rows in one place, the caller's to keep."""
        return _merged(self._rows.copy(), self._changed)

    def __getitem__(self, uid: str) -> Row:
        """The row with this uid, which must be there."""
        row = self.get(uid)
        if row is None:
            raise KeyError(uid)
        return row

    def __contains__(self, uid: object) -> bool:
        """Whether there is a row with this uid."""
        if uid in self._changed:
            return self._changed[uid] is not None
        return uid in self._rows

    def __iter__(self) -> Iterator[str]:
        """All uids."""
        return iter(self.to_dict())

    def __len__(self) -> int:
        """How many rows there are."""
        return self._count


def _merged(rows: dict[str, Row], changes: Mapping[str, Row | None]) -> dict[str, Row]:
    for uid, row in changes.items():
        if row is None:
            rows.pop(uid, None)
        else:
            rows[uid] = row
    return rows
