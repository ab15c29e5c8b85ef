"""Which records stay: the young ones, as many as there is room for. A record goes before its state does."""

import sqlite3
from typing import Final

_PART: Final = 8
"""When there is no room, one in so many records goes at a time."""


def retain(database: sqlite3.Connection, oldest: int, max_bytes: int) -> int:
    """Drop records from before `oldest` (nanoseconds), and then the oldest until the file is small enough.

    Returns how many are dropped. The room is given back to the file system.
    """
    database.execute("BEGIN IMMEDIATE")
    dropped = database.execute("DELETE FROM records WHERE recorded_at < ?", [oldest]).rowcount
    _drop_unused(database, oldest)
    while used_bytes(database) > max_bytes and (count := _drop_first(database)):
        dropped += count
        _drop_unused(database, oldest)
    database.execute("COMMIT")
    database.executescript("PRAGMA incremental_vacuum")  # `execute` would free a single page
    return dropped


def used_bytes(database: sqlite3.Connection) -> int:
    """Bytes of the file that hold something."""
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    (free,) = database.execute("PRAGMA freelist_count").fetchone()
    (size,) = database.execute("PRAGMA page_size").fetchone()
    return int((pages - free) * size)


def _drop_first(database: sqlite3.Connection) -> int:
    (count,) = database.execute("SELECT count(*) FROM records").fetchone()
    first = "SELECT id FROM records ORDER BY id LIMIT ?"
    return database.execute(
        f"DELETE FROM records WHERE id IN ({first})",  # noqa: S608 (nothing in it is anybody's text)
        [-(-count // _PART)],
    ).rowcount


def _drop_unused(database: sqlite3.Connection, oldest: int) -> None:
    """States and profiles of no record, and outcomes that are older than all records."""
    database.execute("DELETE FROM states WHERE root NOT IN (SELECT root FROM records)")
    database.execute("DELETE FROM profiles WHERE digest NOT IN (SELECT profile_digest FROM records)")
    (first,) = database.execute("SELECT min(recorded_at) FROM records").fetchone()
    database.execute("DELETE FROM outcomes WHERE reported_at < ?", [max(oldest, first or oldest)])
