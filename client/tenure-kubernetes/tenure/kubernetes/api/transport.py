"""HTTP to a Kubernetes API server: bytes in, bytes out, typed errors.

lightkube supplies configuration, certificates and tokens, in a cluster or from a kubeconfig. Its typed
clients are not used: they raise after a successful binding, and decode more than the adapter reads.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import httpx2
import msgspec
from lightkube.config.client_adapter import Client, ConnectionParams
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.exceptions import ConfigError
from tenure.integration.ports import LeaseLost
from tenure.integration.telemetry import RESULT
from tenure.kubernetes.api.api_clock import ApiClock
from tenure.kubernetes.api.api_errors import (
    ApiError,
    ApiServerError,
    Conflict,
    Expired,
    NotFound,
    RequestRejected,
    TooManyRequests,
    Unreachable,
)
from tenure.kubernetes.api.api_paths import LineStream, resource_of
from tenure.kubernetes.telemetry import CALLS, call_span

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
"""Media types of bodies. JSON is YAML, so server-side apply accepts it, too."""

_CONNECT_SECONDS: Final = 5.0
_CALL_SECONDS: Final = 30.0
_PAUSES: Final = (0.1, 0.4, 1.6)
_LONGEST_PAUSE: Final = 2.0
"""Seconds between attempts of a patient read."""
_LONGEST_MESSAGE: Final = 300
_OTHER_UID: Final = "metadata.uid: Invalid value"
"""Part of the response to a patch if the name belongs to another object by now: status 422 instead of 409."""

_ERRORS: Final = (httpx2.HTTPError, ConfigError, OSError, ValueError, LookupError, TypeError, RuntimeError)
"""Errors of sending a call: of the connection, a closed one too, or of the helper or file of a token."""
_FIRST_BYTE: Final = "send_request_headers.started"
_MAY_SEND: Final = ContextVar[Callable[[], bool] | None]("may_send", default=None)

Query = Mapping[str, str]


class _Cause(msgspec.Struct):
    message: str = ""


class _Details(msgspec.Struct):
    causes: list[_Cause] = []


class _Status(msgspec.Struct):
    """Body of an error response."""

    message: str = ""
    details: _Details | None = None


class Transport:
    """One API server, for several threads. Close it at the end.

    `timeout` is in seconds, for every call but watches. `kubeconfig` None: the in-cluster service
    account, else the file that kubectl uses. Raises lightkube's ConfigError without a usable configuration.
    """

    def __init__(
        self, kubeconfig: Path | None = None, context: str | None = None, timeout: float = _CALL_SECONDS
    ) -> None:
        known = KubeConfig.from_file(kubeconfig) if kubeconfig else _found()
        config = known.get(context)
        if config is None:
            raise ConfigError("the kubeconfig has no current context; set one")
        self._timeout = httpx2.Timeout(timeout, connect=_CONNECT_SECONDS)
        parameters = ConnectionParams(timeout=self._timeout, trust_env=False)
        self._http = Client(config, parameters)
        self.clock = ApiClock()
        """The time, from responses of the API server."""

    def close(self) -> None:
        """Close all connections; open watches end with Unreachable."""
        self._http.close()

    def get(self, path: str, query: Query | None = None) -> bytes:
        """Read an object or a list. Raises ApiError."""
        return self._call("GET", path, query)

    def get_patiently(self, path: str) -> bytes:
        """Read an object, up to four times while the API server fails, is busy or does not respond.

        For reads that many others depend on. Raises ApiError.
        """
        for pause in _PAUSES:
            try:
                return self.get(path)
            except (ApiServerError, TooManyRequests, Unreachable) as failure:
                requested = failure.retry_after if isinstance(failure, TooManyRequests) else None
                time.sleep(pause if requested is None else min(requested, _LONGEST_PAUSE))
        return self.get(path)

    def post(self, path: str, body: Any, query: Query | None = None) -> bytes:
        """Create an object. Raises ApiError."""
        return self._call("POST", path, query, body, JSON)

    def put(self, path: str, body: Any) -> bytes:
        """Replace an object. Raises ApiError."""
        return self._call("PUT", path, None, body, JSON)

    def patch(self, path: str, body: Any, media_type: str, query: Query | None = None) -> bytes:
        """Change an object. Raises ApiError."""
        return self._call("PATCH", path, query, body, media_type)

    def delete(self, path: str, body: Any = None) -> bytes:
        """Delete an object. `body` is a DeleteOptions. Raises ApiError."""
        return self._call("DELETE", path, None, body, JSON)

    @contextmanager
    def lines(self, path: str, query: Query, idle_seconds: float) -> Iterator[LineStream]:
        """Open a watch and return its lines. Raises ApiError, also between lines.

        The connection counts as broken after `idle_seconds` without a line.
        """
        timeout = httpx2.Timeout(idle_seconds, connect=_CONNECT_SECONDS)
        with ExitStack() as ends:
            try:
                requested_at = self._http.stream("GET", path, params=query, timeout=timeout)
                response = ends.enter_context(requested_at)
                if response.is_error:
                    response.read()
            except _ERRORS as error:
                raise _unreachable("GET", path, error) from None
            if response.is_error:
                raise _failure("GET", path, response)
            try:
                yield LineStream(response)
            except httpx2.HTTPError as error:
                raise _unreachable("GET", path, error) from None

    def _call(
        self, method: str, path: str, query: Query | None, body: Any = None, media_type: str = ""
    ) -> bytes:
        begin, resource, result = time.perf_counter(), resource_of(path), "ok"
        with call_span(method, resource) as current:
            try:
                return self._send(method, path, query, body, media_type)
            except (ApiError, LeaseLost) as failure:
                result = failure.metric_label
                raise
            finally:
                about = {"method": method, "resource": resource, "result": result}
                CALLS.record(time.perf_counter() - begin, about)
                current.set_attribute(RESULT, result)

    def _send(self, method: str, path: str, query: Query | None, body: Any, media_type: str) -> bytes:
        content = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": media_type} if content is not None else {}
        requested_at = time.monotonic_ns()
        fence = {"trace": _on_trace} if _MAY_SEND.get() else None
        try:
            response = self._http.request(
                method, path, params=query, content=content, headers=headers, extensions=fence
            )
        except _ERRORS as error:
            raise _unreachable(method, path, error) from None
        self.clock.observe(response.headers.get("Date", ""), requested_at)
        if response.is_error:
            raise _failure(method, path, response)
        if not response.content.startswith(b"{"):
            raise ApiServerError(
                f"{method} {path}: {response.status_code} without an object; the server is not an API server"
            )
        try:
            msgspec.json.decode(response.content.decode(), type=msgspec.Raw)
        except (UnicodeDecodeError, msgspec.DecodeError) as error:
            raise ApiServerError(f"{method} {path}: the response is damaged: {error}") from None
        return response.content


@contextmanager
def require_leadership(may_act: Callable[[], bool]) -> Iterator[None]:
    """Send calls in the block only while `may_act`, checked right before the first byte.

    A process may pause at any moment, even while it connects, long enough for another adapter to take over.
    Raises LeaseLost if nothing was sent.
    """
    if not may_act():
        raise LeaseLost
    token = _MAY_SEND.set(may_act)
    try:
        yield
    finally:
        _MAY_SEND.reset(token)


class LeaderTransport:
    """Writes only while its adapter leads. Writes raise ApiError, and LeaseLost if nothing was sent."""

    def __init__(self, transport: Transport, may_act: Callable[[], bool]) -> None:
        self._transport, self._is_leader = transport, may_act

    def get(self, path: str) -> bytes:
        """Read an object. Raises ApiError."""
        return self._transport.get(path)

    def post(self, path: str, body: Any) -> bytes:
        """Create an object."""
        with require_leadership(self._is_leader):
            return self._transport.post(path, body)

    def delete(self, path: str, uid: str, version: str) -> bytes:
        """Delete an object with this uid and version."""
        only = {"uid": uid, "resourceVersion": version}
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": only}
        with require_leadership(self._is_leader):
            return self._transport.delete(path, options)

    def patch(self, path: str, body: Any, media_type: str, query: Query | None = None) -> bytes:
        """Change an object."""
        with require_leadership(self._is_leader):
            return self._transport.patch(path, body, media_type, query)


def _on_trace(event: str, info: Mapping[str, Any]) -> None:
    """Check leadership once more, right before the first byte."""
    may_act = _MAY_SEND.get()
    if event.endswith(_FIRST_BYTE) and may_act is not None and not may_act():
        raise LeaseLost


def _found() -> KubeConfig:
    """The default configuration. Raises ConfigError."""
    try:
        return KubeConfig.from_env()
    except RuntimeError:  # the user has no home directory for a kubeconfig
        raise ConfigError(
            "no service account, and this user has no home directory; set the kubeconfig"
        ) from None


def _unreachable(method: str, path: str, error: Exception) -> Unreachable:
    return Unreachable(f"{method} {path}: {error or type(error).__name__}")


def _failure(method: str, path: str, response: httpx2.Response) -> ApiError:
    message = f"{method} {path}: {response.status_code} {_message(response.content)}"
    match response.status_code:
        case HTTPStatus.NOT_FOUND:
            return NotFound(message)
        case HTTPStatus.CONFLICT:
            return Conflict(message)
        case HTTPStatus.UNPROCESSABLE_ENTITY if _OTHER_UID in message:
            return Conflict(message)
        case HTTPStatus.GONE:
            return Expired(message)
        case HTTPStatus.TOO_MANY_REQUESTS:
            return TooManyRequests(message, _retry_after(response))
        case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return ApiServerError(message)
        case status:
            return RequestRejected(message, status)


def _message(content: bytes) -> str:
    """Message of the API server, with separate causes, such as the blocking disruption budget."""
    try:
        status = msgspec.json.decode(content, type=_Status)
    except msgspec.DecodeError:
        return content.decode(errors="replace")[:_LONGEST_MESSAGE]
    text = status.message
    for cause in status.details.causes if status.details else []:
        if cause.message not in text:
            text = f"{text} {cause.message}"
    return text[:_LONGEST_MESSAGE]


def _retry_after(response: httpx2.Response) -> float | None:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None
