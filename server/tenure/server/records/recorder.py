"""What the service tells of its decisions, and the thread that writes it down.

Metrics of records: how many are written, and how many are not and why.

Without an OpenTelemetry SDK set up by the operator nothing is counted.

A bounded queue between those who decide and the one who writes.
"""

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from opentelemetry import metrics
from tenure.server.records.entries import CycleEntry, Entry, ResultEntry
from tenure.server.records.file import RecordsError, default_path
from tenure.server.records.writer import RecordWriter, retain, used_bytes
from tenure.server.settings.server import RecordSettings
from tenure.server.shard import Shard
from tenure.v1.snapshot_pb2 import ClusterSnapshot

_METER: Final = metrics.get_meter("tenure.server")
_WRITTEN: Final = _METER.create_counter(
    "tenure_records_written_total",
    description="Decisions and outcomes that were recorded.",
)
_DROPPED: Final = _METER.create_counter(
    "tenure_records_dropped_total",
    description="Decisions and outcomes that were not recorded, by reason.",
)
BACKLOG: Final = "backlog"
"""Decisions come faster than they can be written."""
DISK: Final = "disk"
"""The file cannot be written."""
BASE: Final = "base"
"""The state that a state is made of was dropped because of its age; the next one is recorded in full."""


def initialize_counters() -> None:
    """Let the counters exist before anything is counted, so that their growth can be seen."""
    _WRITTEN.add(0)
    for reason in (BACKLOG, DISK, BASE):
        _DROPPED.add(0, {"reason": reason})


def count_written(number: int) -> None:
    """Count entries that are in the file."""
    if number:
        _WRITTEN.add(number)


def count_dropped(number: int, reason: str) -> None:
    """Count entries that nobody will find in the file."""
    if number:
        _DROPPED.add(number, {"reason": reason})


MAX_ENTRIES: Final = 1_000
MAX_BYTES: Final = 64 * 2**20
MAX_BATCH: Final = 64
"""Entries that are written together."""


class WriteQueue:
    """Holds entries until they are taken. Giving never waits; when nothing is held, any size is taken."""

    def __init__(self, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self._is_closed = False
        self._changed = threading.Condition()

    def offer(self, entry: Entry) -> bool:
        """Add an entry at the end; whether there was room."""
        weight = entry.memory_bytes
        with self._changed:
            is_full = len(self._entries) >= self._max_entries or self._bytes + weight > self._max_bytes
            if self._is_closed or (self._entries and is_full):
                return False
            self._entries.append(entry)
            self._bytes += weight
            self._changed.notify()
            return True

    def take(self) -> list[Entry]:
        """The first entries, waited for; none when it is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._entries or self._is_closed)
            batch = [self._entries.popleft() for _ in range(min(MAX_BATCH, len(self._entries)))]
            self._bytes -= sum(entry.memory_bytes for entry in batch)
            return batch

    def close(self) -> None:
        """Take no more entries; those that are held can still be taken."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()


RETRY_SECONDS: Final = 30.0
"""How long a file that could not be written is left alone."""
_RETAIN_SECONDS: Final = 60.0
"""How often records that are too old are looked for."""
_MIB: Final = 2**20
_MOST_SHARDS: Final = 1_000
_ERRORS: Final = (OSError, sqlite3.Error, RecordsError)
"""What a disk may do to us; everything else is a defect."""
_LOG: Final = logging.getLogger(__name__)


class Recorder:
    """Keeps nothing: what a server has that was told to keep no records."""

    @property
    def is_recording(self) -> bool:
        """Whether decisions are recorded now."""
        return False

    def record_cycle(self, cycle: CycleEntry, read: Callable[[], ClusterSnapshot] | None = None) -> None:
        """Record a cycle; `read` gives its snapshot if it has none. Never waits and never fails."""

    def record_results(self, outcome: ResultEntry) -> None:
        """Record what became of a step. Never waits and never fails."""

    def close(self, seconds: float) -> None:
        """Write what is still to be written, within so many seconds."""


NO_RECORDS: Final = Recorder()


class FileRecorder(Recorder):
    """Records in a file, by a thread of its own. When it cannot be written, that costs records alone."""

    def __init__(
        self,
        settings: RecordSettings,
        backlog: WriteQueue | None = None,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._path = settings.path
        self._max_age, self._max_bytes = settings.max_age, settings.max_mib * _MIB
        self._queue = WriteQueue() if backlog is None else backlog
        self._retry_seconds = retry_seconds
        self._bases: dict[Shard, int] = {}
        """The full snapshot that the thread was given last, by shard."""
        self._changing = threading.Lock()
        self._writer: RecordWriter | None = None
        self._next_try = self._next_look = 0.0
        self._has_failed = False
        self._open()
        self._thread = threading.Thread(target=self._run, name="records", daemon=True)
        self._thread.start()

    @property
    def is_recording(self) -> bool:
        """See Recorder; not while the file cannot be written."""
        return self._writer is not None

    def record_cycle(self, cycle: CycleEntry, read: Callable[[], ClusterSnapshot] | None = None) -> None:
        """See Recorder. The snapshot goes with it only when the thread has not got it yet."""
        lineage = cycle.lineage
        with self._changing:
            is_known = lineage is not None and self._bases.get(cycle.shard) == lineage.base
            if is_known:
                cycle = cycle._replace(snapshot=None)
            elif read is not None:
                cycle = cycle._replace(snapshot=read())
            is_taken = self._queue.offer(cycle)
            if is_taken and lineage is not None:
                if len(self._bases) >= _MOST_SHARDS:
                    self._bases.clear()
                self._bases[cycle.shard] = lineage.base
        count_dropped(not is_taken, BACKLOG)

    def record_results(self, outcome: ResultEntry) -> None:
        """See Recorder."""
        count_dropped(not self._queue.offer(outcome), BACKLOG)

    def close(self, seconds: float) -> None:
        """See Recorder."""
        self._queue.close()
        self._thread.join(seconds)

    def _run(self) -> None:
        while batch := self._queue.take():
            self._write(batch)
        if self._writer is not None:
            self._writer.close()

    def _write(self, batch: Sequence[Entry]) -> None:
        """Write a batch. A loss is counted last: who sees it may rely on the next snapshot being kept."""
        if self._writer is not None and not self._writer.is_in_place():
            self._writer.close()
            self._writer = None
            self._discard()
        if self._writer is None and time.monotonic() >= self._next_try:
            self._open()
        if self._writer is None:
            self._discard()
            count_dropped(len(batch), DISK)
            return
        try:
            missing = self._writer.write(batch)
            self._retain(self._writer)
        except Exception as error:  # whatever it is, it costs records and nothing else
            self._give_up(error)
            count_dropped(len(batch), DISK)
            return
        if missing:
            self._discard(*(cycle.shard for cycle in missing))
        count_written(len(batch) - len(missing))
        count_dropped(len(missing), BASE)

    def _open(self) -> None:
        try:
            self._path = self._path or default_path()
            self._writer = RecordWriter(self._path)
        except _ERRORS as error:
            self._give_up(error)
            return
        if self._has_failed:
            _LOG.warning("Decisions are recorded again in %s.", self._path)
        self._has_failed = False

    def _give_up(self, error: Exception) -> None:
        """Leave the file alone for a while; say so once, however often it fails."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if not self._has_failed:
            defect = None if isinstance(error, _ERRORS) else error
            told = error if isinstance(error, RecordsError) else f"{self._path}: {error}"
            _LOG.error("Decisions are not recorded: %s", told, exc_info=defect)
        self._has_failed = True
        self._next_try = time.monotonic() + self._retry_seconds
        self._discard()

    def _discard(self, *shards: Shard) -> None:
        """The snapshots of these shards, or of all, are to come again."""
        with self._changing:
            for shard in shards or list(self._bases):
                self._bases.pop(shard, None)

    def _retain(self, writer: RecordWriter) -> None:
        """Records that are too old go now and then; when the file is too large, at once."""
        now = time.monotonic()
        if now < self._next_look and used_bytes(writer.database) <= self._max_bytes:
            return
        self._next_look = now + _RETAIN_SECONDS
        retain(writer.database, max(0, time.time_ns() - self._max_age), self._max_bytes)
