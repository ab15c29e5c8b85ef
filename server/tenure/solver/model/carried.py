"""Rows that a caller stores for the solver from one cycle to the next, such as the past use of queues.

A kind of rows is a constant, next to the class of its rows. Plugins read the rows of a cluster by it, and a
session stores changes by it; nothing else in the solver knows which kinds there are.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar, final

Row = TypeVar("Row")


@final
class RowKind(Generic[Row]):
    """Kind of rows that refer to no pod and no pod group by index."""

    def __init__(self, name: str, key: Callable[[Row], Any]) -> None:
        self.name: Final = name
        """List of a snapshot with these rows."""
        self.key: Final = key
        """Key of a row, by which rows are ordered."""

    def merged(
        self, before: Iterable[Row], changed: Iterable[Row], deleted: Iterable[Any] = ()
    ) -> tuple[Row, ...]:
        """Rows after a change, by key. Of rows with the same key the first counts."""
        rows = self.by_key(before)
        for key in deleted:
            rows.pop(key, None)
        rows.update(self.by_key(changed))
        return tuple([rows[key] for key in sorted(rows)])

    def by_key(self, rows: Iterable[Row]) -> dict[Any, Row]:
        """Rows by key. Of rows with the same key the first counts."""
        found: dict[Any, Row] = {}
        for row in rows:
            found.setdefault(self.key(row), row)
        return found


class CarriedChange(NamedTuple):
    """Rows of one kind that the caller is to store, and keys of rows that it is to delete."""

    kind: RowKind[Any]
    rows: tuple[Any, ...] = ()
    deleted: tuple[Any, ...] = ()


class CarriedRows(NamedTuple):
    """The rows that the caller of a cycle stored. Immutable."""

    by_list: Mapping[str, tuple[Any, ...]] = {}
    """Rows by key; lists without rows are left out."""

    def rows(self, kind: RowKind[Row]) -> tuple[Row, ...]:
        """Rows of a kind, by key."""
        return self.by_list.get(kind.name, ())

    def count(self, name: str) -> int:
        """Number of rows of a list."""
        return len(self.by_list.get(name, ()))

    def with_rows(self, kind: RowKind[Row], rows: Iterable[Row]) -> "CarriedRows":
        """All rows, with these of one kind. They are in the order of their keys."""
        others = {name: kept for name, kept in self.by_list.items() if name != kind.name}
        new = tuple(rows)
        return CarriedRows({**others, kind.name: new} if new else others)

    def after(self, changes: Iterable[CarriedChange]) -> "CarriedRows":
        """The rows after a cycle whose changes are stored."""
        carried = self
        for kind, rows, deleted in changes:
            carried = carried.with_rows(kind, kind.merged(carried.rows(kind), rows, deleted))
        return carried


NO_CARRIED_ROWS: Final = CarriedRows()
