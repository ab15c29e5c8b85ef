"""The records file: an SQLite database, its default path, its schema, and compression of its contents."""

import os
import sqlite3
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import zstandard
from platformdirs import user_state_path
from tenure.wire.violations import quote_name

_LEVEL: Final = 3
_WINDOW_LOG: Final = 27
MAX_COMMON: Final = 2**_WINDOW_LOG
"""Maximum size of two byte strings together, in bytes; beyond it their common parts are not found."""
MAX_UNPACKED: Final = 2**30
"""Maximum size of a decompressed byte string, in bytes: that of the largest configurable request."""


def compress(content: bytes) -> bytes:
    """Compress bytes."""
    return zstandard.ZstdCompressor(level=_LEVEL).compress(content)


def decompress(packed: bytes) -> bytes:
    """Decompress bytes. Raises ValueError if they are not the output of `compress`."""
    return _unpacked(zstandard.ZstdDecompressor(), packed)


def compress_patch(content: bytes, before: bytes) -> bytes:
    """Compress bytes relative to others: a thousandth of a snapshot if a few rows have changed."""
    parameters = zstandard.ZstdCompressionParameters.from_level(
        _LEVEL, source_size=len(content), window_log=_WINDOW_LOG, enable_ldm=True
    )
    return zstandard.ZstdCompressor(dict_data=_raw(before), compression_params=parameters).compress(content)


def decompress_patch(packed: bytes, before: bytes) -> bytes:
    """Decompress bytes relative to the same others. Raises ValueError if they are not valid."""
    reader = zstandard.ZstdDecompressor(dict_data=_raw(before), max_window_size=MAX_COMMON)
    return _unpacked(reader, packed)


def _raw(content: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def _unpacked(reader: zstandard.ZstdDecompressor, packed: bytes) -> bytes:
    try:
        size = zstandard.frame_content_size(packed)
        if size > MAX_UNPACKED:
            raise ValueError(f"unpacked it would have {size:,} bytes, more than {MAX_UNPACKED:,}")
        return reader.decompress(packed)
    except zstandard.ZstdError as error:
        raise ValueError(f"packed bytes are corrupt: {error}") from None


MAX_STEPS: Final = 200_000_000
"""Maximum number of steps of SQLite's virtual machine for one query, which takes seconds. A list of a
million records takes seven million.
"""
_STEPS_PER_CHECK: Final = 100_000
SCHEMA_VERSION: Final = 2
"""Version of the schema. A file of another version is rejected and not changed."""
_APPLICATION: Final = 0x54454E55
"""SQLite application ID that identifies records files: TENU."""
_BUSY_SECONDS: Final = 5.0
"""Maximum wait for another process that is writing."""
_MAX_LOG_BYTES: Final = 16 * 2**20
"""Size that a larger write-ahead log is truncated to."""

_TABLES: Final = """
-- States by the digest of their content. A root stands for itself; the others are made of their parents.
-- A root and all that is made of it are dropped together.
CREATE TABLE states (
    digest BLOB PRIMARY KEY,
    root   BLOB NOT NULL,
    parent BLOB REFERENCES states,
    form   INTEGER NOT NULL,
    body   BLOB NOT NULL
);
CREATE INDEX states_by_root ON states (root);
CREATE INDEX states_by_parent ON states (parent);

-- Profiles by their digest, as JSON.
CREATE TABLE profiles (
    digest  TEXT PRIMARY KEY,
    content TEXT NOT NULL
);

-- One row per answer to Decide. Times in nanoseconds since the epoch.
CREATE TABLE records (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    recorded_at    INTEGER NOT NULL,
    cluster_id     TEXT NOT NULL,
    node_pool      TEXT NOT NULL,
    epoch          TEXT NOT NULL,  -- empty: the snapshot came with the request
    version        INTEGER NOT NULL,
    now            INTEGER NOT NULL,
    actions        TEXT NOT NULL,  -- those the request named, as JSON
    request_digest BLOB NOT NULL,
    state          BLOB NOT NULL REFERENCES states,
    root           BLOB NOT NULL,
    profile_digest TEXT NOT NULL REFERENCES profiles,
    engine_version TEXT NOT NULL,
    trace_id       TEXT NOT NULL,
    stopped_early  INTEGER NOT NULL,
    caller         TEXT NOT NULL,  -- identity; empty: callers are not authenticated
    answer         BLOB NOT NULL
);
CREATE INDEX records_by_age ON records (recorded_at);
CREATE INDEX records_by_root ON records (root);
CREATE INDEX records_by_state ON records (state);
CREATE INDEX records_by_profile ON records (profile_digest);

-- What callers reported of the steps of decisions; the first final word counts.
CREATE TABLE outcomes (
    cluster_id  TEXT NOT NULL,
    node_pool   TEXT NOT NULL,
    decision_id TEXT NOT NULL,
    group_id    TEXT NOT NULL,
    step        TEXT NOT NULL,
    result      TEXT NOT NULL,
    detail      TEXT NOT NULL,
    reported_at INTEGER NOT NULL,
    caller      TEXT NOT NULL,
    PRIMARY KEY (cluster_id, node_pool, decision_id, result)
);
CREATE INDEX outcomes_by_age ON outcomes (reported_at);
"""
_TABLE_NAMES: Final = ("states", "profiles", "records", "outcomes")


class RecordsError(Exception):
    """A records file cannot be used. The message has its path and the cause."""


def open_to_write(path: Path) -> sqlite3.Connection:
    """Open the database for writing, created if missing, readable by its owner only.

    Raises OSError, sqlite3.Error, or RecordsError for another kind of file, another version, or a file that
    other users can change.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _check_owner(path, os.fstat(file))
    finally:
        os.close(file)
    database = sqlite3.connect(path, _BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _prepare(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _check_owner(path: Path, found: os.stat_result) -> None:
    """Another user could have made the file, to read names of workloads or to change records."""
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid != os.geteuid():
        raise RecordsError(f"{path}: belongs to another user; move it away")
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise RecordsError(f"{path}: has mode {mode:04o}, so that other users can change it: chmod go-w")


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open the database for reading, without changing it. Raises RecordsError."""
    if not path.is_file():
        raise RecordsError(f"{path}: no such records file")
    try:
        database = sqlite3.connect(f"{path.absolute().as_uri()}{_mode(path)}", _BUSY_SECONDS, uri=True)
        _check(database, path)
        database.execute("PRAGMA trusted_schema = OFF")
        _check_schema(database, path)
    except sqlite3.Error as error:
        raise RecordsError(f"{path}: cannot be read as a records file: {error}") from None
    return database


class LimitedQueries:
    """Queries of a file that a stranger may have made: each ends after `MAX_STEPS`."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._left = 0
        database.set_progress_handler(self._is_over, _STEPS_PER_CHECK)

    def rows(self, statement: str, values: Sequence[object] | Mapping[str, object] = ()) -> list[Any]:
        """All rows of a query. Raises sqlite3.Error, and ValueError if it takes too many steps."""
        self._left = MAX_STEPS // _STEPS_PER_CHECK
        try:
            return self._database.execute(statement, values).fetchall()
        except sqlite3.OperationalError:
            if self._left > 0:
                raise
            raise ValueError(f"a query takes more than {MAX_STEPS:,} steps") from None

    def _is_over(self) -> bool:
        self._left -= 1
        return self._left <= 0


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    if _has_tables(database):
        _check(database, path)  # before any change: the journal mode is stored in the file
    elif database.execute("PRAGMA page_count").fetchone() == (0,):
        database.execute("PRAGMA auto_vacuum = INCREMENTAL")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("PRAGMA foreign_keys = ON")
    database.execute(f"PRAGMA journal_size_limit = {_MAX_LOG_BYTES}")
    database.execute("BEGIN IMMEDIATE")
    if not _has_tables(database):
        for statement in _TABLES.split(";\n"):
            database.execute(statement)
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    database.execute("COMMIT")
    _check(database, path)


def _has_tables(database: sqlite3.Connection) -> bool:
    return bool(database.execute("SELECT count(*) FROM sqlite_schema").fetchone() != (0,))


def _check(database: sqlite3.Connection, path: Path) -> None:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise RecordsError(f"{path}: is a database, but not a records file")
    if version != SCHEMA_VERSION:
        known = f"this version of Tenure supports {SCHEMA_VERSION}"
        help_ = "read it with the version of Tenure that wrote it, and record to another file"
        raise RecordsError(f"{path}: has format version {version}; {known}; {help_}")


def _check_schema(database: sqlite3.Connection, path: Path) -> None:
    """A file of a stranger has tables that hold rows, and nothing that computes them at every query."""
    for name, kind, text in database.execute("SELECT name, type, sql FROM sqlite_schema"):
        is_virtual = kind == "table" and (text or "").upper().startswith("CREATE VIRTUAL")
        if kind not in ("table", "index") or is_virtual:
            what = f"a {kind}" if not is_virtual else "a virtual table"
            raise RecordsError(f"{path}: is not a records file: {quote_name(name)} is {what}")
    for table in _TABLE_NAMES:
        columns = database.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
        if not columns:
            raise RecordsError(f"{path}: is not a records file: it has no table {table!r}")
        for column, hidden in columns:
            if hidden:
                where = f"{quote_name(column)} of {table!r}"
                raise RecordsError(f"{path}: is not a records file: the column {where} is computed")


def _mode(path: Path) -> str:
    """SQLite mode: `immutable` if no process has the file open and its directory is not writable."""
    has_log = path.with_name(f"{path.name}-wal").exists()
    return "?mode=ro" if has_log or os.access(path.parent, os.W_OK) else "?immutable=1"


def default_path() -> Path:
    """Return the default path: `records.sqlite` in the platform's state directory of the user.

    On Linux that is `$XDG_STATE_HOME/tenure`, or `~/.local/state/tenure`. Raises RecordsError for a user
    without a home directory, as in a container with an arbitrary user id.
    """
    try:
        return user_state_path("tenure", appauthor=False) / "records.sqlite"
    except RuntimeError:
        message = "no home directory: set --records, HOME or XDG_STATE_HOME"
        raise RecordsError(message) from None
