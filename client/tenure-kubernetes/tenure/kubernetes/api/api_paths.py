"""Line streams of watches, and names of API paths: `pods`, `pods/binding`, `podgroups/status`."""

import socket
from collections.abc import Iterator
from typing import Final

import httpx2

OTHERS: Final = "others"
DISCOVERY: Final = "discovery"
_KNOWN: Final = frozenset(
    (
        *("nodes", "pods", "priorityclasses", "queues", "podgroups", "topologies"),
        *("persistentvolumeclaims", "persistentvolumes", "resourceclaims"),
        *("configmaps", "leases", "events"),
    )
)
"""Resources that have a name in metrics and spans. Owners of pods can be of any kind."""
_OF_CORE, _OF_GROUP = 2, 3
"""Number of path segments before the resource: `api/v1` and `apis/GROUP/VERSION`."""


def resource_of(path: str) -> str:
    """Resource and subresource of a path; `others` for resources that the adapter does not manage."""
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
    """Name of a collection, with its API group if there is one: `nodes`, `queues.scheduling.run.ai`."""
    parts = path.strip("/").split("/")
    return parts[-1] if parts[0] == "api" else f"{parts[-1]}.{parts[1]}"


class LineStream:
    """Complete lines of a response; an incomplete last line is dropped. One thread reads, any may `cut`."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._lines = _split(response.iter_bytes())

    def __iter__(self) -> Iterator[bytes]:
        return self._lines

    def close(self) -> None:
        """Break the connection, so that reading ends.

        Do not call it after the response ended: the connection may serve another call by then.
        """
        connection: socket.socket = self._response.extensions["network_stream"].get_extra_info("socket")
        try:
            socket.socket.shutdown(
                connection, socket.SHUT_RDWR
            )  # with TLS, too: no closing handshake, no waiting
        except OSError:
            return


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from filter(None, lines)
