"""What the service tells of its decisions, and the thread that writes it down."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from tenure.server.records import counters
from tenure.server.records.backlog import Backlog
from tenure.server.records.entries import Cycle, Entry, Outcome
from tenure.server.records.place import default_path
from tenure.server.records.retention import retain, used_bytes
from tenure.server.records.schema import RecordsError
from tenure.server.records.writing import Writer
from tenure.server.settings.records import RecordSettings
from tenure.server.shard import Shard
from tenure.v1.snapshot_pb2 import ClusterSnapshot

RETRY_SECONDS: Final = 30.0
"""How long a file that could not be written is left alone."""
_RETAIN_SECONDS: Final = 60.0
"""How often records that are too old are looked for."""
_MIB: Final = 2**20
_MOST_SHARDS: Final = 1_000
_TROUBLE: Final = (OSError, sqlite3.Error, RecordsError)
"""What a disk may do to us; everything else is a defect."""
_LOG: Final = logging.getLogger(__name__)


class Recorder:
    """Keeps nothing: what a server has that was told to keep no records."""

    @property
    def is_recording(self) -> bool:
        """Whether decisions are recorded now."""
        return False

    def decided(self, cycle: Cycle, read: Callable[[], ClusterSnapshot] | None = None) -> None:
        """Record a cycle; `read` gives its snapshot if it has none. Never waits and never fails."""

    def reported(self, outcome: Outcome) -> None:
        """Record what became of a step. Never waits and never fails."""

    def close(self, seconds: float) -> None:
        """Write what is still to be written, within so many seconds."""


NO_RECORDS: Final = Recorder()


class FileRecorder(Recorder):
    """Records in a file, by a thread of its own. When it cannot be written, that costs records alone."""

    def __init__(
        self, settings: RecordSettings, backlog: Backlog | None = None, retry_seconds: float = RETRY_SECONDS
    ) -> None:
        self._path = settings.path
        self._max_age, self._max_bytes = settings.max_age, settings.max_mib * _MIB
        self._backlog = Backlog() if backlog is None else backlog
        self._retry_seconds = retry_seconds
        self._bases: dict[Shard, int] = {}
        """The full snapshot that the thread was given last, by shard."""
        self._changing = threading.Lock()
        self._writer: Writer | None = None
        self._next_try = self._next_look = 0.0
        self._has_failed = False
        self._open()
        self._thread = threading.Thread(target=self._run, name="records", daemon=True)
        self._thread.start()

    @property
    def is_recording(self) -> bool:
        """See Recorder; not while the file cannot be written."""
        return self._writer is not None

    def decided(self, cycle: Cycle, read: Callable[[], ClusterSnapshot] | None = None) -> None:
        """See Recorder. The snapshot goes with it only when the thread has not got it yet."""
        lineage = cycle.lineage
        with self._changing:
            is_known = lineage is not None and self._bases.get(cycle.shard) == lineage.base
            if is_known:
                cycle = cycle._replace(snapshot=None)
            elif read is not None:
                cycle = cycle._replace(snapshot=read())
            is_taken = self._backlog.offer(cycle)
            if is_taken and lineage is not None:
                if len(self._bases) >= _MOST_SHARDS:
                    self._bases.clear()
                self._bases[cycle.shard] = lineage.base
        counters.count_dropped(not is_taken, counters.BACKLOG)

    def reported(self, outcome: Outcome) -> None:
        """See Recorder."""
        counters.count_dropped(not self._backlog.offer(outcome), counters.BACKLOG)

    def close(self, seconds: float) -> None:
        """See Recorder."""
        self._backlog.close()
        self._thread.join(seconds)

    def _run(self) -> None:
        while batch := self._backlog.take():
            self._write(batch)
        if self._writer is not None:
            self._writer.close()

    def _write(self, batch: Sequence[Entry]) -> None:
        """Write a batch. A loss is counted last: who sees it may rely on the next snapshot being kept."""
        if self._writer is not None and not self._writer.is_in_place():
            self._writer.close()
            self._writer = None
            self._forget()
        if self._writer is None and time.monotonic() >= self._next_try:
            self._open()
        if self._writer is None:
            self._forget()
            counters.count_dropped(len(batch), counters.DISK)
            return
        try:
            missing = self._writer.write(batch)
            self._retain(self._writer)
        except Exception as error:  # whatever it is, it costs records and nothing else
            self._give_up(error)
            counters.count_dropped(len(batch), counters.DISK)
            return
        if missing:
            self._forget(*(cycle.shard for cycle in missing))
        counters.count_written(len(batch) - len(missing))
        counters.count_dropped(len(missing), counters.BASE)

    def _open(self) -> None:
        try:
            self._path = self._path or default_path()
            self._writer = Writer(self._path)
        except _TROUBLE as error:
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
            defect = None if isinstance(error, _TROUBLE) else error
            told = error if isinstance(error, RecordsError) else f"{self._path}: {error}"
            _LOG.error("Decisions are not recorded: %s", told, exc_info=defect)
        self._has_failed = True
        self._next_try = time.monotonic() + self._retry_seconds
        self._forget()

    def _forget(self, *shards: Shard) -> None:
        """The snapshots of these shards, or of all, are to come again."""
        with self._changing:
            for shard in shards or list(self._bases):
                self._bases.pop(shard, None)

    def _retain(self, writer: Writer) -> None:
        """Records that are too old go now and then; when the file is too large, at once."""
        now = time.monotonic()
        if now < self._next_look and used_bytes(writer.database) <= self._max_bytes:
            return
        self._next_look = now + _RETAIN_SECONDS
        retain(writer.database, max(0, time.time_ns() - self._max_age), self._max_bytes)
