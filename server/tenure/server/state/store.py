"""Store of pushed states: one per shard, limited by memory and idle time.

Decoded states take many times the memory of their message. When the limit is reached, states are put to rest,
and dropped only if that is not enough: those of the caller with the most, the least recently used first. What
calls use cannot be freed, so a call whose state does not fit beside it is rejected.
"""

import threading
import time
import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tenure.server.garbage_collection import freeze_gc
from tenure.server.memory import MemoryExhausted
from tenure.server.settings.server import DEFAULT_ROWS, MaxRows
from tenure.server.shard import Shard
from tenure.server.state import errors
from tenure.server.state.state import State
from tenure.server.state.stored_state import LARGE_REST_SECONDS, RestingState, StoredState
from tenure.server.state.used_epochs import UsedEpochs, push_digest
from tenure.server.state.versions import check_memory, next_state
from tenure.solver.model.cluster import Cluster
from tenure.terms.cancellation import no_check
from tenure.v1.state_pb2 import StateDelta, StateReference
from tenure.wire.limits import RequestLimits

REST_SECONDS: Final = 300.0
"""Longer than the interval between the cycles of a scheduler."""


@dataclass(frozen=True)
class StoreLimits:
    """Limits of a store."""

    max_states: int
    max_bytes: int
    """Maximum memory of all states together."""
    idle_seconds: float
    """Idle time after which a state is dropped."""
    rest_seconds: float = REST_SECONDS
    """Idle time after which a state is put to rest."""
    max_rows: MaxRows = DEFAULT_ROWS
    """Maximum number of rows of one state, by list."""
    max_staleness_seconds: int | None = None
    """Maximum age of a state in decisions, by the server's clock; None: any age."""


class StateStore:
    """The states of a server. Thread-safe."""

    def __init__(
        self,
        bounds: StoreLimits,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._bounds = bounds
        self._clock = clock
        self._wall_clock = wall_clock
        self._stored: OrderedDict[Shard, StoredState] = OrderedDict()
        """States, the least recently used first."""
        self._leaving: list[weakref.ref[State]] = []
        """Decoded states that were dropped or replaced, which calls may still use."""
        self._changing = threading.Lock()
        self._epochs = UsedEpochs()

    def push(self, state: State, caller: str = "") -> None:
        """Store the state of a full push. Raises as `put`, and SnapshotValidationError for a used epoch."""
        digest = push_digest(state)
        with self._changing:
            self._epochs.check(state.shard, state.epoch, digest)
            self._replace_all(state, caller)
            self._epochs.note(state.shard, state.epoch, digest)

    def put(self, state: State, caller: str = "") -> None:
        """Replace the state of a shard. Raises StateError if it is too large, and MemoryExhausted."""
        with self._changing:
            self._replace_all(state, caller)

    def _replace_all(self, state: State, caller: str) -> None:
        check_memory(state, self._bounds.max_bytes)
        stored = StoredState(state, caller, self._clock())
        self._free_memory(state.shard, stored)
        if state.shard in self._stored:
            self._drop(state.shard)
        self._put(state.shard, stored)

    def find(self, reference: StateReference, check: Callable[[], None] = no_check) -> State:
        """The state that is referred to.

        Raises StateError (unknown, another version, too old) and MemoryExhausted. `check` raises when the
        call has ended.
        """
        state = self._touch(reference, check)
        if state.header.version != reference.version:
            raise errors.version_gap(state.header.version, reference.version)
        self.check_staleness(state)
        return state

    def apply(
        self, delta: StateDelta, texts: RequestLimits | None = None, check: Callable[[], None] = no_check
    ) -> State:
        """Store and return the state after a delta. Raises as `find`, and keeps the previous state.

        With limits on `texts`, invalid rows are set aside. The last applied delta is not applied again.
        """
        while True:
            before = self._touch(delta.base, check)
            if before.is_made_by(delta):
                return before
            if before.header.version != delta.base.version:
                raise errors.version_gap(before.header.version, delta.base.version)
            bounds = self._bounds
            after = next_state(before, delta, bounds.max_bytes, bounds.max_rows, texts=texts, check=check)
            if self._replace(before, after):
                return after

    def size(self) -> tuple[int, int]:
        """Number of states, and their memory in bytes."""
        with self._changing:
            return len(self._stored), _memory(self._stored.values()) + self._leaving_bytes()

    def newest(self, reference: StateReference, check: Callable[[], None] = no_check) -> State | None:
        """State of a cluster ID and node pool, of any epoch and version; None if there is none.

        Raises MemoryExhausted, and what `check` raises.
        """
        shard = Shard(reference.cluster_id, reference.node_pool)
        with self._changing:
            self._drop_idle()
            stored = self._stored.get(shard)
        return None if stored is None else self._decoded(shard, stored, check)

    def newest_reference(self, reference: StateReference) -> StateReference | None:
        """Reference to what `newest` returns."""
        shard = Shard(reference.cluster_id, reference.node_pool)
        with self._changing:
            stored = self._stored.get(shard)
            if stored is None:
                return None
            return StateReference(**shard._asdict(), epoch=stored.epoch, version=stored.version)

    def references(self) -> list[StateReference]:
        """References to the newest versions of all states, by cluster ID and node pool."""
        with self._changing:
            self._drop_idle()
            return [
                StateReference(**shard._asdict(), epoch=stored.epoch, version=stored.version)
                for shard, stored in sorted(self._stored.items(), key=lambda item: item[0])
            ]

    def clusters_in_memory(self) -> list[tuple[Shard, Cluster]]:
        """The decoded clusters of states that do not rest, by cluster ID and node pool. That is no use."""
        with self._changing:
            states = [(shard, stored.decoded) for shard, stored in sorted(self._stored.items())]
        return [(shard, state.cluster) for shard, state in states if state is not None]

    def drop_idle(self) -> float:
        """Put unused states to rest and drop idle ones; return seconds until the next look."""
        unused: list[tuple[StoredState, State]] = []
        with self._changing:
            self._drop_idle()
            now, left = self._clock(), min(self._bounds.idle_seconds, LARGE_REST_SECONDS)
            for stored in self._stored.values():
                left = min(left, stored.used + self._bounds.idle_seconds - now)
                if stored.is_kept and (state := stored.decoded) is not None:
                    until_rest = stored.rests_at(self._bounds.rest_seconds) - now
                    if until_rest <= 0:
                        unused.append((stored, state))
                    else:
                        left = min(left, until_rest)
        for stored, state in unused:
            resting = RestingState.of(state)  # without the lock, because it can take long
            with self._changing:
                stored.set_resting(resting)
        return left

    def check_staleness(self, state: State) -> None:
        """Raises StateError when the state is too far behind the clock to be decided on."""
        most, age = self._bounds.max_staleness_seconds, self._wall_clock() - state.cluster.now
        if most is not None and age > most:
            raise errors.stale_state(age, most)

    def _touch(self, reference: StateReference, check: Callable[[], None]) -> State:
        shard = Shard(reference.cluster_id, reference.node_pool)
        with self._changing:
            self._drop_idle()
            stored = self._stored.get(shard)
            if stored is None or stored.epoch != reference.epoch:
                raise errors.unknown_state(*shard, reference.epoch)
            stored.used = self._clock()
            self._stored.move_to_end(shard)
        return self._decoded(shard, stored, check)

    def _decoded(self, shard: Shard, stored: StoredState, check: Callable[[], None]) -> State:
        """The decoded state. One thread decodes it, while others wait."""
        with stored.waking:
            with self._changing:
                if (state := stored.decoded) is not None:
                    return state
                resting = stored.begin_waking()
                try:
                    self._free_memory(shard, stored)
                except MemoryExhausted:
                    stored.set_decoded(None)
                    raise
            woken: State | None = None
            try:
                with freeze_gc():
                    woken = resting.wake(check)
                return woken
            finally:
                with self._changing:
                    stored.set_decoded(woken)

    def _replace(self, before: State, after: State) -> bool:
        """Replace a state by its next version, unless it was replaced meanwhile. They share most rows."""
        later = StoredState(after, "", self._clock())
        with self._changing:
            stored = self._stored.get(before.shard)
            if stored is None or stored.decoded is not before:
                return False
            later.caller = stored.caller
            self._free_memory(after.shard, later)
            self._put(after.shard, later)
            return True

    def _put(self, shard: Shard, stored: StoredState) -> None:
        self._stored[shard] = stored
        self._stored.move_to_end(shard)

    def _free_memory(self, shard: Shard, new: StoredState) -> None:
        """Put other states to rest, and drop them, until this one fits. Raises MemoryExhausted."""
        self._drop_idle()
        others = {each: stored for each, stored in self._stored.items() if each != shard}
        free = self._bounds.max_bytes - new.memory_bytes - self._leaving_bytes()
        while _memory(others.values()) > free and (victim := _victim(others, new, _memory_of, _is_kept)):
            _put_to_rest(others[victim])
        if sum(stored.used_bytes for stored in others.values()) > free:
            raise MemoryExhausted
        while _memory(others.values()) > free and (victim := _victim(others, new, _memory_of, _is_unused)):
            self._drop(victim)
            del others[victim]
        while len(others) >= self._bounds.max_states and (victim := _victim(others, new, _one, _any)):
            self._drop(victim)
            del others[victim]

    def _leaving_bytes(self) -> int:
        self._leaving = [state for state in self._leaving if state() is not None]
        return sum(state.memory_bytes for each in self._leaving if (state := each()) is not None)

    def _drop_idle(self) -> None:
        oldest_use = self._clock() - self._bounds.idle_seconds
        for shard in [shard for shard, stored in self._stored.items() if stored.used < oldest_use]:
            self._drop(shard)

    def _drop(self, shard: Shard) -> None:
        state = self._stored.pop(shard).decoded
        if state is not None:
            self._leaving.append(weakref.ref(state))


def _put_to_rest(stored: StoredState) -> None:
    state = stored.decoded
    assert state is not None
    stored.set_resting(RestingState.of(state))


def _memory(states: Iterable[StoredState]) -> int:
    return sum(stored.memory_bytes for stored in states)


def _memory_of(stored: StoredState) -> int:
    return stored.memory_bytes


def _one(stored: StoredState) -> int:
    return 1


def _is_kept(stored: StoredState) -> bool:
    return stored.is_kept


def _is_unused(stored: StoredState) -> bool:
    return not stored.used_bytes


def _any(stored: StoredState) -> bool:
    return True


def _victim(
    others: Mapping[Shard, StoredState],
    new: StoredState,
    weigh: Callable[[StoredState], int],
    is_candidate: Callable[[StoredState], bool],
) -> Shard | None:
    """The least recently used candidate of the caller with the most, the new state included."""
    totals: Counter[str] = Counter()
    for stored in (new, *others.values()):
        totals[stored.caller] += weigh(stored)
    found = [shard for shard, stored in others.items() if is_candidate(stored)]
    return max(found, key=lambda shard: totals[others[shard].caller], default=None)
