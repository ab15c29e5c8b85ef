"""An HTTP server on loopback with scripted responses that an API server does not return on demand."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tenure.kubernetes.api.transport import Transport


class RecordedCall(NamedTuple):
    """A received request."""

    method: str
    path: str
    body: Any


class ScriptedResponse(NamedTuple):
    """A response; status 0 closes the connection without one. A body is sent as JSON, unless it is bytes."""

    status: int = 200
    body: Any = {}
    headers: dict[str, str] = {}


class ScriptedApiServer:
    """The first of `rules` that matches responds, else 404. `calls` are all requests."""

    def __init__(self) -> None:
        self.rules: list[Any] = []
        self.calls: list[RecordedCall] = []

    def on(self, method: str, path: str, *answers: ScriptedResponse) -> None:
        """Send these responses to matching requests; the last one is repeated."""
        left = list(answers)

        def rule(call: RecordedCall) -> ScriptedResponse | None:
            if (call.method, call.path) != (method, path):
                return None
            return left.pop(0) if len(left) > 1 else left[0]

        self.rules.append(rule)

    def respond(self, call: RecordedCall) -> ScriptedResponse:
        self.calls.append(call)
        found = (rule(call) for rule in self.rules)
        return next((answer for answer in found if answer), ScriptedResponse(404, {"message": "not found"}))

    def writes(self) -> list[str]:
        """Return the requests other than reads in order, as "POST /path"."""
        return [f"{call.method} {call.path}" for call in self.calls if call.method != "GET"]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    """Connections that may wait: the default of 5 is less than an adapter opens at once."""


@contextmanager
def run_scripted_api_server(folder: Path) -> Iterator[tuple[ScriptedApiServer, Transport]]:
    """Run a server, with a transport to it."""
    server = ScriptedApiServer()

    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = True
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            answer = server.respond(RecordedCall(self.command, urlsplit(self.path).path, body))
            if not answer.status:
                self.close_connection = True
                return
            body = answer.body
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(answer.status)
            for key, value in answer.headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

        def log_message(self, format: str, *args: object) -> None: ...

    http = _Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
    config = folder / "kubeconfig"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: t\n"
        f"clusters: [{{name: t, cluster: {{server: 'http://127.0.0.1:{http.server_address[1]}'}}}}]\n"
        "users: [{name: t, user: {}}]\ncontexts: [{name: t, context: {cluster: t, user: t}}]\n"
    )
    transport = Transport(config, timeout=10)
    try:
        yield server, transport
    finally:
        transport.close()
        http.shutdown()
        http.server_close()
