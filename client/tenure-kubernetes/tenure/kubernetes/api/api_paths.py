"""The lines of an answer that goes on for long, as they come.

What a path of an API server is about, as people write it: `pods`, `pods/binding`, `podgroups/status`.
"""

import socket
from collections.abc import Iterator
from typing import Final

import httpx2

OTHERS: Final = "others"
DISCOVERY: Final = "discovery"
_KNOWN: Final = frozenset(
    (
        *("nodes", "pods", "priorityclasses", "queues", "podgroups", "topologies"),
        *("configmaps", "leases", "events"),
    )
)
"""Those that have a name in numbers and spans. What owns pods may be anything that somebody defined."""
_OF_CORE, _OF_GROUP = 2, 3
"""Parts of a path before the resource: `api/v1` and `apis/GROUP/VERSION`."""


def resource_of(path: str) -> str:
    """The resource and subresource of a path; one word for all that are not the adapter's own business."""
    parts = path.strip("/").split("/")
    parts = parts[_OF_CORE if parts[0] == "api" else _OF_GROUP :]
    if parts[:1] == ["namespaces"]:
        parts = parts[2:]
    if not parts:
        return DISCOVERY
    if parts[0] not in _KNOWN:
        return OTHERS
    return "/".join((parts[0], *parts[2:3]))


def collection_of(path: str) -> str:
    """The name of a collection, with its group where it has one: `nodes`, `queues.scheduling.run.ai`."""
    parts = path.strip("/").split("/")
    return parts[-1] if parts[0] == "api" else f"{parts[-1]}.{parts[1]}"


class LineStream:
    """Whole lines; what is left when the answer breaks off is no line. One thread reads, any may `cut`."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._lines = _split(response.iter_bytes())

    def __iter__(self) -> Iterator[bytes]:
        return self._lines

    def close(self) -> None:
        """Break the connection, so that whoever waits for a line waits no longer.

        Not to be called once the answer has ended: its connection may be in use for another call by then.
        """
        connection: socket.socket = self._response.extensions["network_stream"].get_extra_info("socket")
        try:
            socket.socket.shutdown(connection, socket.SHUT_RDWR)  # with TLS as well: no farewell, no waiting
        except OSError:
            return


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from filter(None, lines)
