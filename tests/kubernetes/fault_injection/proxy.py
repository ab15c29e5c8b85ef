"""A proxy between adapters and an API server: passes calls on, records them, and injects faults.

    adapter ── http ──► endpoint (one for each adapter) ── https ──► API server
                         │ faults: before, after, stream
                         ▼
                      history

Every call has its own connection to the API server, so earlier calls do not affect it.
"""

import json
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from tests.kubernetes.fault_injection.history import History, RecordedCall, RecordedRequest

_TIMEOUT: Final = 90.0
"""Longer than any adapter waits: the result of a call is recorded even if the adapter has disconnected."""
_POLL: Final = 0.05
_PIECE: Final = 65_536
_UNVERIFIED: Final = ssl._create_unverified_context()
_PASSED_ON: Final = ("Authorization", "Content-Type", "Accept")
_PASSED_BACK: Final = ("Content-Type", "Retry-After", "Date")


class ProxyResponse(NamedTuple):
    """A response to an adapter; status 0 closes the connection."""

    status: int
    content: bytes = b""
    headers: dict[str, str] = {}


HANG_UP: Final = ProxyResponse(0)


class WatchCut(Exception):
    """The watch is cut here."""


class Fault:
    """A fault without effect; subclasses override methods. Methods are called by many threads."""

    def __init__(self) -> None:
        self.has_struck = threading.Event()
        """Set when the fault strikes."""

    def problems(self) -> list[str]:
        """Return problems that the fault detects. A fault that never struck is a problem."""
        return [] if self.has_struck.is_set() else [f"{type(self).__name__} never struck"]

    def arm(self, run: Any) -> None:
        """Prepare before adapters start. `run` is the run.StoryRun to act on."""

    def before(self, request: RecordedRequest) -> ProxyResponse | None:
        """Called before a call is passed on. A returned response replaces that of the API server."""
        return None

    def after(self, request: RecordedRequest, status: int) -> ProxyResponse | None:
        """Called after the API server has responded. A returned response replaces that of the API server."""
        return None

    def stream(self, request: RecordedRequest, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Return the chunks of a watch for the adapter. Raises WatchCut to cut the watch."""
        yield from chunks


class Proxy:
    """Endpoints for adapters to the API server at a local port. `faults` can change at any time."""

    def __init__(self, port: int, history: History, faults: Sequence[Fault] = ()) -> None:
        self._port = port
        self.history = history
        self.faults = list(faults)
        self._open: set[HTTPSConnection] = set()

    @contextmanager
    def door(self, actor: str, token: str, folder: Path) -> Iterator[Path]:
        """Open an endpoint and return a kubeconfig by which one adapter reaches the API server."""
        handler = type("Handler", (_Handler,), {"proxy": self, "actor": actor})
        http = _Listener(("127.0.0.1", 0), handler)
        threading.Thread(target=http.serve_forever, args=(_POLL,), name=f"door-{actor}", daemon=True).start()
        config = folder / f"kubeconfig-{actor}"
        config.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n"
            f"clusters: [{{name: test, cluster: {{server: 'http://127.0.0.1:{http.server_port}'}}}}]\n"
            f"users: [{{name: test, user: {{token: '{token}'}}}}]\n"
            "contexts: [{name: test, context: {cluster: test, user: test}}]\n"
        )
        try:
            yield config
        finally:
            http.shutdown()
            http.server_close()
            self.cut_all()

    def instead(self, request: RecordedRequest) -> ProxyResponse | None:
        """Call all faults and return the first response."""
        return next(filter(None, [fault.before(request) for fault in self.faults]), None)

    def afterwards(self, request: RecordedRequest, answer: ProxyResponse) -> ProxyResponse:
        """Return the response to the adapter after the API server has responded."""
        given = [fault.after(request, answer.status) for fault in self.faults]
        return next(filter(None, given), answer)

    def responses(self, request: RecordedRequest, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Return the chunks of a watch for the adapter."""
        for fault in self.faults:
            chunks = fault.stream(request, chunks)
        yield from chunks

    @contextmanager
    def requests(
        self, request: RecordedRequest, target: str, raw: bytes, headers: Any
    ) -> Iterator[HTTPResponse]:
        """Return the response of the API server. Raises OSError and HTTPException."""
        connection = HTTPSConnection("127.0.0.1", self._port, timeout=_TIMEOUT, context=_UNVERIFIED)
        self._open.add(connection)
        passed = {name: headers[name] for name in _PASSED_ON if name in headers}
        try:
            connection.request(request.method, target, raw or None, passed)
            yield connection.getresponse()
        finally:
            self._open.discard(connection)
            connection.close()

    def cut_all(self) -> None:
        """Close all connections to the API server; watches end.

        The shutdown is that of a plain socket: that of an `SSLSocket` ends the encryption, and a thread which
        still reads would get the encrypted bytes as the response.
        """
        for connection in list(self._open):
            if connection.sock is not None:
                with suppress(OSError):
                    socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore closed connections of killed adapters; report other errors."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One connection of an adapter."""

    proxy: Proxy
    actor: str
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _handle(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        if len(raw) < length:  # the adapter died during the request
            self.close_connection = True
            return
        where = urlsplit(self.path)
        number = self.proxy.history.next_number()
        body = json.loads(raw) if raw else None
        request = RecordedRequest(number, self.actor, self.command, where.path, where.query, body)
        began = time.time()
        if (instead := self.proxy.instead(request)) is not None:
            self._write_down(RecordedCall(request, began, time.time(), was_sent=False, status=0))
            self._respond(instead)
        elif request.is_watch:
            self._stream(request, raw)
        else:
            answer = self._forward(request, raw)
            self._write_down(RecordedCall(request, began, time.time(), was_sent=True, status=answer.status))
            self._respond(self.proxy.afterwards(request, answer))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle

    def _forward(self, request: RecordedRequest, raw: bytes) -> ProxyResponse:
        try:
            with self.proxy.requests(request, self.path, raw, self.headers) as response:
                return ProxyResponse(response.status, response.read(), _response_headers(response))
        except (OSError, HTTPException):
            return HANG_UP

    def _stream(self, request: RecordedRequest, raw: bytes) -> None:
        self.close_connection = True
        with (
            suppress(OSError, HTTPException, WatchCut),
            self.proxy.requests(request, self.path, raw, self.headers) as response,
        ):
            if response.status != HTTPStatus.OK:
                self._respond(ProxyResponse(response.status, response.read(), _response_headers(response)))
                return
            self._write_down(
                RecordedCall(request, time.time(), time.time(), was_sent=True, status=response.status)
            )
            self._begin(response.status, {**_response_headers(response), "Transfer-Encoding": "chunked"})
            for chunk in self.proxy.responses(request, iter(lambda: response.read1(_PIECE), b"")):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.write(b"0\r\n\r\n")

    def _respond(self, answer: ProxyResponse) -> None:
        if not answer.status:
            self.close_connection = True
            return
        with suppress(OSError):
            self._begin(answer.status, {**answer.headers, "Content-Length": str(len(answer.content))})
            self.wfile.write(answer.content)

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _write_down(self, call: RecordedCall) -> None:
        self.proxy.history.calls.append(call)

    def log_message(self, format: str, *args: object) -> None: ...


def _response_headers(response: HTTPResponse) -> dict[str, str]:
    found = {name: response.headers.get(name) for name in _PASSED_BACK}
    return {name: value for name, value in found.items() if value is not None}
