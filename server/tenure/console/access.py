"""Who reads the console, and what the service lets them read.

Without forwarding, every reader has the permissions of the console's own credentials. With it, each request
carries the token of its reader, which a proxy adds, and the service decides by its own policy what the reader
may read, simulate and explain. The console grants nothing itself.
"""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Final

from tenure.client import Client
from tenure.console.view import ShardName

KEPT_SECONDS: Final = 30.0
"""Time after which the service is asked again what a reader may read."""
MAX_READERS: Final = 256
MAX_QUERIES_AT_ONCE: Final = 2
MAX_QUERIES_PER_MINUTE: Final = 30
"""Simulations and explanations of one reader."""


class Audience(StrEnum):
    """Whose texts and rows are shown."""

    OPERATOR = "operator"
    TENANT = "tenant"
    PUBLIC = "public"


class NoCredentials(Exception):
    """The request carries no token, or one that the service rejects."""


class TooManyQueries(Exception):
    """The reader has to wait before the next simulation or explanation."""


@dataclass
class Reader:
    """One reader with the client that has its credentials."""

    client: Client
    clusters: frozenset[ShardName] | None
    """Clusters that it may read; None: those of the console."""
    queried: deque[float]
    """Times of its last queries."""

    def may_read(self, shard: ShardName) -> bool:
        """Whether the service lets it read a cluster."""
        return self.clusters is None or shard in self.clusters


class Access:
    """Finds the reader of a request. Thread-safe."""

    def __init__(
        self,
        own: Client,
        connect: Callable[[str], Client] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`connect` makes a client with a token of a reader; None: all readers use the own client."""
        self._own, self._connect, self._clock = Reader(own, None, deque()), connect, clock
        self._readers: OrderedDict[bytes, tuple[float, Reader]] = OrderedDict()
        self._changing = threading.Lock()
        self._slots = threading.BoundedSemaphore(MAX_QUERIES_AT_ONCE)

    @property
    def forwards(self) -> bool:
        """Whether requests need a token."""
        return self._connect is not None

    def reader(self, authorization: str) -> Reader:
        """The reader with this value of the header `authorization`. Raises NoCredentials, TenureError."""
        if self._connect is None:
            return self._own
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise NoCredentials("The proxy in front of the console must send `Authorization: Bearer TOKEN`.")
        key = sha256(token.encode()).digest()
        with self._changing:
            known = self._readers.get(key)
        if known is not None and self._clock() - known[0] < KEPT_SECONDS:
            return known[1]
        reader = known[1] if known else Reader(self._connect(token.strip()), None, deque())
        reader.clusters = frozenset(
            ShardName(s.cluster_id, s.node_pool) for s in reader.client.list_states(10.0)
        )
        with self._changing:
            self._readers[key] = self._clock(), reader
            self._readers.move_to_end(key)
            while len(self._readers) > MAX_READERS:
                self._readers.popitem(last=False)[1][1].client.close()
        return reader

    @contextmanager
    def query(self, reader: Reader) -> Iterator[None]:
        """Count a simulation or explanation, and wait for a slot. Raises TooManyQueries."""
        now = self._clock()
        with self._changing:
            while reader.queried and now - reader.queried[0] > 60:
                reader.queried.popleft()
            if len(reader.queried) >= MAX_QUERIES_PER_MINUTE:
                raise TooManyQueries("Too many simulations and explanations; try again in a minute.")
            reader.queried.append(now)
        if not self._slots.acquire(timeout=10):
            raise TooManyQueries("The console is busy with other simulations; try again.")
        try:
            yield
        finally:
            self._slots.release()

    def close(self) -> None:
        """Close the clients of readers."""
        for _, reader in self._readers.values():
            reader.client.close()
