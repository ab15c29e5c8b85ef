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
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Final

from tenure.client import Client
from tenure.console.view import ShardName

KEPT_SECONDS: Final = 30.0
"""Time after which the service is asked again what a reader may read."""
MAX_READERS: Final = 256
MAX_QUERIES_AT_ONCE: Final = 2
"""Simulations and explanations of all readers, one of each."""
MAX_WAITING_QUERIES: Final = 4
"""Simulations and explanations of one reader that wait or run; a page has as many."""
MAX_ALL_WAITING_QUERIES: Final = 16
"""Those of all readers: each takes a thread of the console."""
MAX_QUERIES_PER_MINUTE: Final = 30
"""Simulations and explanations of one reader."""
WAIT_SECONDS: Final = 10.0
"""Time that a simulation or explanation waits for its turn."""


class Audience(StrEnum):
    """Whose texts and rows are shown."""

    OPERATOR = "operator"
    TENANT = "tenant"
    PUBLIC = "public"


class NoCredentials(Exception):
    """The request carries no token, or one that the service rejects."""


class TooManyQueries(Exception):
    """The reader has to wait before the next simulation or explanation."""


@dataclass(eq=False)
class Reader:
    """One reader with the client that has its credentials."""

    client: Client
    credentials: bytes
    """Digest of its token; empty: those of the console. Readers with the same may see the same answers."""
    name: str
    """By which its streams and queries are limited: its token, else its host."""
    clusters: frozenset[ShardName] | None = None
    """Clusters that it may read; None: those of the console."""
    queried: deque[float] = field(default_factory=deque)
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
        self._own, self._connect, self._clock = own, connect, clock
        self._readers: OrderedDict[str, tuple[float, Reader]] = OrderedDict()
        """Readers by name, and when the service last returned what they may read."""
        self._queries: dict[object, Reader] = {}
        """Queries that wait or run, the oldest first."""
        self._running: dict[object, Reader] = {}
        self._changing = threading.Condition()

    @property
    def forwards(self) -> bool:
        """Whether requests need a token."""
        return self._connect is not None

    def reader(self, authorization: str, host: str = "") -> Reader:
        """The reader with this value of the header `authorization`, or from this host if none is needed.

        Raises NoCredentials, TenureError.
        """
        if self._connect is None:
            return self._keep(Reader(self._own, b"", f"host {host}"))
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise NoCredentials("The proxy in front of the console must send `Authorization: Bearer TOKEN`.")
        digest = sha256(token.encode()).digest()
        name = f"token {digest.hex()}"
        with self._changing:
            known = self._readers.get(name)
        if known is not None and self._clock() - known[0] < KEPT_SECONDS:
            return known[1]
        reader = known[1] if known else Reader(self._connect(token), digest, name)
        try:
            states = reader.client.list_states(10.0)
        except BaseException:
            if known is None:
                reader.client.close()
            raise
        reader.clusters = frozenset(ShardName(s.cluster_id, s.node_pool) for s in states)
        return self._keep(reader)

    def _keep(self, reader: Reader) -> Reader:
        """The reader of this name: the one that is known, if there is one. The least recent is forgotten."""
        with self._changing:
            _, kept = self._readers.get(reader.name, (0.0, reader))
            kept.clusters = reader.clusters
            self._readers[reader.name] = self._clock(), kept
            self._readers.move_to_end(reader.name)
            dropped = [] if kept is reader else [reader]
            if len(self._readers) > MAX_READERS:
                dropped.append(self._readers.popitem(last=False)[1][1])
        for each in dropped:
            self._close(each)
        return kept

    def _close(self, reader: Reader) -> None:
        if reader.client is not self._own:
            reader.client.close()

    @contextmanager
    def query(self, reader: Reader) -> Iterator[None]:
        """Count a simulation or explanation, and wait for its turn. Raises TooManyQueries.

        At most one of a reader runs, so that many of one reader delay those of others by one at most.
        """
        query, now = object(), self._clock()
        with self._changing:
            while reader.queried and now - reader.queried[0] > 60:
                reader.queried.popleft()
            if len(reader.queried) >= MAX_QUERIES_PER_MINUTE:
                raise TooManyQueries("Too many simulations and explanations; try again in a minute.")
            own = sum(each is reader for each in self._queries.values())
            if own >= MAX_WAITING_QUERIES or len(self._queries) >= MAX_ALL_WAITING_QUERIES:
                raise TooManyQueries("Other simulations and explanations are in progress; try again.")
            reader.queried.append(now)
            self._queries[query] = reader
            try:
                if not self._changing.wait_for(lambda: self._next() is query, WAIT_SECONDS):
                    raise TooManyQueries("The console is busy with other simulations; try again.")
                self._running[query] = reader
            except BaseException:
                del self._queries[query]
                raise
            finally:
                self._changing.notify_all()
        try:
            yield
        finally:
            with self._changing:
                del self._queries[query], self._running[query]
                self._changing.notify_all()

    def _next(self) -> object | None:
        """The query that may run next: the oldest one of a reader without one that runs."""
        if len(self._running) >= MAX_QUERIES_AT_ONCE:
            return None
        busy = list(self._running.values())
        waiting = (query for query in self._queries if query not in self._running)
        return next((query for query in waiting if self._queries[query] not in busy), None)

    def close(self) -> None:
        """Close the clients of readers."""
        for _, reader in self._readers.values():
            self._close(reader)
