"""A state that a server keeps, in step with what its caller knows.

What a session holds: a snapshot, and deltas since, carried out only when the result is asked for.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final, Self, TypeVar
from uuid import uuid4

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.client import DEFAULT_TIMEOUT_SECONDS, Client
from tenure.client.errors import InvalidSnapshot, MessageTooLarge, StateMismatch, Unavailable
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateReference
from tenure.wire.columns import to_pods
from tenure.wire.deltas import apply_deltas, compute_delta

MAX_DELTAS: Final = 100
"""Deltas that wait: carrying them out takes as long as the snapshot is large, however many they are."""


class LocalState:
    """A state, which does not change. The snapshot is not to be changed either; deltas are copied."""

    def __init__(self, snapshot: ClusterSnapshot, deltas: tuple[StateDelta, ...] = ()) -> None:
        self._snapshot, self._deltas = snapshot, deltas

    def with_delta(self, delta: StateDelta) -> "LocalState":
        """The state after a delta; the epoch and version of its base are of no account."""
        kept = StateDelta()
        kept.CopyFrom(delta)
        later = LocalState(self._snapshot, (*self._deltas, kept))
        if len(later._deltas) > MAX_DELTAS:
            later.snapshot()
        return later

    def snapshot(self) -> ClusterSnapshot:
        """All of it."""
        if self._deltas:
            self._snapshot, self._deltas = apply_deltas(self._snapshot, *self._deltas), ()
        return self._snapshot


_FIRST_PAUSE_SECONDS: Final = 0.05
_LONGEST_PAUSE_SECONDS: Final = 1.0
_TRIES: Final = 2
"""How often a delta is sent: a stream that was idle for long may have ended without anybody noticing."""
_Response = TypeVar("_Response")


class StateSession:
    """Pushes a snapshot once, then what changes, and asks for decisions without sending it again.

    When the server has lost the state, has another version of it, or is away, the session pushes the whole
    snapshot that it holds and goes on; the caller gets each answer once. For one thread at a time. `timeout`
    is in seconds and bounds each method as a whole, waiting for the server included.

        session = StateSession(client)
        session.push(snapshot)
        answer = session.decide()
        session.update(next_snapshot)
        answer = session.decide()

    Methods raise errors of `tenure.client.errors`. After InvalidSnapshot, StateMismatch or MessageTooLarge
    the session holds what it held before; after others it holds what it was given last.

    Deltas go on a stream, which stays open until `close` or the end of a `with` statement.
    """

    def __init__(self, client: Client, *, timeout: float = DEFAULT_TIMEOUT_SECONDS) -> None:
        self._client = client
        self._timeout = timeout
        self._local_state: LocalState | None = None
        self._server_version: StateReference | None = None
        """What the server has, as far as is known; None: nothing that is of use."""
        self._deltas = client.open_delta_stream()

    def push(self, snapshot: ClusterSnapshot) -> None:
        """Begin anew with a full snapshot."""
        with self._reset_on_error():
            self._local_state, self._server_version = LocalState(to_pods(snapshot)), None
            self._with_retry(lambda state, timeout: None)

    def update(self, snapshot: ClusterSnapshot) -> None:
        """Go on to a later snapshot of the same cluster and node pool; only what changed is sent."""
        self.apply(compute_delta(self._require_local_state().snapshot(), snapshot))

    def apply(self, delta: StateDelta) -> None:
        """Go on by a delta; its base is filled in here."""
        held, there = self._require_local_state(), self._server_version
        with self._reset_on_error():
            self._local_state, self._server_version = held.with_delta(delta), None
            if there is not None:
                self._server_version = self._sent(delta, there)
            self._with_retry(lambda state, timeout: None)

    def decide(self, actions: Iterable[str] = (), now: Timestamp | None = None) -> DecideResponse:
        """The decision on the state, at its time or at a later one."""
        self._require_local_state()
        names = tuple(actions)
        return self._with_retry(lambda state, timeout: self._client.decide_state(state, names, now, timeout))

    def close(self) -> None:
        """End the stream of deltas. A session that goes on begins another."""
        self._deltas.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _require_local_state(self) -> LocalState:
        if self._local_state is None:
            raise ValueError("nothing was pushed yet: push a snapshot first")
        return self._local_state

    def _sent(self, delta: StateDelta, base: StateReference) -> StateReference | None:
        """The state after a delta; None when only a full snapshot helps."""
        named = StateDelta()
        named.CopyFrom(delta)
        named.base.CopyFrom(base)
        deadline = time.monotonic() + self._timeout
        for _ in range(_TRIES):
            with suppress(Unavailable):
                try:
                    return self._deltas.send(named, _left(deadline))
                except StateMismatch as stale:
                    if not stale.resync_required:
                        raise
                    return None
        return None

    def _with_retry(self, ask: Callable[[StateReference, float], _Response]) -> _Response:
        """Ask with a state that the server has, pushed before if it must be, until there is an answer."""
        deadline, pause = time.monotonic() + self._timeout, _FIRST_PAUSE_SECONDS
        while True:
            try:
                if self._server_version is None:
                    self._deltas.close()
                    whole = self._require_local_state().snapshot()
                    self._server_version = self._client.put_snapshot(uuid4().hex, whole, _left(deadline))
                return ask(self._server_version, _left(deadline))
            except (StateMismatch, Unavailable) as failure:
                if isinstance(failure, StateMismatch):
                    if not failure.resync_required:
                        raise
                    self._server_version = None
                if time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    @contextmanager
    def _reset_on_error(self) -> Iterator[None]:
        """Hold what was held before when the server refuses what is new, and has kept the old."""
        held, there = self._local_state, self._server_version
        try:
            yield
        except (InvalidSnapshot, StateMismatch, MessageTooLarge):
            self._local_state, self._server_version = held, there
            raise


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)
