"""Entries as rows, a batch in one transaction."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from tenure.server.capabilities import server_version
from tenure.server.digest import profile_text
from tenure.server.records.entries import Cycle, Entry, Outcome
from tenure.server.records.packing import pack
from tenure.server.records.schema import open_to_write
from tenure.server.records.states import BaseMissing, Key, StateRows


class Writer:
    """A file of records that is being written; for one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.database = open_to_write(path)
        self._opened = _identity(path)
        self._states = StateRows(self.database)

    def write(self, batch: Sequence[Entry]) -> list[Cycle]:
        """All of a batch, or nothing of it when something is raised: OSError or sqlite3.Error.

        Returns the cycles that need their snapshots: what their states are made of is not there any more.
        """
        missing = []
        self.database.execute("BEGIN IMMEDIATE")
        for entry in batch:
            if isinstance(entry, Outcome):
                self._write_outcome(entry)
                continue
            try:
                self._write_cycle(entry, self._states.save(entry))
            except BaseMissing:
                missing.append(entry)
        self.database.execute("COMMIT")
        return missing

    def is_in_place(self) -> bool:
        """Whether the file is where it was opened: what is moved or removed can be written, but not found."""
        return _identity(self._path) == self._opened

    def close(self) -> None:
        """What was not committed is as if it had never been written."""
        with suppress(sqlite3.Error):  # SQLite leaves the log of a file that was moved as it is
            self.database.rollback()
            self.database.execute("PRAGMA wal_checkpoint")
        self.database.close()

    def _write_cycle(self, cycle: Cycle, state: Key) -> None:
        based_on, actions = cycle.answer.based_on, json.dumps(list(cycle.actions))
        now = based_on.now.ToNanoseconds()
        question = json.dumps([state.digest.hex(), actions, now]).encode()
        self.database.execute(
            "INSERT INTO profiles VALUES (?, ?) ON CONFLICT DO NOTHING",
            [based_on.profile_digest, profile_text(cycle.profile)],
        )
        row = [
            *(cycle.recorded_at, *cycle.shard, cycle.epoch, based_on.version, now, actions),
            *(sha256(question).digest(), *state, based_on.profile_digest, server_version(), cycle.trace_id),
            *(cycle.answer.stopped_early, pack(cycle.answer.SerializeToString(deterministic=True))),
        ]
        self.database.execute(f"INSERT INTO records VALUES (NULL{', ?' * len(row)})", row)  # noqa: S608

    def _write_outcome(self, outcome: Outcome) -> None:
        row = [*outcome.shard, *outcome[1:]]
        self.database.execute(
            "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row
        )


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one of its name; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
