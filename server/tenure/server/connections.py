"""Limits on the connections of gRPC ports, by the rule of all ports.

gRPC itself only has a limit for all connections, beyond which it closes the newest: then a host that holds
them locks out all others. It has no limit for a host, and Python cannot accept connections in its place. But
its sockets belong to this process. So a thread looks for new ones ten times a second, and shuts down those
that are too many; for gRPC that is a peer that disconnects. No byte passes through Python.

A connection that made a call of the service, with valid credentials if there are any, is in use from then on.
Health checks need no credentials: a connection with nothing else is neither in use nor idle.
Local sockets (`unix:`) are not limited here: their file has permissions.
"""

import logging
import os
import socket
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import unquote

import grpc
from grpc_health.v1 import health
from tenure.process.open_connections import (
    NEW_SECONDS,
    OpenConnections,
    PortLimits,
    host_key,
    plain_address,
)
from tenure.server.sweeper import Sweeper

SWEEP_SECONDS: Final = 0.1
"""Time between two looks at the sockets."""
_DESCRIPTORS: Final = (Path("/proc/self/fd"), Path("/dev/fd"))
"""Folders that list the open files of this process: of Linux, and of other systems."""
_LOG: Final = logging.getLogger(__name__)
_HEALTH: Final = f"/{health.SERVICE_NAME}/"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class Peer(NamedTuple):
    """The other side of a connection: its IP address and port."""

    address: str
    port: int

    @classmethod
    def of(cls, text: str) -> "Peer | None":
        """Peer as gRPC writes it: `ipv4:10.0.0.7:40312`, `ipv6:%5B::1%5D:40312`. None: no IP address."""
        kind, _, address = unquote(text).partition(":")
        host, _, port = address.rpartition(":")
        is_ip = kind in ("ipv4", "ipv6") and port.isdecimal()
        return cls(plain_address(host.strip("[]")), int(port)) if is_ip else None


@dataclass(eq=False)
class _Socket:
    """A connection that gRPC accepted."""

    descriptor: int
    inode: int
    peer: Peer
    port: "_Port"


class _Port(OpenConnections[_Socket]):
    """Connections of one port."""

    def __init__(self, limits: PortLimits, *, serves_callers: bool) -> None:
        super().__init__(limits)
        self.serves_callers = serves_callers


class GrpcConnections(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Limits the connections of the ports of gRPC servers, from `start` to `stop`.

    As an interceptor it notes which connections are those of callers. It comes after the interceptor that
    checks credentials, and before the one that makes every request a stream.
    """

    def __init__(self, service: str = "") -> None:
        self._methods = f"/{service}/"
        self._ports: dict[int, _Port] = {}
        self._sockets: dict[int, _Socket] = {}
        """Sockets of the ports, by inode."""
        self._unrelated: set[int] = set()
        """Inodes of other sockets of the process."""
        self._by_peer: dict[Peer, _Socket] = {}
        """Sockets of the port for callers."""
        self._new: deque[tuple[float, _Socket]] = deque()
        """Sockets that the last sweeps found, the oldest first, until they are no longer new."""
        self._calling: dict[Peer, None] = {}
        """Peers that called the service since the last sweep."""
        self._checking: dict[Peer, None] = {}
        """Peers that checked health since the last sweep."""
        self._sweeper = Sweeper(self._sweep)

    def add_port(self, address: str, limits: PortLimits, *, serves_callers: bool = False) -> None:
        """Limit the connections of HOST:PORT; a local socket has no limits."""
        if not address.startswith("unix:"):
            port = int(address.rpartition(":")[2])
            self._ports[port] = _Port(limits, serves_callers=serves_callers)

    def start(self) -> None:
        """Start the thread. Where the system lists no open files, say that there are no limits."""
        if self._ports and _descriptors() is None:
            _LOG.warning(
                "gRPC connections are not limited: neither %s nor %s can be read. Mount /proc.",
                *_DESCRIPTORS,
            )
        self._sweeper.start()

    def stop(self) -> None:
        """Stop the thread."""
        self._sweeper.stop()

    def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], Handler | None]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        """Return the handler; one of the service or of health first notes the connection of its call."""
        handler = continuation(handler_call_details)
        is_check = handler_call_details.method.startswith(_HEALTH)
        if handler is None or not (is_check or handler_call_details.method.startswith(self._methods)):
            return handler
        behavior: Any = handler.stream_stream or handler.stream_unary
        assert behavior is not None, "handlers that wait for a message come after this one"

        @wraps(behavior)  # health watches have attributes by which gRPC gives them no thread
        def call(requests: Iterator[Any], context: grpc.ServicerContext, *send: Any) -> Any:
            if (peer := Peer.of(context.peer())) is not None:
                (self._checking if is_check else self._calling)[peer] = None
            return behavior(requests, context, *send)

        is_stream = handler.response_streaming
        make = grpc.stream_stream_rpc_method_handler if is_stream else grpc.stream_unary_rpc_method_handler
        return make(call, handler.request_deserializer, handler.response_serializer)

    def _sweep(self) -> float:
        """Count the connections that are new, and shut down those that are too many."""
        calling, self._calling = self._calling, {}
        checking, self._checking = self._checking, {}
        found = _open_sockets()
        for ended in self._sockets.keys() - found.keys():
            self._forget(self._sockets.pop(ended))
        self._unrelated &= found.keys()
        now = time.monotonic()
        for connection in self._look_at(found):
            self._close(connection.port.open(connection, host_key(connection.peer.address)))
            self._new.append((now, connection))
        for peer in calling:
            if (known := self._by_peer.get(peer)) is not None:
                self._close(known.port.use(known))
        for peer in checking:
            if (known := self._by_peer.get(peer)) is not None:
                self._close(known.port.check(known))
        while self._new and now - self._new[0][0] >= NEW_SECONDS:
            _, settled = self._new.popleft()
            self._close(settled.port.settle(settled))
        return SWEEP_SECONDS

    def _look_at(self, found: Mapping[int, int]) -> Iterator[_Socket]:
        """Connections among the sockets that are not known yet, the oldest first."""
        for inode in sorted(found.keys() - self._sockets.keys() - self._unrelated):
            with suppress(OSError):  # closed meanwhile, or it listens
                connection = self._connection(found[inode], inode)
                if connection is None:
                    self._unrelated.add(inode)
                    continue
                self._sockets[inode] = connection
                if connection.port.serves_callers:
                    self._by_peer[connection.peer] = connection
                yield connection

    def _connection(self, descriptor: int, inode: int) -> _Socket | None:
        """The connection of a descriptor; None if it is not one of a port. Raises OSError if it is none."""
        with _duplicate(descriptor, inode) as found:
            is_tcp = found.family in (socket.AF_INET, socket.AF_INET6) and found.type == socket.SOCK_STREAM
            port = self._ports.get(found.getsockname()[1]) if is_tcp else None
            if port is None:
                return None
            address, number = found.getpeername()[:2]
            return _Socket(descriptor, inode, Peer(plain_address(address), number), port)

    def _forget(self, connection: _Socket) -> None:
        connection.port.close(connection)
        if self._by_peer.get(connection.peer) is connection:
            del self._by_peer[connection.peer]

    def _close(self, connection: _Socket | None) -> None:
        """Disconnect; gRPC finds that the peer is gone, and closes the socket."""
        if connection is not None:
            with suppress(OSError), _duplicate(connection.descriptor, connection.inode) as found:
                found.shutdown(socket.SHUT_RDWR)


def _open_sockets() -> dict[int, int]:
    """Descriptors of the sockets of this process by inode."""
    found = {}
    for descriptor in _descriptors() or ():
        with suppress(OSError):  # closed meanwhile
            status = os.fstat(descriptor)
            if stat.S_ISSOCK(status.st_mode):
                found[status.st_ino] = descriptor
    return found


def _descriptors() -> list[int] | None:
    """Descriptors of the open files; None: the system does not list them, as in a chroot without /proc."""
    for folder in _DESCRIPTORS:
        with suppress(OSError):
            return [int(name) for name in os.listdir(folder)]
    return None


def _duplicate(descriptor: int, inode: int) -> socket.socket:
    """A socket by another descriptor, which gRPC cannot close. Raises OSError if it is gone."""
    number = os.dup(descriptor)
    try:
        if os.fstat(number).st_ino != inode:
            raise OSError("the descriptor belongs to another file by now")
        return socket.socket(fileno=number)
    except OSError:
        os.close(number)
        raise
