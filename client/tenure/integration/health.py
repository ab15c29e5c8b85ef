"""HTTP probes for a kubelet: `/healthz` and `/readyz`.

An adapter that waits for leadership is ready: otherwise it would block a rolling update.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from tenure.process.metrics_page import MetricsPage


class Health(NamedTuple):
    """Health of an adapter. Texts name the problem; "": none."""

    stuck: str = ""
    """Why only a restart helps."""
    waiting_for: str = ""
    """What must be fixed before the adapter can continue."""


class HealthServer:
    """Serves probes, with the limits of the metrics page. Raises OSError for an invalid address."""

    def __init__(self, address: str, health: Callable[[], Health]) -> None:
        host, _, port = address.rpartition(":")
        self._health = health
        self._page = MetricsPage(self._answer, host.strip("[]"), int(port))
        self.address = f"{host}:{self._page.port}"
        """Address of the probes, with the actual port."""

    def close(self) -> None:
        """Stop serving."""
        self._page.stop()

    def _answer(self, environ: Mapping[str, str], start_response: Callable[..., Any]) -> list[bytes]:
        now = self._health()
        problems = {"/healthz": now.stuck, "/readyz": now.stuck or now.waiting_for}
        problem = problems.get(environ["PATH_INFO"])
        status = HTTPStatus.SERVICE_UNAVAILABLE if problem else HTTPStatus.OK
        if problem is None or environ["REQUEST_METHOD"] != "GET":
            status, problem = HTTPStatus.NOT_FOUND, "there is no such page"
        body = (problem or "ok").encode() + b"\n"
        headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
        start_response(f"{status.value} {status.phrase}", headers)
        return [body]
