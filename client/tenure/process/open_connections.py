"""The one rule of all ports: how many connections are open, and which is closed for another one.

Anyone who reaches a port can open connections without credentials. So each host has a limit, all hosts
together have one, and a new connection is never rejected: the oldest of its host is closed, or the oldest of
the host with the most. A connection is new for a moment, in which a probe is answered; then it is idle, in
use, or one with health checks. Each of the four has limits of its own: idle connections close no others.
"""

from collections import defaultdict
from collections.abc import Hashable
from ipaddress import IPv6Address, ip_address
from typing import Final, Generic, NamedTuple, TypeVar

NEW_SECONDS: Final = 0.25
"""Time for which a connection is new."""
Connection = TypeVar("Connection", bound=Hashable)


class ConnectionLimits(NamedTuple):
    """Maximum numbers of open connections."""

    most: int
    most_of_a_host: int


class PortLimits(NamedTuple):
    """Limits of a port."""

    idle: ConnectionLimits
    in_use: ConnectionLimits
    new: ConnectionLimits = ConnectionLimits(2_000, 2_000)
    checked: ConnectionLimits = ConnectionLimits(0, 0)
    """Connections with health checks and no other calls, if the port tells them from idle ones."""


class ConnectionCount(Generic[Connection]):
    """Connections by host, within limits. Not thread-safe."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._hosts: defaultdict[str, dict[Connection, None]] = defaultdict(dict)
        """Connections of each host that has any, the oldest first."""
        self._host_of: dict[Connection, str] = {}

    def add(self, connection: Connection, host: str) -> Connection | None:
        """Add a connection as the newest; return the one to close, which is removed. None: there is none."""
        self._hosts[host][connection] = None
        self._host_of[connection] = host
        if len(self._hosts[host]) > self._limits.most_of_a_host:
            crowded = host
        elif len(self._host_of) > self._limits.most:
            crowded = max(self._hosts, key=lambda each: len(self._hosts[each]))
        else:
            return None
        oldest = next(iter(self._hosts[crowded]))
        self.remove(oldest)
        return oldest

    def remove(self, connection: Connection) -> str | None:
        """Remove a connection; return its host. None: it was not there."""
        host = self._host_of.pop(connection, None)
        if host is not None:
            del self._hosts[host][connection]
            if not self._hosts[host]:
                del self._hosts[host]
        return host

    def __len__(self) -> int:
        """Number of connections."""
        return len(self._host_of)


class OpenConnections(Generic[Connection]):
    """Open connections of a port. Methods that add one return the one to close, if any. Not thread-safe."""

    def __init__(self, limits: PortLimits) -> None:
        self._new: ConnectionCount[Connection] = ConnectionCount(limits.new)
        self._idle: ConnectionCount[Connection] = ConnectionCount(limits.idle)
        self._in_use: ConnectionCount[Connection] = ConnectionCount(limits.in_use)
        self._checked: ConnectionCount[Connection] = ConnectionCount(limits.checked)

    def open(self, connection: Connection, host: str) -> Connection | None:
        """Add a new connection."""
        return self._new.add(connection, host)

    def settle(self, connection: Connection) -> Connection | None:
        """Count a connection as idle if it is still new."""
        host = self._new.remove(connection)
        return None if host is None else self._idle.add(connection, host)

    def use(self, connection: Connection) -> Connection | None:
        """Count a connection as one in use."""
        host = self._unused(connection) or self._checked.remove(connection)
        return None if host is None else self._in_use.add(connection, host)

    def check(self, connection: Connection) -> Connection | None:
        """Count a connection that is new or idle as one with health checks."""
        host = self._unused(connection)
        return None if host is None else self._checked.add(connection, host)

    def rest(self, connection: Connection) -> Connection | None:
        """Count a connection as idle that was in use."""
        host = self._in_use.remove(connection)
        return None if host is None else self._idle.add(connection, host)

    def close(self, connection: Connection) -> None:
        """Remove a connection that has ended."""
        for counted in (self._new, self._idle, self._in_use, self._checked):
            counted.remove(connection)

    def __len__(self) -> int:
        """Number of open connections."""
        return len(self._new) + len(self._idle) + len(self._in_use) + len(self._checked)

    def _unused(self, connection: Connection) -> str | None:
        """Remove a connection that is new or idle; return its host."""
        return self._new.remove(connection) or self._idle.remove(connection)


def plain_address(address: str) -> str:
    """An IP address as it is compared: without a zone, and IPv4 as such also within IPv6."""
    parsed = ip_address(address.partition("%")[0])
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def host_key(address: str) -> str:
    """The host of an IP address, as limits count hosts: of IPv6 the network of 64 bits, which is one host."""
    parsed = ip_address(plain_address(address))
    if isinstance(parsed, IPv6Address):
        return f"{IPv6Address(int(parsed) >> 64 << 64)}/64"
    return str(parsed)
