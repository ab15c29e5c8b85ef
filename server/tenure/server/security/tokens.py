"""Tokens of callers: read from a file, stored as hashes, reloaded when the file changes.

# one token per line, optionally preceded by a name for logs
adapter 5f0c...
91ab...
"""

import hmac
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from tenure.server.listen_address import ListenError
from tenure.server.security.callers import UNNAMED
from tenure.server.security.watched_files import WatchedFiles, check_mode

MIN_LENGTH: Final = 16
"""Minimum length of a token: shorter ones can be guessed."""


class TokenFileError(ListenError):
    """A token file cannot be used. The message has the file and the line, never a token."""


class Tokens:
    """Tokens of a file. Thread-safe.

    Raises TokenFileError if the file is invalid or has no tokens. Later errors are logged once per change,
    and the previous tokens stay valid; a file without tokens invalidates all.
    """

    def __init__(self, file: Path, *, allow_unsafe: bool = False) -> None:
        self.files = WatchedFiles("tokens", [file], partial(_read, file, allow_unsafe))
        if not self.files.latest():
            raise TokenFileError(f"{file}: contains no token; write one per line")

    def count(self) -> int:
        """Number of tokens."""
        return len(self.files.latest())

    def name_of(self, digest: bytes) -> str | None:
        """Name of the owner of a token, by the digest of the token; None if the token is invalid.

        Takes the same time for every token: all digests are compared, each in constant time.
        """
        found = None
        for known, name in self.files.latest().items():
            if hmac.compare_digest(known, digest):
                found = name
        return found


def _read(file: Path, allow_unsafe: bool) -> dict[bytes, str]:
    """Names by the digest of their token."""
    if not allow_unsafe:
        check_mode(file)
    try:
        text = file.read_text("ascii")
    except OSError as error:
        raise TokenFileError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TokenFileError(f"{file}: tokens and names must be ASCII") from None
    names: dict[bytes, str] = {}
    for number, name, token in _entries(file, text):
        if names.setdefault(digest_of(token), name) != name:
            raise TokenFileError(f"{file}, line {number}: the token has another name in an earlier line")
    return names


def _entries(file: Path, text: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) > 2:
            raise TokenFileError(f"{file}, line {number}: must be a token, or a name followed by a token")
        if len(words[-1]) < MIN_LENGTH:
            raise TokenFileError(f"{file}, line {number}: the token is shorter than {MIN_LENGTH} characters")
        yield number, words[0] if len(words) == 2 else UNNAMED, words[-1]


def digest_of(token: str) -> bytes:
    """SHA-256 of a token."""
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
