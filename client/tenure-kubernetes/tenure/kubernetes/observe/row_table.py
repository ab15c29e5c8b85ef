"""Rows by key, and which of them changed.

What could not be taken as it was written: told once for each object and reason.
"""

from typing import Generic, NamedTuple, TypeVar

from google.protobuf.message import Message


class ObjectWarning(NamedTuple):
    """One doubtful thing. Both texts are for people."""

    subject: str
    """What it is about: kind, namespace and name."""
    text: str


class WarningCollector:
    """Collects doubts about objects, by uid. What is noted again is not told again, until it is settled."""

    def __init__(self) -> None:
        self._by_key: dict[str, dict[str, ObjectWarning]] = {}
        self._new: list[ObjectWarning] = []

    def replace(self, key: str, subject: str, texts: list[str]) -> None:
        """These are all doubts about one object as it is now."""
        before = self._by_key.get(key, {})
        now = {text: ObjectWarning(subject, text) for text in texts}
        self._new.extend(warned for text, warned in now.items() if text not in before)
        if now:
            self._by_key[key] = now
        else:
            self._by_key.pop(key, None)

    def take_new(self) -> list[ObjectWarning]:
        """What is new since this was called last."""
        fresh, self._new = self._new, []
        return fresh

    @property
    def active(self) -> list[ObjectWarning]:
        """All that are still true."""
        return [warned for texts in self._by_key.values() for warned in texts.values()]


Row = TypeVar("Row", bound=Message)


class RowTable(Generic[Row]):
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
