"""Calls whose large message stops before its last byte. They write HTTP/2 frames as the windows permit."""

import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from select import select
from typing import Final

from tests.load.slow_caller import begin_call

FRAME_BYTES: Final = 16_384
_DATA, _SETTINGS, _WINDOW_UPDATE, _RST_STREAM, _GOAWAY = 0, 4, 8, 3, 7
_ACK: Final = 1
_INITIAL_WINDOW: Final = 4
_WINDOW_BYTES: Final = 65_535
"""Windows of a connection and a stream before the peer changes them."""
_PREFIX_BYTES: Final = 5
"""Length of a message, which is sent when the call begins."""
_STREAM: Final = 1


class StalledMessage:
    """One call on its own connection."""

    def __init__(self, connection: socket.socket, size: int) -> None:
        self._connection = connection
        self._left = size
        self._windows = dict.fromkeys((0, _STREAM), _WINDOW_BYTES - _PREFIX_BYTES)
        self._initial = _WINDOW_BYTES
        self._received = b""
        self.is_over = False
        """Whether the server ended the call."""

    def fileno(self) -> int:
        """Descriptor of the socket."""
        return self._connection.fileno()

    def read(self) -> None:
        """Read frames of the server, which is known to have sent some."""
        try:
            more = self._connection.recv(65_536)
        except OSError:
            more = b""
        self.is_over |= not more
        self._received += more
        while len(self._received) >= 9:
            size = int.from_bytes(self._received[:3])
            if len(self._received) < 9 + size:
                break
            self._take(
                self._received[3], self._received[4], self._received[5:9], self._received[9 : 9 + size]
            )
            self._received = self._received[9 + size :]

    def _take(self, kind: int, flags: int, stream: bytes, content: bytes) -> None:
        if kind == _WINDOW_UPDATE:
            number = int.from_bytes(stream) & 0x7FFFFFFF
            self._windows[number] = self._windows.get(number, 0) + int.from_bytes(content)
        elif kind == _SETTINGS and not flags & _ACK:
            for at in range(0, len(content), 6):
                name, value = struct.unpack(">HI", content[at : at + 6])
                if name == _INITIAL_WINDOW:
                    self._windows[_STREAM] += value - self._initial
                    self._initial = value
            self._connection.sendall(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind in (_RST_STREAM, _GOAWAY):
            self.is_over = True

    def write(self) -> None:
        """Send one frame, if the windows permit it and the message is not near its end."""
        size = min(FRAME_BYTES, self._left, *self._windows.values())
        if size <= 0 or self.is_over:
            return
        try:
            self._connection.sendall(_frame(_DATA, 0, _STREAM, bytes(size)))
        except OSError:
            self.is_over = True
            return
        self._left -= size
        for number in self._windows:
            self._windows[number] -= size

    @property
    def can_write(self) -> bool:
        """Whether the windows permit a frame."""
        return not self.is_over and min(self._left, *self._windows.values()) > 0


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return len(content).to_bytes(3) + struct.pack(">BBI", kind, flags, stream) + content


@contextmanager
def stalled_messages(address: str, method: str, count: int, size: int) -> Iterator[Sequence[StalledMessage]]:
    """Begin this many calls with messages of this size. `send` sends them but for the last megabyte."""
    with ExitStack() as connections:
        begun = (connections.enter_context(begin_call(address, method, size)) for _ in range(count))
        yield [StalledMessage(connection, size - 2**20) for connection in begun]


def send(messages: Sequence[StalledMessage], seconds: float, idle_seconds: float = 2.0) -> None:
    """Send for some seconds, or until the server reads no more of any message for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        writing = [message for message in messages if message.can_write]
        reading = [message for message in messages if not message.is_over]
        readable, writable, _ = select(reading, writing, [], idle_seconds)
        if not (readable or writable):
            return
        for message in readable:
            message.read()
        for message in writable:
            message.write()
