"""Persistent maps: rows by uid, in versions that share all rows but the changed ones."""

from collections.abc import Collection, Iterator, Mapping
from typing import Final, Generic, TypeVar

Row = TypeVar("Row")

MERGE_RATIO: Final = 8
"""Changes are stored separately while they are at most one per this number of rows."""


class PersistentMap(Generic[Row]):
    """One version. Immutable."""

    def __init__(self, rows: dict[str, Row]) -> None:
        """First version; takes ownership of the rows."""
        self._rows = rows
        self._changed: dict[str, Row | None] = {}
        """Changed rows; None: removed."""
        self._count = len(rows)
        self.origin = object()
        """Versions with the same origin share all rows except the changed ones."""

    @property
    def changed_uids(self) -> Collection[str]:
        """Uids of the rows that may differ from any earlier version of the same origin."""
        return self._changed.keys()

    def with_changes(self, changes: Mapping[str, Row | None]) -> "PersistentMap[Row]":
        """Version with these rows in place of those with their uids; None removes a row."""
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
        """Row with this uid, or None."""
        return self._changed[uid] if uid in self._changed else self._rows.get(uid)

    def to_dict(self) -> dict[str, Row]:
        """All rows, as a dictionary that the caller owns."""
        return _merged(self._rows.copy(), self._changed)

    def __getitem__(self, uid: str) -> Row:
        """Row with this uid. Raises KeyError."""
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
        """Number of rows."""
        return self._count


def _merged(rows: dict[str, Row], changes: Mapping[str, Row | None]) -> dict[str, Row]:
    for uid, row in changes.items():
        if row is None:
            rows.pop(uid, None)
        else:
            rows[uid] = row
    return rows
