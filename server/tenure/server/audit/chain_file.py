"""The file of an audit log: complete lines only, appended by one process at a time.

A full file is renamed: the number of its last line is appended to its name. So the names of full files are in
the order of their lines.
"""

import errno
import fcntl
import json
import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tenure.server.audit.entry import START, Position, digest_of
from tenure.server.listen_address import ListenError

_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_TAIL_BYTES: Final = 2**20
"""Bytes read from the end of a file; a line has less than 20,000."""


_DIGITS: Final = 12
"""Digits of the number in the name of a full file."""


class AuditError(ListenError):
    """An audit file cannot be used. The message has the file and the cause."""


def full_files(path: Path) -> Sequence[Path]:
    """Full files of the log at a path, the oldest first."""
    pattern = re.compile(re.escape(path.name) + rf"\.\d{{{_DIGITS}}}")
    try:
        return sorted(each for each in path.parent.iterdir() if pattern.fullmatch(each.name))
    except OSError:
        return []


class ChainFile:
    """An open audit file, readable by its owner only. `end` is where it ended when it was opened.

    Raises AuditError if it cannot be opened, or another process appends to it.
    """

    def __init__(self, path: Path, before: Position | None = None) -> None:
        """`before` is the end of the log that an empty file continues; None: that of its last full file."""
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

    def is_full(self, most_bytes: int) -> bool:
        """Whether it has this size or more. Raises OSError."""
        return os.fstat(self._file).st_size >= most_bytes

    def set_aside(self, end: Position) -> None:
        """Rename it as a full file that has this end. Raises OSError, also if there is such a file."""
        target = self._path.with_name(f"{self._path.name}.{end.sequence:0{_DIGITS}}")
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        self._path.rename(target)

    def is_in_place(self) -> bool:
        """Whether the file is still at its path: it may have been moved away, as log rotation does."""
        try:
            return os.path.samestat(os.fstat(self._file), self._path.stat())
        except OSError:
            return False

    def close(self) -> None:
        """Close the file, which releases it for other processes."""
        os.close(self._file)

    def _prepare(self, before: Position | None) -> Position:
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

    def _find_end(self, before: Position | None) -> Position:
        """End of the file. A line that a killed process left incomplete is ended and stays visible."""
        tail = _tail(self._file)
        if not tail:
            return before or _end_of_full_files(self._path)
        if not tail.endswith(b"\n"):
            os.write(self._file, b"\n")
        end = _end(tail)
        if end is None:
            raise AuditError(f"{self._path}: is not an audit file; move it away")
        return end


def _end_of_full_files(path: Path) -> Position:
    """End of the last full file, so that a server that was killed between two files continues the chain."""
    for file in full_files(path)[-1:]:
        with suppress(OSError), file.open("rb") as content:
            return _end(_tail(content.fileno())) or START
    return START


def _tail(file: int) -> bytes:
    size = os.fstat(file).st_size
    return os.pread(file, _TAIL_BYTES, max(0, size - _TAIL_BYTES))


def _end(tail: bytes) -> Position | None:
    """End of the lines; None: there is no audit line among them."""
    lines = tail.removesuffix(b"\n").split(b"\n")
    for unreadable, line in enumerate(reversed(lines)):
        if (sequence := _sequence(line)) is not None:
            return Position(sequence + unreadable, digest_of(lines[-1]))
    return None


def _sequence(line: bytes) -> int | None:
    """Number of a line; None if it is not a line of an audit file."""
    try:
        return int(json.loads(line)["sequence"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
