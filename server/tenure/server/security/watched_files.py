"""Files of credentials and rules: what they contain now, whether they are safe, and what is wrong with them.

A file that is deleted, unreadable or invalid is a fault: it is logged once, and the previous content stays in
use. Faults are metrics and a health status; see `credentials_watch`.
"""

import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Generic, TypeVar

from tenure.server.listen_address import ListenError

Stamp = tuple[tuple[int, ...] | None, ...]
"""Identity of each file, which changes with its content and its mode; None for a missing file."""
Content = TypeVar("Content")

_WRITABLE: Final = stat.S_IWGRP | stat.S_IWOTH
_PRIVATE: Final = stat.S_IRWXG | stat.S_IRWXO
_SIZE: Final = 3
"""Position of the size in the identity of a file."""
_WRITING_SECONDS: Final = 0.1
"""Longer than it takes to write a file."""
_LOG: Final = logging.getLogger(__name__)


class SpecialFile(ListenError):
    """A file is a pipe, a socket or a device: to read it could block every call. The message has the fix."""


class UnsafeFile(ListenError):
    """Other users can change a file, or read a private key. The message has the fix."""


def check_mode(file: Path, *, is_private_key: bool = False) -> None:
    """Refuse with UnsafeFile what OpenSSH refuses for `authorized_keys` and for private keys.

    No other user may write the file, or replace it in its directory. A private key of this user must not be
    readable by others; one of another user, such as a mounted secret, may be. A missing file is safe.
    """
    try:
        found, folder = file.stat(), file.resolve().parent.stat()
    except OSError:
        return
    mode = stat.S_IMODE(found.st_mode)
    if is_private_key and found.st_uid == os.geteuid() and mode & _PRIVATE:
        raise UnsafeFile(_unsafe(file, f"is a private key with mode {mode:04o}", "chmod 600"))
    if mode & _WRITABLE:
        raise UnsafeFile(
            _unsafe(file, f"has mode {mode:04o}, so that other users can change it", "chmod go-w")
        )
    if folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX:
        raise UnsafeFile(_unsafe(file, "is in a directory that every user can change", "move it"))


def refuse_special(file: Path) -> None:
    """Refuse with SpecialFile what is neither a file nor a directory. A missing file is none of these."""
    with suppress(OSError):
        mode = file.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise SpecialFile(f"{file}: is a pipe, a socket or a device; write its content to a file")


def _unsafe(file: Path, problem: str, fix: str) -> str:
    return f"{file}: {problem}: {fix}, or set server.allowUnsafeFiles to true"


def stamp(files: Sequence[Path]) -> Stamp:
    """Current identities of files. Follows links, so that swapping a mounted secret counts as a change."""
    return tuple(_stamp(file) for file in files)


def _stamp(file: Path) -> tuple[int, ...] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


class WatchedFiles(Generic[Content]):
    """Files that are read together, and again whenever one of them changes. Thread-safe.

    Raises the ListenError of `read` if they cannot be used at first.
    """

    def __init__(self, what: str, files: Sequence[Path], read: Callable[[], Content]) -> None:
        """`what` names the content in logs and metrics: "tokens"."""
        self.what = what
        self._files, self._read = files, read
        self._read_at = self._seen = stamp(files)
        self._content = self._load()
        self._fault = ""
        self._reading = threading.Lock()

    @property
    def fault(self) -> str:
        """Why the present files cannot be used; empty if they can."""
        return self._fault

    def latest(self) -> Content:
        """The last usable content, after the files were read again if they have changed."""
        if (now := stamp(self._files)) != self._read_at:
            if any(each is not None and not each[_SIZE] for each in now):
                time.sleep(_WRITING_SECONDS)  # what writes a file empties it first
                now = stamp(self._files)
            with self._reading:
                self._follow(now)
        return self._content

    def look(self) -> None:
        """As `latest`, unless the files have changed since the last look: they may be being written."""
        now = stamp(self._files)
        with self._reading:
            if now == self._seen and now != self._read_at:
                self._follow(now)
            self._seen = now

    def _load(self) -> Content:
        for file in self._files:
            refuse_special(file)
        return self._read()

    def _follow(self, now: Stamp) -> None:
        if now == self._read_at:
            return
        self._read_at = now
        try:
            self._content = self._load()
        except ListenError as error:
            self._fault = str(error)
            _LOG.error("Cannot load new %s; keeping the previous ones: %s", self.what, error)
            return
        self._fault = ""
        _LOG.info("Loaded new %s: %s", self.what, self._files[0])
