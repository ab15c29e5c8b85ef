"""Record cycles and results: a bounded queue, the thread that writes it, and their metrics.

Metrics require an OpenTelemetry SDK that the operator configures; without one nothing is counted.
"""

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

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
    description="Recorded cycles and results.",
)
_DROPPED: Final = _METER.create_counter(
    "tenure_records_dropped_total",
    description="Cycles and results that were not recorded, by reason.",
)
BACKLOG: Final = "backlog"
"""Drop reason: decisions arrive faster than they can be written."""
DISK: Final = "disk"
"""Drop reason: the file cannot be written."""
BASE: Final = "base"
"""Drop reason: the base of the state was dropped because of its age; the next state is recorded in full."""


def initialize_counters() -> None:
    """Create the counters at zero, so that their first increase is visible."""
    _WRITTEN.add(0)
    for reason in (BACKLOG, DISK, BASE):
        _DROPPED.add(0, {"reason": reason})


def count_written(number: int) -> None:
    """Count entries written to the file."""
    if number:
        _WRITTEN.add(number)


def count_dropped(number: int, reason: str) -> None:
    """Count entries that were dropped."""
    if number:
        _DROPPED.add(number, {"reason": reason})


MAX_ENTRIES: Final = 1_000
MAX_BYTES: Final = 64 * 2**20
MAX_BATCH: Final = 64
"""Maximum number of entries per transaction."""


class _Held(NamedTuple):
    """Queued entries of a caller."""

    entries: int = 0
    bytes: int = 0


class WriteQueue:
    """Bounded queue of entries. Offering never blocks; an empty queue accepts an entry of any size.

    If it is full, the newest entries of the caller with the largest part of it go in favor of other callers.
    """

    def __init__(self, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._most = _Held(max_entries, max_bytes)
        self._entries: deque[Entry] = deque()
        self._held: dict[str, _Held] = {}
        """By caller."""
        self._bytes = 0
        self._is_closed = False
        self._changed = threading.Condition()

    def offer(self, entry: Entry) -> bool:
        """Append an entry; return whether it fits."""
        with self._changed:
            if self._is_closed or not self._displace(entry):
                return False
            self._entries.append(entry)
            self._count(entry, 1)
            self._changed.notify()
            return True

    def take(self) -> list[Entry]:
        """Wait for entries and return the first ones; empty if the queue is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._entries or self._is_closed)
            batch = [self._entries.popleft() for _ in range(min(MAX_BATCH, len(self._entries)))]
            for entry in batch:
                self._count(entry, -1)
            return batch

    def _displace(self, entry: Entry) -> bool:
        """Whether an entry fits, after dropping some of a caller with a larger part."""
        while self._entries and not self._fits(entry):
            caller = max(self._held, key=lambda name: self._part(self._held[name]))
            if self._part(self._held[caller]) <= self._part(self._with(entry, 1)):
                return False
            newest = next(i for i, one in enumerate(reversed(self._entries)) if one.caller == caller)
            place = len(self._entries) - 1 - newest
            self._count(self._entries[place], -1)
            del self._entries[place]
            count_dropped(1, BACKLOG)
        return True

    def _fits(self, entry: Entry) -> bool:
        return (
            len(self._entries) < self._most.entries and self._bytes + entry.memory_bytes <= self._most.bytes
        )

    def _part(self, held: _Held) -> float:
        return max(held.entries / self._most.entries, held.bytes / self._most.bytes)

    def _with(self, entry: Entry, number: int) -> _Held:
        """What the caller of an entry holds with it, or without it."""
        held = self._held.get(entry.caller, _Held())
        return _Held(held.entries + number, held.bytes + number * entry.memory_bytes)

    def _count(self, entry: Entry, number: int) -> None:
        held = self._with(entry, number)
        self._bytes += number * entry.memory_bytes
        if held.entries:
            self._held[entry.caller] = held
        else:
            self._held.pop(entry.caller, None)

    def close(self) -> None:
        """Accept no more entries; queued ones can still be taken."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()


RETRY_SECONDS: Final = 30.0
"""Time before a file that could not be written is tried again."""
_RETAIN_SECONDS: Final = 60.0
"""Interval between checks for expired records."""
_MIB: Final = 2**20
_MOST_SHARDS: Final = 1_000
_ERRORS: Final = (OSError, sqlite3.Error, RecordsError)
"""Expected errors of the disk; every other exception is a defect."""
_LOG: Final = logging.getLogger(__name__)


class Recorder:
    """Recorder that records nothing, for servers without records."""

    @property
    def is_recording(self) -> bool:
        """Whether decisions are being recorded."""
        return False

    def record_cycle(self, cycle: CycleEntry, read: Callable[[], ClusterSnapshot] | None = None) -> None:
        """Record a cycle; `read` returns its snapshot if it has none. Never blocks or raises."""

    def record_results(self, outcome: ResultEntry) -> None:
        """Record the result of a decision. Never blocks or raises."""

    def close(self, seconds: float) -> None:
        """Write the remaining entries, within the given number of seconds."""


NO_RECORDS: Final = Recorder()


class FileRecorder(Recorder):
    """Records to a file, in a thread of its own. Write failures lose records and have no other effect."""

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
        """Last full snapshot passed to the thread, by shard."""
        self._changing = threading.Lock()
        self._writer: RecordWriter | None = None
        self._next_try = self._next_look = 0.0
        self._has_failed = False
        self._open()
        self._thread = threading.Thread(target=self._run, name="records", daemon=True)
        self._thread.start()

    @property
    def is_recording(self) -> bool:
        """Whether decisions are being recorded; False while the file cannot be written."""
        return self._writer is not None

    def record_cycle(self, cycle: CycleEntry, read: Callable[[], ClusterSnapshot] | None = None) -> None:
        """Queue a cycle for the thread, with its snapshot if the thread does not have that yet."""
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
        """Queue the result of a decision for the thread."""
        count_dropped(not self._queue.offer(outcome), BACKLOG)

    def close(self, seconds: float) -> None:
        """Stop the thread after the remaining entries, within the given number of seconds."""
        self._queue.close()
        self._thread.join(seconds)

    def _run(self) -> None:
        while batch := self._queue.take():
            self._write(batch)
        if self._writer is not None:
            self._writer.close()

    def _write(self, batch: Sequence[Entry]) -> None:
        """Write a batch. Losses are counted last: then the next snapshot is recorded in full."""
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
        except Exception as error:  # whatever the error, it only loses records
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
            _LOG.warning("Recording decisions again in %s.", self._path)
        self._has_failed = False

    def _give_up(self, error: Exception) -> None:
        """Suspend writing for a while; log once, however often it fails."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if not self._has_failed:
            defect = None if isinstance(error, _ERRORS) else error
            message = error if isinstance(error, RecordsError) else f"{self._path}: {error}"
            _LOG.error("Cannot record decisions: %s", message, exc_info=defect)
        self._has_failed = True
        self._next_try = time.monotonic() + self._retry_seconds
        self._discard()

    def _discard(self, *shards: Shard) -> None:
        """Request full snapshots of these shards, or of all, again."""
        with self._changing:
            for shard in shards or list(self._bases):
                self._bases.pop(shard, None)

    def _retain(self, writer: RecordWriter) -> None:
        """Drop expired records periodically; at once if the file is too large."""
        now = time.monotonic()
        if now < self._next_look and used_bytes(writer.database) <= self._max_bytes:
            return
        self._next_look = now + _RETAIN_SECONDS
        retain(writer.database, max(0, time.time_ns() - self._max_age), self._max_bytes)
