"""The token that every call carries."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from tenure.client.errors import BadCredentials


class Token(NamedTuple):
    """A token by itself, or the file that holds it, which is read for every call: it may change."""

    text: str | None
    file: Path | None

    def read(self) -> str:
        """The token. Raises BadCredentials, which never shows it."""
        if self.file is None:
            return _checked(self.text or "", "the token")
        try:
            return _checked(self.file.read_text("ascii").strip(), f"{self.file}: the token")
        except OSError as error:
            raise BadCredentials(f"{self.file}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise BadCredentials(f"{self.file}: the token must be ASCII") from None


class _Call(NamedTuple):
    """What gRPC knows of a call before it is made."""

    method: str
    timeout: float | None
    metadata: Any
    credentials: Any
    wait_for_ready: bool | None
    compression: Any


_Calls: Any = type(
    "_Calls",
    (
        grpc.UnaryUnaryClientInterceptor,
        grpc.UnaryStreamClientInterceptor,
        grpc.StreamUnaryClientInterceptor,
        grpc.StreamStreamClientInterceptor,
    ),
    {},
)
"""Calls of all four kinds, which are intercepted alike."""


class TokenInterceptor(_Calls):  # type: ignore[misc]
    """Adds `authorization: Bearer TOKEN` to calls of all kinds."""

    def __init__(self, token: Token) -> None:
        token.read()
        self._token = token

    def _intercept(self, continuation: Callable[[Any, Any], Any], call: Any, request: Any) -> Any:
        metadata = [*(call.metadata or ()), ("authorization", f"Bearer {self._token.read()}")]
        own = _Call(
            call.method, call.timeout, metadata, call.credentials, call.wait_for_ready, call.compression
        )
        return continuation(own, request)

    intercept_unary_unary = _intercept
    intercept_unary_stream = _intercept
    intercept_stream_unary = _intercept
    intercept_stream_stream = _intercept


def _checked(token: str, what: str) -> str:
    if not token:
        raise BadCredentials(f"{what} is empty")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise BadCredentials(f"{what} must be one word of printable ASCII characters")
    return token
