"""Rows by key with their changes, and warnings about objects."""

from typing import Generic, NamedTuple, TypeVar

from google.protobuf.message import Message


class ObjectWarning(NamedTuple):
    """A warning about an object."""

    subject: str
    """Kind, namespace and name of the object."""
    text: str


class WarningCollector:
    """Collects warnings by object. A repeated warning is not new until it was resolved."""

    def __init__(self) -> None:
        self._by_key: dict[str, dict[str, ObjectWarning]] = {}
        self._new: list[ObjectWarning] = []

    def replace(self, key: str, subject: str, texts: list[str]) -> None:
        """Replace all warnings about an object."""
        before = self._by_key.get(key, {})
        now = {text: ObjectWarning(subject, text) for text in texts}
        self._new.extend(warned for text, warned in now.items() if text not in before)
        if now:
            self._by_key[key] = now
        else:
            self._by_key.pop(key, None)

    def take_new(self) -> list[ObjectWarning]:
        """Warnings that are new since the last call."""
        fresh, self._new = self._new, []
        return fresh

    @property
    def active(self) -> list[ObjectWarning]:
        """All current warnings."""
        return [warned for texts in self._by_key.values() for warned in texts.values()]


Row = TypeVar("Row", bound=Message)


class RowTable(Generic[Row]):
    """One list of a snapshot. Do not change rows after `put`."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self._changed: set[str] = set()

    def put(self, key: str, row: Row | None) -> None:
        """Set the row of a key; None removes it."""
        if row is None:
            if self.rows.pop(key, None) is not None:
                self._changed.add(key)
        elif self.rows.get(key) != row:
            self.rows[key] = row
            self._changed.add(key)

    def replace(self, rows: dict[str, Row]) -> bool:
        """Replace all rows. Returns whether anything changed."""
        for key in [key for key in self.rows if key not in rows]:
            self.put(key, None)
        for key, row in rows.items():
            self.put(key, row)
        return bool(self._changed)

    def take_changes(self) -> tuple[list[Row], list[str]]:
        """Changed rows, and keys of removed ones, since the last call."""
        changed, self._changed = sorted(self._changed), set()
        return [self.rows[key] for key in changed if key in self.rows], [
            key for key in changed if key not in self.rows
        ]

    def all(self) -> list[Row]:
        """All rows, sorted by key. Resets the changes."""
        self._changed.clear()
        return [self.rows[key] for key in sorted(self.rows)]
