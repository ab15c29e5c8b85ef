"""The file of an audit log: complete lines only, appended by one process at a time."""

import fcntl
import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from tenure.server.audit.entry import START, Position, digest_of
from tenure.server.listen_address import ListenError

_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_TAIL_BYTES: Final = 2**20
"""Bytes read from the end of a file; a line has less than 20,000."""


class AuditError(ListenError):
    """An audit file cannot be used. The message has the file and the cause."""


class ChainFile:
    """An open audit file, readable by its owner only. `end` is where it ended when it was opened.

    Raises AuditError if it cannot be opened, or another process appends to it.
    """

    def __init__(self, path: Path, before: Position = START) -> None:
        """`before` is the end of the log that an empty file continues."""
        self._path = path
        try:
            self._file = os.open(path, _FLAGS, 0o600)
        except OSError as error:
            raise AuditError(f"{path}: cannot be opened: {error.strerror}") from None
        try:
            self.end = self._prepare(before)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, lines: bytes) -> None:
        """Append complete lines, all or none. Raises OSError."""
        size = os.fstat(self._file).st_size
        try:
            while lines:
                lines = lines[os.write(self._file, lines) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, size)
            raise

    def is_in_place(self) -> bool:
        """Whether the file is still at its path: it may have been moved away, as log rotation does."""
        try:
            return os.path.samestat(os.fstat(self._file), self._path.stat())
        except OSError:
            return False

    def close(self) -> None:
        """Close the file, which releases it for other processes."""
        os.close(self._file)

    def _prepare(self, before: Position) -> Position:
        mode = stat.S_IMODE(os.fstat(self._file).st_mode)
        if mode & (stat.S_IWGRP | stat.S_IWOTH):
            problem = f"has mode {mode:04o}, so that other users can change it: chmod go-w"
            raise AuditError(f"{self._path}: {problem}")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise AuditError(f"{self._path}: another server writes to it; give each its own file") from None
        try:
            return self._find_end(before)
        except OSError as error:
            raise AuditError(f"{self._path}: cannot be read: {error.strerror}") from None

    def _find_end(self, before: Position) -> Position:
        """End of the file. A line that a killed process left incomplete is ended and stays visible."""
        size = os.fstat(self._file).st_size
        if not size:
            return before
        tail = os.pread(self._file, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
        if not tail.endswith(b"\n"):
            os.write(self._file, b"\n")
        lines = tail.removesuffix(b"\n").split(b"\n")
        for unreadable, line in enumerate(reversed(lines)):
            if (sequence := _sequence(line)) is not None:
                return Position(sequence + unreadable, digest_of(lines[-1]))
        raise AuditError(f"{self._path}: is not an audit file; move it away")


def _sequence(line: bytes) -> int | None:
    """Number of a line; None if it is not a line of an audit file."""
    try:
        return int(json.loads(line)["sequence"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
