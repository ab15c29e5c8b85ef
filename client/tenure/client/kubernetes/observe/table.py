"""Rows by key, and which of them changed."""

from typing import Generic, TypeVar

from google.protobuf.message import Message

Row = TypeVar("Row", bound=Message)


class Table(Generic[Row]):
    """One list of a snapshot. Rows are not to be changed once they are put."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self._changed: set[str] = set()

    def put(self, key: str, row: Row | None) -> None:
        """The row of this key from now on; None: there is none."""
        if row is None:
            if self.rows.pop(key, None) is not None:
                self._changed.add(key)
        elif self.rows.get(key) != row:
            self.rows[key] = row
            self._changed.add(key)

    def replace(self, rows: dict[str, Row]) -> bool:
        """These are all rows from now on; whether anything changed."""
        for key in [key for key in self.rows if key not in rows]:
            self.put(key, None)
        for key, row in rows.items():
            self.put(key, row)
        return bool(self._changed)

    def take_changes(self) -> tuple[list[Row], list[str]]:
        """Rows that are new or changed, and keys of those that are gone, since this was called last."""
        changed, self._changed = sorted(self._changed), set()
        return [self.rows[key] for key in changed if key in self.rows], [
            key for key in changed if key not in self.rows
        ]

    def all(self) -> list[Row]:
        """All rows by key; what changed before is no change any more."""
        self._changed.clear()
        return [self.rows[key] for key in sorted(self.rows)]
