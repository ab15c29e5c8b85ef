"""The lines of an answer that goes on for long, as they come."""

import socket
from collections.abc import Iterator

import httpx2


class Lines:
    """Whole lines; what is left when the answer breaks off is no line. One thread reads, any may `cut`."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._lines = _split(response.iter_bytes())

    def __iter__(self) -> Iterator[bytes]:
        return self._lines

    def cut(self) -> None:
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
