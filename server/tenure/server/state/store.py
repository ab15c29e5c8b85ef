"""Store of pushed states: one per shard, limited by size and idle time."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from tenure.server.settings.server import DEFAULT_ROWS, MaxRows
from tenure.server.shard import Shard
from tenure.server.state import errors
from tenure.server.state.state import State, next_state
from tenure.terms.cancellation import no_check
from tenure.v1.state_pb2 import StateDelta, StateReference
from tenure.wire.limits import RequestLimits


@dataclass(frozen=True)
class StoreLimits:
    """Limits of a store."""

    max_states: int
    max_bytes: int
    """Maximum size of all states together, as messages."""
    idle_seconds: float
    """Idle time after which a state is dropped."""
    max_rows: MaxRows = DEFAULT_ROWS
    """Maximum number of rows of one state, by list."""
    max_staleness_seconds: int | None = None
    """Maximum age of a state in decisions, by the server's clock; None: any age."""


@dataclass
class _StoredState:
    state: State
    size: int
    """Size when it was stored: a state gets smaller when its message is read."""
    used: float


class StateStore:
    """The states of a server. Thread-safe. At the limits, the least recently used state is dropped."""

    def __init__(
        self,
        bounds: StoreLimits,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._bounds = bounds
        self._clock = clock
        self._wall_clock = wall_clock
        self._stored: OrderedDict[Shard, _StoredState] = OrderedDict()
        """States, the least recently used first."""
        self._bytes = 0
        self._changing = threading.Lock()

    def put(self, state: State) -> None:
        """Replace the state of a shard. Raises StateError if it is too large."""
        if state.size > self._bounds.max_bytes:
            raise errors.too_large(state.size, self._bounds.max_bytes)
        with self._changing:
            self._put(state)

    def find(self, reference: StateReference) -> State:
        """The state that is referred to. Raises StateError: unknown, another version, too old."""
        state = self._touch(reference)
        if state.header.version != reference.version:
            raise errors.version_gap(state.header.version, reference.version)
        self.check_staleness(state)
        return state

    def apply(
        self, delta: StateDelta, texts: RequestLimits | None = None, check: Callable[[], None] = no_check
    ) -> State:
        """Store and return the state after a delta. Raises StateError and keeps the previous state.

        With limits on `texts`, invalid rows are set aside. The last applied delta is not applied again.
        `check` raises when the call has ended.
        """
        while True:
            before = self._touch(delta.base)
            if before.is_made_by(delta):
                return before
            if before.header.version != delta.base.version:
                raise errors.version_gap(before.header.version, delta.base.version)
            bounds = self._bounds
            after = next_state(before, delta, bounds.max_bytes, bounds.max_rows, texts=texts, check=check)
            with self._changing:
                if self._is_stored(before):
                    self._put(after)
                    return after

    def size(self) -> tuple[int, int]:
        """Number of states, and their total bytes."""
        with self._changing:
            return len(self._stored), self._bytes

    def newest(self, reference: StateReference) -> State | None:
        """State of a cluster ID and node pool, of any epoch and version; None if there is none."""
        with self._changing:
            self._drop_idle()
            kept = self._stored.get(Shard(reference.cluster_id, reference.node_pool))
            return kept.state if kept else None

    def drop_idle(self) -> float:
        """Drop idle states; return seconds until the next could be idle."""
        with self._changing:
            self._drop_idle()
            first = next(iter(self._stored.values()), None)
            idle = self._clock() - first.used if first else 0.0
            return self._bounds.idle_seconds - idle

    def _touch(self, reference: StateReference) -> State:
        shard = Shard(reference.cluster_id, reference.node_pool)
        with self._changing:
            self._drop_idle()
            kept = self._stored.get(shard)
            if kept is None or kept.state.epoch != reference.epoch:
                raise errors.unknown_state(*shard, reference.epoch)
            kept.used = self._clock()
            self._stored.move_to_end(shard)
            return kept.state

    def check_staleness(self, state: State) -> None:
        """Raises StateError when the state is too far behind the clock to be decided on."""
        most, age = self._bounds.max_staleness_seconds, self._wall_clock() - state.cluster.now
        if most is not None and age > most:
            raise errors.stale_state(age, most)

    def _is_stored(self, state: State) -> bool:
        kept = self._stored.get(state.shard)
        return kept is not None and kept.state is state

    def _put(self, state: State) -> None:
        self._drop_idle()
        if state.shard in self._stored:
            self._drop(state.shard)
        kept = self._stored[state.shard] = _StoredState(state, state.size, self._clock())
        self._bytes += kept.size
        while len(self._stored) > self._bounds.max_states or self._bytes > self._bounds.max_bytes:
            self._drop(next(iter(self._stored)))

    def _drop_idle(self) -> None:
        oldest_use = self._clock() - self._bounds.idle_seconds
        for shard in [shard for shard, kept in self._stored.items() if kept.used < oldest_use]:
            self._drop(shard)

    def _drop(self, shard: Shard) -> None:
        self._bytes -= self._stored.pop(shard).size
