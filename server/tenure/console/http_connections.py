"""Connections of browsers, with the limits of all ports.

A connection that waits for its next request is closed in seconds, however many bytes of it arrive. One that
gets a response is in use.
"""

import asyncio
from typing import Any, Final

from tenure.process.open_connections import (
    NEW_SECONDS,
    ConnectionLimits,
    OpenConnections,
    PortLimits,
    host_key,
)
from uvicorn.protocols.http.h11_impl import H11Protocol

LIMITS: Final = PortLimits(idle=ConnectionLimits(256, 64), in_use=ConnectionLimits(500, 300))
"""Connections without a request, and with one, event streams included. A browser has six at most; a proxy is
one host.
"""
REQUEST_SECONDS: Final = 5.0
"""Time for a request to arrive."""


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 on one connection."""

    def __init__(self, connections: "OpenConnections[LimitedProtocol]", **options: Any) -> None:
        super().__init__(**options)
        self._connections = connections
        self._is_in_use = False
        self._timeouts: list[asyncio.TimerHandle] = []

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Count the connection as new."""
        super().connection_made(transport)
        _abort(self._connections.open(self, host_key(self.client[0]) if self.client else ""))
        self._timeouts = [
            self.loop.call_later(NEW_SECONDS, lambda: _abort(self._connections.settle(self))),
            self.loop.call_later(REQUEST_SECONDS, transport.abort),
        ]

    def connection_lost(self, exc: Exception | None) -> None:
        """Count the connection no more."""
        self._stop_timeouts()
        self._connections.close(self)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Begin the requests that have arrived."""
        super().handle_events()
        self._update()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._update()

    def _update(self) -> None:
        """Count the connection as in use or idle, as it is now."""
        is_in_use = self.cycle is not None and not self.cycle.response_complete
        if is_in_use == self._is_in_use or self.transport.is_closing():
            return
        self._is_in_use = is_in_use
        self._stop_timeouts()
        _abort(self._connections.use(self) if is_in_use else self._connections.rest(self))
        if not is_in_use:
            self._timeouts = [self.loop.call_later(REQUEST_SECONDS, self.transport.abort)]

    def _stop_timeouts(self) -> None:
        for timeout in self._timeouts:
            timeout.cancel()
        self._timeouts = []


def _abort(connection: LimitedProtocol | None) -> None:
    if connection is not None:
        connection.transport.abort()
