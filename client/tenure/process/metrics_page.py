"""The page `/metrics`, served with limits on connections, sizes and times.

One thread serves all connections, so a slow peer costs a socket and never a thread. A request must be
complete in time, and a second thread renders the pages, one after the other. At the limit of connections, the
oldest is closed: a page takes moments, so it is rarely one that a collector waits for.
"""

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException, parse_headers
from io import BytesIO, StringIO
from typing import Any, Final, TypeVar
from urllib.parse import unquote
from wsgiref.handlers import SimpleHandler

MAX_CONNECTIONS: Final = 32
"""Maximum number of open connections; a few collectors read the page."""
MAX_REQUEST_BYTES: Final = 8_192
"""Maximum size of a request with its headers."""
REQUEST_SECONDS: Final = 5.0
"""Time for a request to arrive, however many bytes arrive meanwhile."""
RESPONSE_SECONDS: Final = 10.0
"""Time for a peer to receive the page."""
_STEP_SECONDS: Final = 10.0
_END_OF_REQUEST: Final = b"\r\n\r\n"
_BAD_REQUEST: Final = b"HTTP/1.0 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
_LOG: Final = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class MetricsPage:
    """Serves a WSGI application at HOST:PORT, until it is stopped. Requests have no body.

    Raises OSError if the address cannot be bound.
    """

    def __init__(self, application: Callable[..., Any], host: str, port: int) -> None:
        self._application = application
        self._renderer = ThreadPoolExecutor(1, "metrics-page")
        self._open: dict[asyncio.Task[None] | None, None] = {}
        """Tasks of the open connections, the oldest first."""
        listener = _listen(host, port)
        self.port: int = listener.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="metrics-page", daemon=True)
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._serve, sock=listener, limit=MAX_REQUEST_BYTES))

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
        tasks = [task for task in self._open if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if len(self._open) >= MAX_CONNECTIONS and (oldest := next(iter(self._open))) is not None:
            del self._open[oldest]
            oldest.cancel()
        self._open[task] = None
        try:
            await self._respond(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):  # TimeoutError is an OSError
            writer.transport.abort()
        finally:
            self._open.pop(task, None)

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(REQUEST_SECONDS):
            try:
                request = await reader.readuntil(_END_OF_REQUEST)
            except asyncio.LimitOverrunError:
                request = b""
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
        except (ValueError, HTTPException):
            return _BAD_REQUEST
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
            _LOG.error("Cannot render the metrics page: %s", errors.getvalue().strip().splitlines()[-1])
        return response.getvalue()


def _listen(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    return socket.create_server(address[:2], family=family)
