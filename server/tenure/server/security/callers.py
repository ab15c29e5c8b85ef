"""Callers: who makes a call, how that was established, and whether it still holds."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import grpc
from tenure.server.shard import Shard

UNNAMED: Final = "(unnamed)"
"""Name of tokens and certificates without one."""
Authentication = Literal["none", "token", "certificate", "jwt"]


class Identity(NamedTuple):
    """Who a caller is.

    `token:NAME`, `certificate:NAME` or `jwt:ISSUER/SUBJECT`. A certificate may have several names.
    """

    authentication: Authentication
    names: tuple[str, ...]
    """Names for rules; the first is the one of logs, records and audit lines."""

    @property
    def name(self) -> str:
        """Name for logs, records and audit lines; empty if callers are not authenticated."""
        return self.names[0] if self.names else ""


class NotAuthenticated(Exception):
    """A call has no valid credentials. The message has the fix, and never a credential."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        """Kind of problem, from a finite set: for metrics."""
        super().__init__(message)


class PermissionDenied(Exception):
    """The policy does not permit a verb on a cluster. It says nothing about the cluster."""

    def __init__(self, message: str, shard: Shard | None) -> None:
        self.shard = shard
        super().__init__(message)


def _always() -> None:
    pass


@dataclass(frozen=True)
class Caller:
    """The caller of one call."""

    identity: Identity
    peer: str = ""
    """Address of the other side of the connection, as gRPC writes it."""
    verify: Callable[[], None] = _always
    """Raises NotAuthenticated as soon as the credentials of the call are no longer valid."""


UNKNOWN: Final = Caller(Identity("none", ()))
"""Caller of a server without authentication."""
CURRENT: Final[ContextVar[Caller]] = ContextVar("caller", default=UNKNOWN)
"""Caller of the current call. gRPC runs every call in a context of its own."""


def caller_key(context: grpc.ServicerContext) -> str:
    """Key of the caller of the current call, by which slots, turns and memory are shared.

    The identity; the host of the peer where callers are not identified, so that more connections are no more
    callers.
    """
    names = CURRENT.get().identity.names
    return names[0] if names and names[0] else host_of(context.peer())


def host_of(peer: str) -> str:
    """Peer without its port, which differs for every connection: `ipv4:10.0.0.1`."""
    return peer.rpartition(":")[0] if peer.startswith(("ipv4:", "ipv6:")) else peer
