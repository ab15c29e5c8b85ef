"""HTTP probes for a kubelet: `/healthz` and `/readyz`.

An adapter that waits for leadership is ready: otherwise it would block a rolling update.
"""

import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

_SLOWEST_SECONDS = 5.0


class Health(NamedTuple):
    """Health of an adapter. Texts name the problem; "": none."""

    stuck: str = ""
    """Why only a restart helps."""
    waiting_for: str = ""
    """What must be fixed before the adapter can continue."""


class HealthServer:
    """Serves probes from its own threads, from creation on. Raises OSError for an invalid address."""

    def __init__(self, address: str, health: Callable[[], Health]) -> None:
        host, _, port = address.rpartition(":")
        handler = type("Handler", (_Handler,), {"health": staticmethod(health)})
        self._server = ThreadingHTTPServer((host.strip("[]"), int(port)), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="tenure-probes", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Address of the probes, with the actual port."""
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    health: Callable[[], Health]
    timeout = _SLOWEST_SECONDS

    def do_GET(self) -> None:
        now = self.health()
        match self.path.partition("?")[0]:
            case "/healthz":
                self._answer(now.stuck)
            case "/readyz":
                self._answer(now.stuck or now.waiting_for)
            case _:
                self.send_error(HTTPStatus.NOT_FOUND)

    def _answer(self, problem: str) -> None:
        body = (problem or "ok").encode() + b"\n"
        self.send_response(HTTPStatus.SERVICE_UNAVAILABLE if problem else HTTPStatus.OK)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Do not log probes: they arrive every few seconds."""
