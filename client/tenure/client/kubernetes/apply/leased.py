"""Writes that are sent only while the lease is ours, asked right before each.

Whoever reads before it writes may be stopped in between, for as long as another adapter needs to take over.
"""

from collections.abc import Callable
from typing import Any

from tenure.client.kubernetes.transport import Query, Transport, while_leading


class Leased:
    """A transport for whoever leads. Raises ApiFailure as that does, and LeaseLost: nothing was sent."""

    def __init__(self, transport: Transport, may_act: Callable[[], bool]) -> None:
        self._transport, self._may_act = transport, may_act

    def get(self, path: str) -> bytes:
        """An object. Raises ApiFailure alone."""
        return self._transport.get(path)

    def post(self, path: str, body: Any) -> bytes:
        """Create something."""
        with while_leading(self._may_act):
            return self._transport.post(path, body)

    def patch(self, path: str, body: Any, media_type: str, query: Query | None = None) -> bytes:
        """Change an object."""
        with while_leading(self._may_act):
            return self._transport.patch(path, body, media_type, query)
