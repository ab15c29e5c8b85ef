"""HTTP on loopback with a thread for each connection, in which watches wait.

It uses the server of the standard library, so that tests can break a connection at any byte.
"""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from tests.kubernetes.environment.control_plane import ADMIN_TOKEN
from tests.kubernetes.fake_api_server.api import ApiResponse, ApiRouter
from tests.kubernetes.fake_api_server.errors import ApiStatusError
from tests.kubernetes.fake_api_server.faults import NO_END, Fault, FaultQueue
from tests.kubernetes.fake_api_server.watches import WatchStream


class HandledCall(NamedTuple):
    """A received request."""

    token: str
    """Token of the caller."""
    method: str
    path: str
    query: dict[str, str]
    body: Any


class FakeApiServer:
    """An API server for the lifetime of a context (see `run_fake_api_server`)."""

    def __init__(self, folder: Path) -> None:
        self.faults = FaultQueue()
        self.calls: list[HandledCall] = []
        """All requests in order of arrival."""
        self._folder = folder
        self._api = ApiRouter()
        self._watches: set[tuple[WatchStream, socket.socket]] = set()
        handler = type("Handler", (_Handler,), {"served": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def kubeconfig(self, token: str = ADMIN_TOKEN) -> Path:
        """Write a kubeconfig file with this token."""
        path = self._folder / f"kubeconfig-fake-{token[:16]}"
        path.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n"
            f"clusters: [{{name: test, cluster: {{server: '{self.url}'}}}}]\n"
            f"users: [{{name: test, user: {{token: '{token}'}}}}]\n"
            "contexts: [{name: test, context: {cluster: test, user: test}}]\n"
        )
        return path

    def compact(self) -> None:
        """Discard the history and end all watches; watches that resume get 410."""
        self._api.store.compact()
        self.break_watches()

    def break_watches(self) -> None:
        """Close the connections of all watches."""
        for watch, connection in list(self._watches):
            watch.close()
            _shut(connection)

    def expire_watches(self) -> None:
        """Send all watches the error that their version is compacted."""
        for watch, _ in list(self._watches):
            watch.expire()

    def writes(self) -> list[str]:
        """Return the requests other than reads in order, as "POST /path"."""
        return [f"{call.method} {call.path}" for call in list(self.calls) if call.method != "GET"]

    def stop(self) -> None:
        """Stop the server."""
        self.break_watches()
        self._http.shutdown()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    served: FakeApiServer

    def handle_any(self) -> None:
        where = urlsplit(self.path)
        path, query = unquote(where.path), dict(parse_qsl(where.query))
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(content) if content else None
        fault = self.served.faults.take("WATCH" if query.get("watch") == "true" else self.command, path)
        self.served.calls.append(HandledCall(self._token, self.command, path, query, body))
        time.sleep(fault.delay)
        if fault.is_ignored:
            return self._break()
        try:
            answer = self._respond(fault, path, query, body)
        except ApiStatusError as refusal:
            return self._send(refusal.status, refusal.body, refusal.headers, NO_END)
        if isinstance(answer, WatchStream):
            return self._follow(answer, fault.cut_after)
        return self._send(answer.status, answer.body, {}, fault.cut_after)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def log_message(self, format: str, *args: object) -> None: ...

    @property
    def _token(self) -> str:
        return str(self.headers.get("Authorization", "")).removeprefix("Bearer ")

    def _respond(
        self, fault: Fault, path: str, query: dict[str, str], body: Any
    ) -> ApiResponse | WatchStream:
        """Return the response of the API, or that of the fault. Raises ApiStatusError."""
        if fault.refusal is not None and not fault.is_done:
            raise fault.refusal
        media_type = self.headers.get("Content-Type", "").partition(";")[0]
        answer = self.served._api.respond(self._token, self.command, path, query, body, media_type)
        if fault.refusal is not None:
            raise fault.refusal
        return answer

    def _send(self, status: int, body: dict[str, Any] | str, headers: dict[str, str], end: int) -> None:
        """Send at most `end` bytes of a response."""
        content = body.encode() if isinstance(body, str) else msgspec.json.encode(body)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/plain" if isinstance(body, str) else "application/json")
        self.send_header("Content-Length", str(len(content)))
        if end:
            self.end_headers()
        self.wfile.write(content[:end])
        if end < len(content):
            self._break()

    def _follow(self, watch: WatchStream, end: int) -> None:
        """Send the events of a watch as lines, at most `end` bytes."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        entry = (watch, self.connection)
        self.served._watches.add(entry)
        try:
            for event in watch.events():
                line = msgspec.json.encode(event) + b"\n"
                self._chunk(line[:end])
                end -= len(line)
                if end < 0:
                    return self._break()
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True
        finally:
            self.served._watches.discard(entry)

    def _chunk(self, content: bytes) -> None:
        if content:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))

    def _break(self) -> None:
        self.close_connection = True
        _shut(self.connection)


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


@contextmanager
def run_fake_api_server(folder: Path) -> Iterator[FakeApiServer]:
    """Run an API server and stop it at the end; its files are in a folder."""
    server = FakeApiServer(folder)
    try:
        yield server
    finally:
        server.stop()
