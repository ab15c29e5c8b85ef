"""Public keys of an issuer of JWTs: a JSON Web Key Set in a file, or at an address, cached and rotated.

Keys of an address are read every five minutes, and at once when a token names an unknown key, at most every
ten seconds. While an address cannot be read, the previous keys stay in use.
"""

import json
import logging
import ssl
import threading
import time
import urllib.request
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol
from urllib.error import URLError

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from tenure.server.listen_address import ListenError
from tenure.server.security.watched_files import WatchedFiles, check_mode
from tenure.server.settings import JwtIssuer
from tenure.server.sweeper import Sweeper

REFRESH_SECONDS: Final = 300.0
RETRY_SECONDS: Final = 10.0
"""Minimum time between two reads of an address."""
_TIMEOUT_SECONDS: Final = 5.0
_MAX_BYTES: Final = 2**20
_ASYMMETRIC: Final = ("RSA", "EC", "OKP")
_MIN_RSA_BITS: Final = 2_048
_LOG: Final = logging.getLogger(__name__)

Keys = Mapping[str, Any]
"""Public keys of `cryptography` by key ID; empty for a key without one."""


class KeySetError(ListenError):
    """A key set cannot be used. The message has its file or address and the cause."""


class SigningKeys(Protocol):
    """Keys of one issuer."""

    @property
    def fault(self) -> str:
        """Why the keys cannot be read at present; empty if they can."""

    def find(self, key_id: str) -> Any | None:
        """Public key by its ID; None if it is unknown. May read the keys again."""

    def is_current(self, key_id: str, key: object) -> bool:
        """Whether a key is still among the keys."""

    def look(self) -> None:
        """Follow a file that has changed."""

    def start(self) -> None:
        """Start to read an address regularly."""

    def stop(self) -> None:
        """Stop to read it."""


def signing_keys(issuer: JwtIssuer, *, allow_unsafe: bool) -> SigningKeys:
    """Keys of an issuer. Raises KeySetError if a file of it cannot be used."""
    return AddressKeys(issuer) if issuer.has_address else FileKeys(issuer, allow_unsafe=allow_unsafe)


class FileKeys:
    """Keys of a file."""

    def __init__(self, issuer: JwtIssuer, *, allow_unsafe: bool) -> None:
        file = Path(issuer.keys)
        self._files = WatchedFiles(
            f"keys of JWT issuer {issuer.name}", [file], partial(_read_file, file, allow_unsafe)
        )

    @property
    def fault(self) -> str:
        """Why the files cannot be read at present; empty if they can."""
        return self._files.fault

    def find(self, key_id: str) -> Any | None:
        """Public key of the files by its ID; None if it is unknown."""
        return self._files.latest().get(key_id)

    def is_current(self, key_id: str, key: object) -> bool:
        """Whether the files still have the key."""
        return self._files.latest().get(key_id) == key

    def look(self) -> None:
        """Read files that have changed."""
        self._files.look()

    def start(self) -> None:
        """Do nothing: files are read when they are looked at."""

    def stop(self) -> None:
        """Do nothing: no thread runs."""


class AddressKeys:
    """Keys of an address. A server starts without them, and accepts no token until it has read them."""

    def __init__(self, issuer: JwtIssuer) -> None:
        self._issuer = issuer
        self._context = _tls(issuer.keys_ca) if issuer.keys.startswith("https:") else None
        self._keys: Keys = {}
        self._next_read = self._next_refresh = 0.0
        self._reading = threading.Lock()
        self._sweeper = Sweeper(self._refresh)
        self.fault = ""

    def find(self, key_id: str) -> Any | None:
        """Public key by its ID. One call waits for the address; others with unknown keys do not."""
        if key_id not in self._keys and self._reading.acquire(blocking=False):
            try:
                if time.monotonic() >= self._next_read:
                    self._read()
            finally:
                self._reading.release()
        return self._keys.get(key_id)

    def is_current(self, key_id: str, key: object) -> bool:
        """Whether the address returned the key at the last read."""
        return self._keys.get(key_id) == key

    def look(self) -> None:
        """Do nothing: an address is read by a thread of its own."""

    def start(self) -> None:
        """Read the address, so that the first caller is not rejected, and start the thread that reads it."""
        self._refresh()
        self._sweeper.start()

    def stop(self) -> None:
        """Stop the thread that reads the address."""
        self._sweeper.stop()

    def _refresh(self) -> float:
        with self._reading:
            if time.monotonic() >= self._next_refresh:
                self._read()
            return self._next_refresh - time.monotonic()

    def _read(self) -> None:
        self._next_read = self._next_refresh = time.monotonic() + RETRY_SECONDS
        address = self._issuer.keys
        try:
            self._keys = parse_keys(address, self._content())
        except (KeySetError, URLError, OSError, ValueError) as error:
            if not self.fault:
                _LOG.error("Cannot read the keys of JWT issuer %s: %s: %s", self._issuer.name, address, error)
            self.fault = f"{address}: {error}"
            return
        if self.fault:
            _LOG.warning("Reading the keys of JWT issuer %s again.", self._issuer.name)
        self.fault = ""
        self._next_refresh = time.monotonic() + REFRESH_SECONDS

    def _content(self) -> bytes:
        request = urllib.request.Request(self._issuer.keys)  # noqa: S310 (settings permit https only)
        if self._issuer.keys_token_file is not None:
            token = self._issuer.keys_token_file.read_text("ascii").strip()
            request.add_unredirected_header("Authorization", f"Bearer {token}")
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=self._context), _NoRedirects()
        )
        with opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
            content: bytes = response.read(_MAX_BYTES + 1)
        return content


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Keys come from the address that was configured, and from no other."""

    def redirect_request(self, *_: object) -> NoReturn:
        raise URLError("the address redirects to another one; configure that one")


def _tls(authority: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authority)
    except (ssl.SSLError, OSError):
        raise KeySetError(f"{authority}: contains no PEM certificate") from None


def _read_file(file: Path, allow_unsafe: bool) -> Keys:
    if not allow_unsafe:
        check_mode(file)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise KeySetError(f"{file}: cannot be read: {error.strerror}") from None
    return parse_keys(str(file), content)


def parse_keys(source: str, content: bytes) -> Keys:
    """Public keys for signatures in a JSON Web Key Set. Raises KeySetError if there is none."""
    if len(content) > _MAX_BYTES:
        raise KeySetError(f"{source}: is larger than {_MAX_BYTES:,} bytes")
    try:
        found = jwt.PyJWKSet.from_dict(json.loads(content)).keys
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError, RecursionError):
        raise KeySetError(f"{source}: is not a JSON Web Key Set with public keys") from None
    keys: dict[str, Any] = {}
    for each in found:
        if _is_usable(each):
            keys.setdefault(each.key_id or "", each.key)
    if not keys:
        raise KeySetError(f"{source}: has no public key for signatures")
    return keys


def _is_usable(key: jwt.PyJWK) -> bool:
    """Whether a key is public, for signatures, and long enough."""
    if key.key_type not in _ASYMMETRIC or key.public_key_use not in (None, "sig"):
        return False
    if hasattr(key.key, "private_numbers") or hasattr(key.key, "private_bytes"):
        return False
    return not isinstance(key.key, RSAPublicKey) or key.key.key_size >= _MIN_RSA_BITS
