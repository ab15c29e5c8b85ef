"""A caller that sends a call byte by byte. It writes HTTP/2 frames itself: gRPC clients are too fast."""

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY = 0, 1, 3, 4, 6, 7
_ACK: Final = 1
_END_HEADERS: Final = 4
_STREAM: Final = 1
CLAIMED: Final = 1_000
"""Declared size in bytes of a message that is never complete."""


def begin_connection(address: str) -> socket.socket:
    """Open a connection and send the HTTP/2 preface and settings."""
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)))
    connection.sendall(OPENING)
    return connection


@contextmanager
def begin_call(
    address: str, method: str, claimed: int = CLAIMED, settings: bytes = b""
) -> Iterator[socket.socket]:
    """Open a connection with one call, whose message contains only its length prefix: `claimed` bytes."""
    with begin_connection(address) as connection:
        connection.sendall(_frame(_SETTINGS, 0, 0, settings))
        fields = {":method": "POST", ":scheme": "http", ":path": method, ":authority": "here"}
        fields |= {"te": "trailers", "content-type": "application/grpc"}
        headers = b"".join(_literal(*field) for field in fields.items())
        connection.sendall(_frame(_HEADERS, _END_HEADERS, _STREAM, headers))
        connection.sendall(_frame(_DATA, 0, _STREAM, struct.pack(">BI", 0, claimed)))
        yield connection


def seconds_until_disconnect(connection: socket.socket, pause: float, most: float) -> float:
    """Send a byte after every pause until the server ends the call. Return the seconds, at most `most`."""
    began, seen = time.monotonic(), b""
    connection.settimeout(pause)
    while time.monotonic() - began < most:
        connection.sendall(_frame(_DATA, 0, _STREAM, b"x"))
        try:
            seen += connection.recv(65_536)
        except TimeoutError:
            continue
        seen, ended = _read(connection, seen)
        if ended:
            return time.monotonic() - began
    return most


def _read(connection: socket.socket, seen: bytes) -> tuple[bytes, bool]:
    """Remove complete frames. Return the remaining bytes, and whether a frame ended the call."""
    ended = False
    while len(seen) >= 9 and len(seen) >= 9 + int.from_bytes(seen[:3]):
        kind, flags, size = seen[3], seen[4], int.from_bytes(seen[:3])
        ended |= kind in (_HEADERS, _RST_STREAM, _GOAWAY)
        if kind == _PING and not flags & _ACK:
            connection.sendall(_frame(_PING, _ACK, 0, seen[9 : 9 + size]))
        seen = seen[9 + size :]
    return seen, ended


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return len(content).to_bytes(3) + struct.pack(">BBI", kind, flags, stream) + content


def _literal(name: str, value: str) -> bytes:
    """Encode a header without indexing and compression. Texts are shorter than 127 bytes."""
    return b"\x00" + b"".join(bytes([len(text)]) + text.encode() for text in (name, value))


OPENING: Final = _PREFACE + _frame(_SETTINGS, 0, 0, b"")
"""First bytes of a connection."""
PING: Final = _frame(_PING, 0, 0, b"anything")
"""A ping that requires a response."""
