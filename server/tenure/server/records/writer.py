"""Write entries, one transaction per batch, and enforce retention (records before their states)."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from tenure.process.version import package_version
from tenure.server.records.entries import CycleEntry, Entry, ResultEntry
from tenure.server.records.file import compress, open_to_write
from tenure.server.records.states import MissingBase, StateRowKey, StateRows
from tenure.solver.plugin_api.profile import profile_text

_PART: Final = 8
"""Fraction of the records or results of a caller dropped at a time if the file is too large: one in eight."""
_CALLERS: Final = """
WITH sizes AS (SELECT root, sum(length(body)) AS size FROM states GROUP BY root),
     roots AS (SELECT DISTINCT caller, root FROM records),
     used AS (
         SELECT caller, 200 + length(answer) AS recorded, 0 AS reported FROM records
         UNION ALL SELECT caller, size, 0 FROM roots JOIN sizes USING (root)
         UNION ALL SELECT caller, 0, 200 + length(group_id) + length(detail) FROM outcomes
     )
SELECT caller, sum(recorded), sum(reported) FROM used GROUP BY caller
ORDER BY sum(recorded) + sum(reported) DESC, caller LIMIT 1
"""
"""The caller with the most bytes, and how many of them are of records and of results; a row has 200 more."""
_DROP_RECORDS: Final = """
DELETE FROM records WHERE id IN (
    SELECT id FROM records WHERE caller = :caller ORDER BY id
    LIMIT (SELECT (count(*) + :part - 1) / :part FROM records WHERE caller = :caller)
)
"""
_DROP_RESULTS: Final = """
DELETE FROM outcomes WHERE rowid IN (
    SELECT rowid FROM outcomes WHERE caller = :caller ORDER BY reported_at
    LIMIT (SELECT (count(*) + :part - 1) / :part FROM outcomes WHERE caller = :caller)
)
"""


def retain(database: sqlite3.Connection, oldest: int, max_bytes: int) -> int:
    """Drop records from before `oldest` (nanoseconds), then some until the file is small enough.

    The latter are the oldest of the caller that uses the most, so that no caller displaces another. Returns
    the number of dropped records. Free space is returned to the file system.
    """
    database.execute("BEGIN IMMEDIATE")
    dropped = database.execute("DELETE FROM records WHERE recorded_at < ?", [oldest]).rowcount
    _drop_unused(database, oldest)
    while used_bytes(database) > max_bytes and (largest := database.execute(_CALLERS).fetchone()):
        caller, recorded, reported = largest
        of_caller = {"caller": caller, "part": _PART}
        if recorded < reported:
            database.execute(_DROP_RESULTS, of_caller)
        else:
            dropped += database.execute(_DROP_RECORDS, of_caller).rowcount
            _drop_unused(database, oldest)
    database.execute("COMMIT")
    database.executescript("PRAGMA incremental_vacuum")  # `execute` would free only one page
    return dropped


def used_bytes(database: sqlite3.Connection) -> int:
    """Bytes of the file that are in use."""
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    (free,) = database.execute("PRAGMA freelist_count").fetchone()
    (size,) = database.execute("PRAGMA page_size").fetchone()
    return int((pages - free) * size)


def _drop_unused(database: sqlite3.Connection, oldest: int) -> None:
    """Drop states and profiles without records, and results older than all records."""
    database.execute("DELETE FROM states WHERE root NOT IN (SELECT root FROM records)")
    database.execute("DELETE FROM profiles WHERE digest NOT IN (SELECT profile_digest FROM records)")
    (first,) = database.execute("SELECT min(recorded_at) FROM records").fetchone()
    database.execute("DELETE FROM outcomes WHERE reported_at < ?", [max(oldest, first or oldest)])


class RecordWriter:
    """A records file open for writing. Used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.database = open_to_write(path)
        self._opened = _identity(path)
        self._states = StateRows(self.database)

    def write(self, batch: Sequence[Entry]) -> list[CycleEntry]:
        """Write a batch completely, or nothing of it on OSError or sqlite3.Error.

        Returns the cycles whose snapshots are required, since the bases of their states are no longer stored.
        """
        missing = []
        self.database.execute("BEGIN IMMEDIATE")
        for entry in batch:
            if isinstance(entry, ResultEntry):
                self._write_outcome(entry)
                continue
            try:
                self._write_cycle(entry, self._states.save(entry))
            except MissingBase:
                missing.append(entry)
        self.database.execute("COMMIT")
        return missing

    def is_in_place(self) -> bool:
        """Whether the file is still at its path: a moved or removed file can be written, but not found."""
        return _identity(self._path) == self._opened

    def close(self) -> None:
        """Close the file. Uncommitted entries are lost."""
        with suppress(sqlite3.Error):  # SQLite does not remove the log of a moved file
            self.database.rollback()
            self.database.execute("PRAGMA wal_checkpoint")
        self.database.close()

    def _write_cycle(self, cycle: CycleEntry, state: StateRowKey) -> None:
        summary, actions = cycle.response.summary, json.dumps(list(cycle.actions))
        request = json.dumps([state.digest.hex(), actions, summary.now]).encode()
        self.database.execute(
            "INSERT INTO profiles VALUES (?, ?) ON CONFLICT DO NOTHING",
            [summary.profile_digest, profile_text(cycle.profile)],
        )
        row = [
            *(cycle.recorded_at, *cycle.shard, cycle.epoch, summary.version, summary.now, actions),
            *(sha256(request).digest(), *state, summary.profile_digest, package_version(), cycle.trace_id),
            *(summary.stopped_early, cycle.caller, compress(cycle.response.content)),
        ]
        self.database.execute(f"INSERT INTO records VALUES (NULL{', ?' * len(row)})", row)  # noqa: S608

    def _write_outcome(self, outcome: ResultEntry) -> None:
        row = [*outcome.shard, *outcome[1:]]
        self.database.execute(
            "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row
        )


def _identity(path: Path) -> tuple[int, int] | None:
    """Identity of the file at a path; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
