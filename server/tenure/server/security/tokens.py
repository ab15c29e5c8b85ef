"""Tokens of callers: read from a file, stored as hashes, reloaded when the file changes.

# one token per line, optionally preceded by a name for logs
adapter 5f0c...
91ab...
"""

import hmac
import logging
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from tenure.server.listen_address import ListenError
from tenure.server.security.certificates import stamp

MIN_LENGTH: Final = 16
"""Minimum length of a token: shorter ones can be guessed."""

_LOG: Final = logging.getLogger(__name__)


class TokenFileError(ListenError):
    """A token file cannot be used. The message has the file and the line, never a token."""


class Tokens:
    """Tokens of a file. Thread-safe.

    Raises TokenFileError if the file is invalid or has no tokens. Later errors are logged once per change,
    and the previous tokens stay valid; a file without tokens invalidates all.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen = stamp([file])
        self._names = _read(file)
        self._reading = threading.Lock()
        if not self._names:
            raise TokenFileError(f"{file}: contains no token; write one per line")

    def name_of(self, token: str) -> str | None:
        """Name of the owner of a token; empty if the file does not name it, None if the token is invalid.

        Takes the same time for every token: all hashes are compared, each in constant time.
        """
        self._follow()
        asked, found = _hash(token), None
        for known, name in self._names.items():
            if hmac.compare_digest(known, asked):
                found = name
        return found

    def _follow(self) -> None:
        with self._reading:
            now = stamp([self._file])
            if now == self._seen:
                return
            self._seen = now
            try:
                self._names = _read(self._file)
            except TokenFileError as error:
                _LOG.error("Cannot load new tokens; keeping the previous ones: %s", error)
                return
        _LOG.info("Loaded %d tokens from %s", len(self._names), self._file)


def _read(file: Path) -> dict[bytes, str]:
    """Names by the hash of their token."""
    try:
        text = file.read_text("ascii")
    except OSError as error:
        raise TokenFileError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TokenFileError(f"{file}: tokens and names must be ASCII") from None
    return {_hash(token): name for name, token in _entries(file, text)}


def _entries(file: Path, text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) > 2:
            raise TokenFileError(f"{file}, line {number}: must be a token, or a name followed by a token")
        if len(words[-1]) < MIN_LENGTH:
            raise TokenFileError(f"{file}, line {number}: the token is shorter than {MIN_LENGTH} characters")
        yield words[0] if len(words) == 2 else "", words[-1]


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
