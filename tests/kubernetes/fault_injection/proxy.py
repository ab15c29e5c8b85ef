"""Stands between adapters and an API server: passes on, writes down, and does what a fault says.

    adapter ── http ──► door (one for each adapter) ── https ──► API server
                         │ faults: before, after, stream
                         ▼
                      history

Every call has a connection of its own to the API server, so an adapter sees nothing of what the one before
it left behind.
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
"""Longer than any adapter waits: what came of a call is written down though nobody waits for it."""
_POLL: Final = 0.05
_PIECE: Final = 65_536
_UNVERIFIED: Final = ssl._create_unverified_context()
_PASSED_ON: Final = ("Authorization", "Content-Type", "Accept")
_PASSED_BACK: Final = ("Content-Type", "Retry-After", "Date")


class ProxyResponse(NamedTuple):
    """What an adapter gets; status 0 hangs up."""

    status: int
    content: bytes = b""
    headers: dict[str, str] = {}


HANG_UP: Final = ProxyResponse(0)


class WatchCut(Exception):
    """A watch breaks off here."""


class Fault:
    """Does no harm; those that do override what they need. Methods are called by many threads."""

    def __init__(self) -> None:
        self.has_struck = threading.Event()
        """Whether it came to that."""

    def problems(self) -> list[str]:
        """What was wrong, as far as the fault can tell. A run whose faults do nothing proves nothing."""
        return [] if self.has_struck.is_set() else [f"{type(self).__name__} never struck"]

    def arm(self, run: Any) -> None:
        """Before adapters start: what the fault is to act on, a run.Run."""

    def before(self, request: RecordedRequest) -> ProxyResponse | None:
        """Before a call is passed on. An answer is given in place of the API server's."""
        return None

    def after(self, request: RecordedRequest, status: int) -> ProxyResponse | None:
        """When the API server has answered, and the adapter does not know yet. An answer is given instead."""
        return None

    def stream(self, request: RecordedRequest, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """What an adapter hears of a watch. Raises WatchCut to break it off."""
        yield from chunks


class Proxy:
    """Doors to the API server at a port of this machine. `faults` may change at any time."""

    def __init__(self, port: int, history: History, faults: Sequence[Fault] = ()) -> None:
        self._port = port
        self.history = history
        self.faults = list(faults)
        self._open: set[HTTPSConnection] = set()

    @contextmanager
    def door(self, actor: str, token: str, folder: Path) -> Iterator[Path]:
        """A kubeconfig by which one adapter reaches the API server."""
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
        """The answer of the first fault that has one; all are asked."""
        return next(filter(None, [fault.before(request) for fault in self.faults]), None)

    def afterwards(self, request: RecordedRequest, answer: ProxyResponse) -> ProxyResponse:
        """What the adapter gets of an answer of the API server."""
        given = [fault.after(request, answer.status) for fault in self.faults]
        return next(filter(None, given), answer)

    def responses(self, request: RecordedRequest, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """What the adapter gets of a watch."""
        for fault in self.faults:
            chunks = fault.stream(request, chunks)
        yield from chunks

    @contextmanager
    def requests(
        self, request: RecordedRequest, target: str, raw: bytes, headers: Any
    ) -> Iterator[HTTPResponse]:
        """The API server's answer. Raises OSError and HTTPException."""
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
        """Break all connections to the API server: watches end."""
        for connection in list(self._open):
            if connection.sock is not None:
                with suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Adapters that are killed break their connections; anything else is told."""
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
        if len(raw) < length:  # it died while it asked
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
