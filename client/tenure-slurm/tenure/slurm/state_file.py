"""The file that survives the adapter: the journal, what is remembered of jobs, and fields of pod groups.

A SQLite database beside a lock. The adapter that holds the lock leads; the operating system releases it when
the process ends.
"""

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from tenure.integration.journal import PendingPatches
from tenure.integration.ports import ClusterError, JournalConflict, JournalUnreadable, LeaseLost
from tenure.slurm.observe.memory import JobMemory
from tenure.v1.decision_pb2 import Patch
from tenure.v1.snapshot_pb2 import PodGroup

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS journal (id INTEGER PRIMARY KEY CHECK (id = 0), version INTEGER, content BLOB);
CREATE TABLE IF NOT EXISTS jobs (key TEXT PRIMARY KEY, memory BLOB);
CREATE TABLE IF NOT EXISTS controller (id INTEGER PRIMARY KEY CHECK (id = 0), boot_time INTEGER);
CREATE TABLE IF NOT EXISTS fields (pod_group TEXT PRIMARY KEY, content BLOB);
"""
_MAX_BYTES: Final = 50_000_000
_VERSION: Final = "SELECT version FROM journal"


class HostLock:
    """Implements Leadership: a lock on a file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a")
        self._term = 0

    def may_act(self) -> bool:
        """Whether this process holds the lock."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    @property
    def term(self) -> int | None:
        """The only term: the lock is kept until the process ends."""
        return self._term

    def close(self) -> None:
        """Release the lock."""
        self._file.close()


class StateFile:
    """Implements JournalStore and, for fields of pod groups, PatchWriter. For one thread at a time."""

    max_bytes = _MAX_BYTES

    def __init__(self, path: Path, may_act: Callable[[], bool] = lambda: True) -> None:
        self._path, self._may_act = path, may_act
        self._version = 0
        self._fields: dict[str, PodGroup] = {}
        """Stored fields, by uid of the pod group."""
        self.is_listed: Callable[[str], bool] = lambda pod_group: False
        """Whether a pod group has a job; fields of others stay in the journal."""
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.executescript(_TABLES)
            for uid, content in self._database.execute("SELECT pod_group, content FROM fields"):
                self._fields[uid] = PodGroup.FromString(content)
        except (sqlite3.Error, OSError) as error:
            raise JournalUnreadable(f"{self.name} cannot be used: {error}") from None

    @property
    def name(self) -> str:
        """The file."""
        return f"file {self._path}"

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def load(self) -> bytes:
        """The journal. Raises ClusterError."""
        with _database_errors():
            row = self._database.execute("SELECT version, content FROM journal").fetchone()
        self._version, content = row or (0, b"")
        return bytes(content)

    def save(self, content: bytes) -> None:
        """Replace the journal. Raises JournalConflict, ClusterError and LeaseLost."""
        with _database_errors(), self._transaction() as database:
            stored = database.execute(_VERSION).fetchone()
            if (stored[0] if stored else 0) != self._version:
                raise JournalConflict(f"{self.name} was replaced by another adapter")
            values = (self._version + 1, content)
            database.execute("INSERT OR REPLACE INTO journal VALUES (0, ?, ?)", values)
        self._version += 1

    def memories(self) -> list[tuple[str, JobMemory]]:
        """What is remembered of jobs, by key. Raises ClusterError and JournalUnreadable."""
        try:
            with _database_errors():
                rows = self._database.execute("SELECT key, memory FROM jobs").fetchall()
            return [(key, msgspec.msgpack.decode(memory, type=JobMemory)) for key, memory in rows]
        except msgspec.DecodeError:
            raise JournalUnreadable(f"{self.name} is corrupt; move it away to continue") from None

    def store_memories(self, changes: Mapping[str, JobMemory | None]) -> None:
        """Store what is remembered of jobs; None: forget it. Raises ClusterError and LeaseLost."""
        if not changes:
            return
        kept = [(key, msgspec.msgpack.encode(one)) for key, one in changes.items() if one is not None]
        gone = [(key,) for key, one in changes.items() if one is None]
        with _database_errors(), self._transaction() as database:
            database.executemany("INSERT OR REPLACE INTO jobs VALUES (?, ?)", kept)
            database.executemany("DELETE FROM jobs WHERE key = ?", gone)

    def boot_time(self) -> int:
        """When the controller was started that jobs were started with; 0: none yet. Raises ClusterError."""
        with _database_errors():
            row = self._database.execute("SELECT boot_time FROM controller").fetchone()
        return int(row[0]) if row else 0

    def store_boot_time(self, boot_time: int) -> None:
        """Remember the controller that jobs are started with. Raises ClusterError and LeaseLost."""
        with _database_errors(), self._transaction() as database:
            database.execute("INSERT OR REPLACE INTO controller VALUES (0, ?)", (boot_time,))

    def fields(self, pod_group: str) -> PodGroup | None:
        """Stored fields of a pod group. The caller does not change it."""
        return self._fields.get(pod_group)

    def has_object(self, pod_group: str) -> bool:
        """Whether fields of this pod group are stored here."""
        return self.is_listed(pod_group)

    def is_stored(self, pod_group: str, patches: Sequence[Patch]) -> bool:
        """Whether the file contains all patches."""
        stored = self._fields.get(pod_group, PodGroup())
        return _patched(stored, patches) == stored

    def write(self, patches: Mapping[str, Sequence[Patch]]) -> Sequence[str]:
        """Store patches. Raises LeaseLost."""
        due = {uid: some for uid, some in patches.items() if self.is_listed(uid)}
        new = {uid: _patched(self._fields.get(uid, PodGroup()), some) for uid, some in due.items()}
        if not new:
            return []
        try:
            with _database_errors(), self._transaction() as database:
                rows = [(uid, row.SerializeToString()) for uid, row in new.items()]
                database.executemany("INSERT OR REPLACE INTO fields VALUES (?, ?)", rows)
        except ClusterError as error:
            return [str(error)]
        self._fields.update(new)
        return []

    def forget_others(self) -> None:
        """Forget the fields of pod groups without a job. Raises ClusterError and LeaseLost."""
        gone = [(uid,) for uid in self._fields if not self.is_listed(uid)]
        if gone:
            with _database_errors(), self._transaction() as database:
                database.executemany("DELETE FROM fields WHERE pod_group = ?", gone)
            for (uid,) in gone:
                del self._fields[uid]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction, which is undone if its body fails, or if another adapter may lead."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield self._database
            if not self._may_act():
                raise LeaseLost
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


@contextmanager
def _database_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise ClusterError(f"the state file cannot be used: {error}") from None


def _patched(row: PodGroup, patches: Iterable[Patch]) -> PodGroup:
    pending = PendingPatches()
    for patch in patches:
        pending.add(patch)
    return pending.applied_to(row)
