"""Which states are kept: one for each cluster and node pool, while there is room and somebody uses it."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from tenure.server.settings.server import DEFAULT_ROWS, MaxRows
from tenure.server.shard import Shard
from tenure.server.state import faults
from tenure.server.state.state import State, next_state
from tenure.v1.state_pb2 import StateDelta, StateReference


@dataclass(frozen=True)
class Bounds:
    """How much is kept at most."""

    states: int
    bytes: int
    """Of all states together, as messages."""
    idle_seconds: float
    """A state that was not used for so long is dropped."""
    rows: MaxRows = DEFAULT_ROWS
    """Of one state, by list."""
    staleness: int | None = None
    """How far the time of a state that is asked about may be behind the server's clock; None: any age."""


@dataclass
class _Kept:
    state: State
    size: int
    """As it was when it was entered: a state is smaller once its message was read."""
    used: float


class StateStore:
    """The states of a server, for many threads. When there is no room the least recently used goes first."""

    def __init__(
        self,
        bounds: Bounds,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._bounds = bounds
        self._clock = clock
        self._wall_clock = wall_clock
        self._kept: OrderedDict[Shard, _Kept] = OrderedDict()
        """The least recently used first."""
        self._bytes = 0
        self._changing = threading.Lock()

    def put(self, state: State) -> None:
        """Keep a full state in place of what was there of its shard. Raises Fault when it is too large."""
        if state.size > self._bounds.bytes:
            raise faults.too_large(state.size, self._bounds.bytes)
        with self._changing:
            self._keep(state)

    def find(self, reference: StateReference) -> State:
        """The state that is referred to. Raises Fault: unknown, another version, too old."""
        state = self._used(reference)
        if state.header.version != reference.version:
            raise faults.version_gap(state.header.version, reference.version)
        self.refuse_stale(state)
        return state

    def apply(self, delta: StateDelta) -> State:
        """The state after a delta, kept from now on. Raises Fault, and keeps the state from before.

        The delta that was applied last is not applied again.
        """
        while True:
            before = self._used(delta.base)
            if before.is_made_by(delta):
                return before
            if before.header.version != delta.base.version:
                raise faults.version_gap(before.header.version, delta.base.version)
            after = next_state(before, delta, self._bounds.bytes, self._bounds.rows)
            with self._changing:
                if self._is_kept(before):
                    self._keep(after)
                    return after

    def size(self) -> tuple[int, int]:
        """How many states are kept, and their bytes together."""
        with self._changing:
            return len(self._kept), self._bytes

    def newest(self, reference: StateReference) -> State | None:
        """The state of a cluster and node pool, whatever its epoch and version; None when there is none."""
        with self._changing:
            self._drop_idle()
            kept = self._kept.get(Shard(reference.cluster_id, reference.node_pool))
            return kept.state if kept else None

    def drop_idle(self) -> float:
        """Drop what was not used for too long; the seconds after which there may be more of it to drop."""
        with self._changing:
            self._drop_idle()
            first = next(iter(self._kept.values()), None)
            idle = self._clock() - first.used if first else 0.0
            return self._bounds.idle_seconds - idle

    def _used(self, reference: StateReference) -> State:
        shard = Shard(reference.cluster_id, reference.node_pool)
        with self._changing:
            self._drop_idle()
            kept = self._kept.get(shard)
            if kept is None or kept.state.epoch != reference.epoch:
                raise faults.unknown_state(*shard, reference.epoch)
            kept.used = self._clock()
            self._kept.move_to_end(shard)
            return kept.state

    def refuse_stale(self, state: State) -> None:
        """Raises Fault when the state is too far behind the clock to be decided on."""
        most, age = self._bounds.staleness, self._wall_clock() - state.cluster.now
        if most is not None and age > most:
            raise faults.stale(age, most)

    def _is_kept(self, state: State) -> bool:
        kept = self._kept.get(state.shard)
        return kept is not None and kept.state is state

    def _keep(self, state: State) -> None:
        self._drop_idle()
        if state.shard in self._kept:
            self._drop(state.shard)
        kept = self._kept[state.shard] = _Kept(state, state.size, self._clock())
        self._bytes += kept.size
        while len(self._kept) > self._bounds.states or self._bytes > self._bounds.bytes:
            self._drop(next(iter(self._kept)))

    def _drop_idle(self) -> None:
        oldest_use = self._clock() - self._bounds.idle_seconds
        for shard in [shard for shard, kept in self._kept.items() if kept.used < oldest_use]:
            self._drop(shard)

    def _drop(self, shard: Shard) -> None:
        self._bytes -= self._kept.pop(shard).size
