"""Attackers that hold connections, silent or with first bytes of a request, and open closed ones again."""

import itertools
import resource
import select
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tests.load.slow_caller import OPENING

SILENT: Final = b""
HTTP2: Final = OPENING
"""First bytes of a gRPC client that never calls."""
HALF_REQUEST: Final = b"GET / HTTP/1.1\r\n"
_STEP_SECONDS: Final = 0.02
_AGAIN: Final = 10
"""Connections that are opened again in a step: 500 a second."""


def loopback_hosts(number: int) -> Sequence[str]:
    """So many addresses of this machine: to a server, each is a host of its own."""
    return [f"127.0.0.{last}" for last in range(1, number + 1)]


class Crowd:
    """Connections that a thread holds: it opens each again that the server closes."""

    def __init__(self, address: str, hosts: Sequence[str], size: int, begins_with: bytes) -> None:
        host, _, port = address.rpartition(":")
        self._to, self._begins_with = (host, int(port)), begins_with
        self._missing = list(itertools.islice(itertools.cycle(hosts), size))
        """Sources of connections that are still to open."""
        self._open: dict[int, tuple[socket.socket, str]] = {}
        self._poll = select.poll()
        self._is_over = threading.Event()
        self._has_come = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.opened = 0
        self.closed = 0
        """Connections that the server closed."""

    def start(self) -> None:
        """Start the thread; return when it has tried to open every connection once."""
        self._thread.start()
        assert self._has_come.wait(60)

    def stop(self) -> None:
        """End all connections."""
        self._is_over.set()
        self._thread.join()
        for connection, _ in self._open.values():
            connection.close()

    @property
    def held(self) -> Counter[str]:
        """Numbers of open connections by source."""
        return Counter(source for _, source in list(self._open.values()))

    def _run(self) -> None:
        while not self._is_over.wait(_STEP_SECONDS):
            most = _AGAIN if self._has_come.is_set() else None
            missing = self._missing[:most]
            del self._missing[: len(missing)]
            for source in missing:
                self._connect(source)
            self._has_come.set()
            for number, events in self._poll.poll(0):
                self._read(number, events)

    def _connect(self, source: str) -> None:
        connection = socket.socket()
        try:
            connection.bind((source, 0))
            connection.settimeout(5)
            connection.connect(self._to)
            connection.sendall(self._begins_with)
            connection.setblocking(False)
        except OSError:
            connection.close()
            self._missing.append(source)
            return
        self.opened += 1
        self._open[connection.fileno()] = connection, source
        self._poll.register(connection, select.POLLIN)

    def _read(self, number: int, events: int) -> None:
        connection, source = self._open[number]
        if not events & (select.POLLHUP | select.POLLERR) and _has_more(connection):
            return
        self.closed += 1
        self._poll.unregister(number)
        del self._open[number]
        connection.close()
        self._missing.append(source)


def _has_more(connection: socket.socket) -> bool:
    """Whether a connection that can be read is still open."""
    try:
        return bool(connection.recv(65_536))
    except BlockingIOError:
        return True
    except OSError:
        return False


@contextmanager
def crowd(address: str, hosts: int, size: int, begins_with: bytes = SILENT) -> Iterator[Crowd]:
    """Hold so many connections to HOST:PORT, from so many hosts, for the block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = size + 1_000
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(wanted, hard)), hard))
    made = Crowd(address, loopback_hosts(hosts), size, begins_with)
    made.start()
    try:
        yield made
    finally:
        made.stop()
