"""Rows by key with their changes, and warnings about objects."""

from typing import Final, Generic, NamedTuple, TypeVar

from google.protobuf.message import Message
from tenure.wire.violations import escape_control_characters

_MAX_LENGTH: Final = 400
"""Maximum length of a text about an object, in characters: it may quote what a user wrote."""


def readable(text: str) -> str:
    """A text about an object in one line: escaped, and truncated if it is very long."""
    shown = escape_control_characters(text[:_MAX_LENGTH])
    return shown if len(text) <= _MAX_LENGTH else f"{shown}..."


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
        now = {text: ObjectWarning(subject, readable(text)) for text in texts}
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
        self.bytes = 0
        """Size of all rows."""
        self._changed: set[str] = set()

    def put(self, key: str, row: Row | None) -> None:
        """Set the row of a key; None removes it."""
        before = self.rows.get(key)
        if before == row:
            return
        self._changed.add(key)
        if before is not None:
            self.bytes -= before.ByteSize()
        if row is None:
            del self.rows[key]
        else:
            self.rows[key] = row
            self.bytes += row.ByteSize()

    def replace(self, rows: dict[str, Row]) -> bool:
        """Replace all rows. Returns whether anything changed."""
        for key in [key for key in self.rows if key not in rows]:
            self.put(key, None)
        for key, row in rows.items():
            self.put(key, row)
        return bool(self._changed)

    @property
    def changed(self) -> frozenset[str]:
        """Keys of the rows that changed since the last call of `take_changes` or `all`."""
        return frozenset(self._changed)

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
