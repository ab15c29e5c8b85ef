"""HTTP to a Kubernetes API server: bytes out, bytes in, failures typed.

Configuration, certificates and tokens are lightkube's, in-cluster or from a kubeconfig. Its typed clients are
not used: they raise after a binding that succeeded, and decode more than is looked at.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import httpx2
import msgspec
from lightkube.config.client_adapter import Client, ConnectionParams
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.exceptions import ConfigError
from tenure.client.kubernetes.failures import (
    ApiFailure,
    Broken,
    Conflict,
    Expired,
    NotFound,
    Refused,
    TooManyRequests,
    Unreachable,
)

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
"""Media types of bodies; JSON is YAML, so server-side apply takes it as well."""

_CONNECT_SECONDS: Final = 5.0
_CALL_SECONDS: Final = 30.0
_LONGEST_MESSAGE: Final = 300

Query = Mapping[str, str]


class _Status(msgspec.Struct):
    """What the API server says when it does not do what was asked."""

    message: str = ""


class Transport:
    """One API server, for many threads. Close it in the end.

    `timeout` is in seconds, for every call but watches. Raises lightkube's ConfigError when there is no
    usable configuration: `kubeconfig` None looks where kubectl does, then for a service account.
    """

    def __init__(
        self, kubeconfig: Path | None = None, context: str | None = None, timeout: float = _CALL_SECONDS
    ) -> None:
        known = KubeConfig.from_file(kubeconfig) if kubeconfig else KubeConfig.from_env()
        config = known.get(context)
        if config is None:
            raise ConfigError("the kubeconfig names no current context: choose one")
        self._timeout = httpx2.Timeout(timeout, connect=_CONNECT_SECONDS)
        parameters = ConnectionParams(timeout=self._timeout, trust_env=False)
        self._http = Client(config, parameters)

    def close(self) -> None:
        """Close all connections; open watches end with Unreachable."""
        self._http.close()

    def get(self, path: str, query: Query | None = None) -> bytes:
        """An object or a list of them. Raises ApiFailure."""
        return self._call("GET", path, query)

    def post(self, path: str, body: Any, query: Query | None = None) -> bytes:
        """Create something. Raises ApiFailure."""
        return self._call("POST", path, query, body, JSON)

    def put(self, path: str, body: Any) -> bytes:
        """Replace an object. Raises ApiFailure."""
        return self._call("PUT", path, None, body, JSON)

    def patch(self, path: str, body: Any, media_type: str, query: Query | None = None) -> bytes:
        """Change an object. Raises ApiFailure."""
        return self._call("PATCH", path, query, body, media_type)

    def delete(self, path: str, body: Any = None) -> bytes:
        """Delete an object; `body` are DeleteOptions. Raises ApiFailure."""
        return self._call("DELETE", path, None, body, JSON)

    @contextmanager
    def lines(self, path: str, query: Query, idle_seconds: float) -> Iterator[Iterator[bytes]]:
        """The lines of an answer as they come, for watches. Raises ApiFailure, also between lines.

        When nothing comes for `idle_seconds`, the connection counts as broken.
        """
        timeout = httpx2.Timeout(idle_seconds, connect=_CONNECT_SECONDS)
        try:
            with self._http.stream("GET", path, params=query, timeout=timeout) as response:
                if response.is_error:
                    response.read()
                    raise _failure("GET", path, response)
                yield _split(response.iter_bytes())
        except httpx2.TransportError as error:
            raise _unreachable("GET", path, error) from None

    def _call(
        self, method: str, path: str, query: Query | None, body: Any = None, media_type: str = ""
    ) -> bytes:
        content = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": media_type} if content is not None else {}
        try:
            response = self._http.request(method, path, params=query, content=content, headers=headers)
        except httpx2.TransportError as error:
            raise _unreachable(method, path, error) from None
        if response.is_error:
            raise _failure(method, path, response)
        return response.content


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines; what is left when the answer breaks off is no line."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from filter(None, lines)


def _unreachable(method: str, path: str, error: httpx2.TransportError) -> Unreachable:
    return Unreachable(f"{method} {path}: {error or type(error).__name__}")


def _failure(method: str, path: str, response: httpx2.Response) -> ApiFailure:
    said = f"{method} {path}: {response.status_code} {_message(response.content)}"
    match response.status_code:
        case HTTPStatus.NOT_FOUND:
            return NotFound(said)
        case HTTPStatus.CONFLICT:
            return Conflict(said)
        case HTTPStatus.GONE:
            return Expired(said)
        case HTTPStatus.TOO_MANY_REQUESTS:
            return TooManyRequests(said, _retry_after(response))
        case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Broken(said)
        case status:
            return Refused(said, status)


def _message(content: bytes) -> str:
    try:
        text = msgspec.json.decode(content, type=_Status).message
    except msgspec.DecodeError:
        text = content.decode(errors="replace")
    return text[:_LONGEST_MESSAGE]


def _retry_after(response: httpx2.Response) -> float | None:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None
