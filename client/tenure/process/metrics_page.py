"""The page `/metrics`, served with limits on connections, sizes and times.

One thread serves all connections, so a slow peer costs a socket and never a thread. A request must be
complete in time, and a second thread renders the pages, one after the other. Connections have the limits of
`open_connections`. Requests by a name that is not that of the page are rejected: a page of another site could
let a browser resolve its own name to this address, and read the metrics (DNS rebinding).
"""

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Collection, Coroutine
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException, parse_headers
from io import BytesIO, StringIO
from ipaddress import ip_address
from typing import Any, Final, TypeVar
from urllib.parse import unquote
from wsgiref.handlers import SimpleHandler

from tenure.process.open_connections import (
    NEW_SECONDS,
    ConnectionLimits,
    OpenConnections,
    PortLimits,
    host_key,
)

LIMITS: Final = PortLimits(idle=ConnectionLimits(32, 8), in_use=ConnectionLimits(32, 8))
"""Connections without a request, and with one; a few collectors read the page."""
MAX_REQUEST_BYTES: Final = 8_192
"""Maximum size of a request with its headers."""
REQUEST_SECONDS: Final = 5.0
"""Time for a request to arrive, however many bytes arrive meanwhile."""
RESPONSE_SECONDS: Final = 10.0
"""Time for a peer to receive the page."""
_BACKLOG: Final = 1_024
_STEP_SECONDS: Final = 10.0
_END_OF_REQUEST: Final = b"\r\n\r\n"
_BAD_REQUEST: Final = b"HTTP/1.0 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
_WRONG_HOST: Final = (
    b"HTTP/1.0 421 Misdirected Request\r\nContent-Type: text/plain\r\n\r\n"
    b"unknown host name; telemetry.metricsHosts has those of the metrics page\n"
)
_LOG: Final = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class MetricsPage:
    """Serves a WSGI application at HOST:PORT, until it is stopped. Requests have no body.

    `names` are host names by which it may be requested, besides IP addresses and localhost. Raises OSError if
    the address cannot be bound.
    """

    def __init__(
        self, application: Callable[..., Any], host: str, port: int, names: Collection[str] = ()
    ) -> None:
        self._application = application
        self._names = {"localhost", *(name.lower() for name in names)}
        self._renderer = ThreadPoolExecutor(1, "metrics-page")
        self._open: OpenConnections[asyncio.Task[None]] = OpenConnections(LIMITS)
        self._tasks: set[asyncio.Task[None]] = set()
        listener = _listen(host, port)
        self.port: int = listener.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="metrics-page", daemon=True)
        self._thread.start()
        self._server = self._run(
            asyncio.start_server(self._serve, sock=listener, limit=MAX_REQUEST_BYTES, backlog=_BACKLOG)
        )

    def stop(self) -> None:
        """Close all connections and end the threads."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._renderer.shutdown(wait=False)

    def _run(self, steps: Coroutine[Any, Any, _Result]) -> _Result:
        return asyncio.run_coroutine_threadsafe(steps, self._loop).result(_STEP_SECONDS)

    async def _close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task, peer = asyncio.current_task(), writer.get_extra_info("peername")
        if task is None or not peer:
            writer.transport.abort()  # it has gone already
            return
        _cancel(self._open.open(task, host_key(peer[0])))
        self._loop.call_later(NEW_SECONDS, lambda: _cancel(self._open.settle(task)))
        self._tasks.add(task)
        try:
            await self._respond(task, reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):  # TimeoutError is an OSError
            writer.transport.abort()
        finally:
            self._open.close(task)
            self._tasks.discard(task)

    async def _respond(
        self, task: asyncio.Task[None], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        async with asyncio.timeout(REQUEST_SECONDS):
            try:
                request = await reader.readuntil(_END_OF_REQUEST)
            except asyncio.LimitOverrunError:
                request = b""
        _cancel(self._open.use(task))
        page = await self._loop.run_in_executor(self._renderer, self._render, request)
        async with asyncio.timeout(RESPONSE_SECONDS):
            writer.write(page)
            writer.close()
            await writer.wait_closed()

    def _render(self, request: bytes) -> bytes:
        """Complete response to a request."""
        lines = BytesIO(request)
        try:
            method, target, protocol = lines.readline().decode("latin-1").split()
            headers = parse_headers(lines)
            [host] = headers.get_all("Host", [""])
        except (ValueError, HTTPException):
            return _BAD_REQUEST
        if not self._is_own(host):
            return _WRONG_HOST
        path, _, query = target.partition("?")
        environment = {
            "REQUEST_METHOD": method,
            "PATH_INFO": unquote(path, "latin-1"),
            "QUERY_STRING": query,
            "SERVER_PROTOCOL": protocol,
            "HTTP_ACCEPT": headers.get("Accept", ""),
            "HTTP_ACCEPT_ENCODING": headers.get("Accept-Encoding", ""),
        }
        response, errors = BytesIO(), StringIO()
        SimpleHandler(BytesIO(), response, errors, environment, multithread=False).run(self._application)
        if errors.getvalue():
            _LOG.error("Cannot render a page: %s", errors.getvalue().strip().splitlines()[-1])
        return response.getvalue()

    def _is_own(self, host: str) -> bool:
        """Whether a header `Host` names this page. Browsers always send one."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        try:
            return not host or bool(ip_address(name.strip("[]")))
        except ValueError:
            return name.lower() in self._names


def _cancel(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()


def _listen(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    return socket.create_server(address[:2], family=family)
