"""The queue of audit entries, and the thread that writes them: calls never wait for the disk.

Entries that cannot be written are kept and tried again. Those that do not fit into the queue are counted, and
the next line has their number, so that no loss is silent.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from opentelemetry import metrics
from tenure.server.audit.chain_file import AuditError, ChainFile, full_files
from tenure.server.audit.entry import AuditEntry, Position, digest_of, encode_line

_METER: Final = metrics.get_meter("tenure.server")
_WRITTEN: Final = _METER.create_counter(
    "tenure_audit_lines_written_total",
    description="Lines written to the audit file.",
)
_LOST: Final = _METER.create_counter(
    "tenure_audit_lines_lost_total",
    description="Lines that were not written to the audit file, because it could not be written.",
)
MAX_ENTRIES: Final = 10_000
_MAX_BATCH: Final = 256
MOST_BYTES: Final = 100 * 2**20
RETRY_SECONDS: Final = 5.0
"""Time before a file that could not be written is tried again."""
_LOG: Final = logging.getLogger(__name__)


def initialize_counters() -> None:
    """Create the counters at zero, so that their first increase is visible."""
    _WRITTEN.add(0)
    _LOST.add(0)


class AuditLog:
    """Audit log that writes nothing, for servers without an audit file."""

    def write(self, entry: AuditEntry) -> None:
        """Append an entry. Never blocks or raises."""

    def faults(self) -> Mapping[str, str]:
        """Why the file cannot be written at present; empty if it can."""
        return {}

    def close(self, seconds: float) -> None:
        """Write the remaining entries, within the given number of seconds."""


NO_AUDIT: Final = AuditLog()


class FileAuditLog(AuditLog):
    """Appends to a file, in a thread of its own. Raises AuditError if the file cannot be used at first.

    A file of `most_bytes` is full: it is renamed, and the next one continues its chain. `kept` is the number
    of full files that stay; None: all of them.
    """

    def __init__(
        self,
        path: Path,
        max_entries: int = MAX_ENTRIES,
        retry_seconds: float = RETRY_SECONDS,
        *,
        most_bytes: int = MOST_BYTES,
        kept: int | None = None,
    ) -> None:
        self._path = path
        self._most_bytes, self._kept = most_bytes, kept
        self._cannot_rename = False
        self._max_entries = max_entries
        self._retry_seconds = retry_seconds
        self._file: ChainFile | None = ChainFile(path)
        self._end = self._file.end
        self._entries: deque[tuple[int, AuditEntry]] = deque()
        self._lost = 0
        """Entries lost since the last line."""
        self._fault = ""
        self._is_closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._thread.start()

    def write(self, entry: AuditEntry) -> None:
        """Queue an entry for the thread; count it as lost if the queue is full."""
        with self._changed:
            if self._is_closed or len(self._entries) >= self._max_entries:
                self._lost += 1
                is_lost = True
            else:
                self._entries.append((time.time_ns(), entry))
                self._changed.notify()
                is_lost = False
        if is_lost:
            _LOST.add(1)

    def faults(self) -> Mapping[str, str]:
        """Why the file cannot be written at present; empty text if it can."""
        return {"audit": self._fault}

    def close(self, seconds: float) -> None:
        """Stop the thread after the remaining entries, within the given number of seconds."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(seconds)
        if self._entries:
            _LOG.error("%d lines were not written to %s.", len(self._entries), self._path)
            _LOST.add(len(self._entries))

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._entries or self._is_closed)
                batch, lost = list(islice(self._entries, _MAX_BATCH)), self._lost
            if not batch:
                break
            if not self._write(batch, lost):
                with self._changed:
                    if self._changed.wait_for(lambda: self._is_closed, self._retry_seconds):
                        break
        if self._file is not None:
            self._file.close()

    def _write(self, batch: Sequence[tuple[int, AuditEntry]], lost: int) -> bool:
        """Write a batch; return whether it is written."""
        try:
            file = self._opened()
            end, lines = self._end, []
            for number, (recorded_at, entry) in enumerate(batch):
                line = encode_line(entry, recorded_at, end, 0 if number else lost)
                end = Position(end.sequence + 1, digest_of(line))
                lines.append(line + b"\n")
            file.append(b"".join(lines))
        except (OSError, AuditError) as error:
            self._give_up(error)
            return False
        self._end = end
        with self._changed:
            for _ in batch:
                self._entries.popleft()
            self._lost -= lost
        _WRITTEN.add(len(batch))
        if self._fault:
            _LOG.warning("Writing audit lines to %s again.", self._path)
        self._fault = ""
        self._set_aside_if_full(file)
        return True

    def _set_aside_if_full(self, file: ChainFile) -> None:
        """Rename a full file. One that cannot be renamed grows: no line is lost for that."""
        try:
            if not file.is_full(self._most_bytes):
                return
            file.set_aside(self._end)
            for old in full_files(self._path)[: -self._kept] if self._kept else ():
                old.unlink()
        except OSError as error:
            if not self._cannot_rename:
                _LOG.error(
                    "Cannot rotate the audit file; still appending to %s: %s", self._path, error.strerror
                )
            self._cannot_rename = True
            return
        self._cannot_rename = False

    def _opened(self) -> ChainFile:
        """The file at the path. A new one, after the log was moved away, continues its chain."""
        if self._file is not None and not self._file.is_in_place():
            self._file.close()
            self._file = None
        if self._file is None:
            self._file = ChainFile(self._path, self._end)
            self._end = self._file.end
        return self._file

    def _give_up(self, error: Exception) -> None:
        if not self._fault:
            _LOG.error("Cannot write audit lines, trying again: %s: %s", self._path, error)
        self._fault = str(error)
