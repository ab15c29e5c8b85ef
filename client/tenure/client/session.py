"""A session with a pushed state, synchronized with the caller's snapshot.

The session stores a snapshot and the deltas since, which are applied only when the result is needed.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final, Self, TypeVar
from uuid import uuid4

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.client import DEFAULT_TIMEOUT_SECONDS, Client
from tenure.client.delta_stream import OnSetAside
from tenure.client.errors import (
    DeadlineExceeded,
    InvalidSnapshot,
    MessageTooLarge,
    StateMismatch,
    Unavailable,
)
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateReference
from tenure.wire.columns import to_pods
from tenure.wire.deltas import apply_deltas, compute_delta

MAX_DELTAS: Final = 100
"""Maximum number of pending deltas: applying any number takes time proportional to the snapshot."""


class LocalState:
    """An immutable state. The snapshot must not be changed; deltas are copied."""

    def __init__(self, snapshot: ClusterSnapshot, deltas: tuple[StateDelta, ...] = ()) -> None:
        self._snapshot, self._deltas = snapshot, deltas

    def with_delta(self, delta: StateDelta) -> "LocalState":
        """State after a delta; epoch and version of its base are ignored."""
        kept = StateDelta()
        kept.CopyFrom(delta)
        later = LocalState(self._snapshot, (*self._deltas, kept))
        if len(later._deltas) > MAX_DELTAS:
            later.snapshot()
        return later

    def snapshot(self) -> ClusterSnapshot:
        """The complete snapshot."""
        if self._deltas:
            self._snapshot, self._deltas = apply_deltas(self._snapshot, *self._deltas), ()
        return self._snapshot


_FIRST_PAUSE_SECONDS: Final = 0.05
_LONGEST_PAUSE_SECONDS: Final = 1.0
_TRIES: Final = 2
"""Attempts to send a delta: an idle stream may have ended unnoticed."""
_Response = TypeVar("_Response")


class StateSession:
    """Pushes a snapshot once, then deltas, and decides without sending the snapshot again.

    If the server lost the state, has another version, or is unavailable, the session pushes its full snapshot
    and continues; the caller receives each response once. Used by one thread at a time. `timeout` is in
    seconds and bounds each method as a whole, including the wait for the server.

        session = StateSession(client)
        session.push(snapshot)
        answer = session.decide()
        session.update(next_snapshot)
        answer = session.decide()

    Methods raise errors of `tenure.client.errors`. After InvalidSnapshot, StateMismatch or MessageTooLarge
    the session has its previous snapshot; after others it has the last one it was given.

    Deltas use a stream, which stays open until `close` or the end of a `with` statement.

    With `on_set_aside`, the server sets invalid rows aside instead of refusing a snapshot or a delta. It is
    called after each with all rows that are set aside, and in the thread that uses the session.
    """

    def __init__(
        self,
        client: Client,
        *,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        on_set_aside: OnSetAside | None = None,
    ) -> None:
        self._client = client
        self._timeout = timeout
        self._on_set_aside = on_set_aside
        self._local_state: LocalState | None = None
        self._server_version: StateReference | None = None
        """Reference of the state on the server; None: unknown or unusable."""
        self._deltas = client.open_delta_stream(on_set_aside)

    def push(self, snapshot: ClusterSnapshot) -> None:
        """Start from a full snapshot."""
        with self._reset_on_error():
            self._local_state, self._server_version = LocalState(to_pods(snapshot)), None
            self._with_retry(lambda state, timeout: None)

    def update(self, snapshot: ClusterSnapshot) -> None:
        """Move to a later snapshot of the same cluster ID and node pool; sends only the changes."""
        self.apply(compute_delta(self._require_local_state().snapshot(), snapshot))

    def apply(self, delta: StateDelta) -> None:
        """Apply a delta; its base is set here."""
        held, there = self._require_local_state(), self._server_version
        with self._reset_on_error():
            self._local_state, self._server_version = held.with_delta(delta), None
            if there is not None:
                self._server_version = self._sent(delta, there)
            self._with_retry(lambda state, timeout: None)

    def decide(
        self, actions: Iterable[str] = (), now: Timestamp | None = None, estimate_starts: bool = False
    ) -> DecideResponse:
        """Decide on the state, at its time or a later one; `estimate_starts` as in `Client.decide_state`."""
        self._require_local_state()
        names = tuple(actions)
        return self._with_retry(
            lambda state, timeout: self._client.decide_state(state, names, now, timeout, estimate_starts)
        )

    def close(self) -> None:
        """End the stream of deltas. Further use of the session opens another."""
        self._deltas.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _require_local_state(self) -> LocalState:
        if self._local_state is None:
            raise ValueError("no state; push a snapshot first")
        return self._local_state

    def _sent(self, delta: StateDelta, base: StateReference) -> StateReference | None:
        """State after a delta; None if a full snapshot is required."""
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

    def _with_retry(self, call: Callable[[StateReference, float], _Response]) -> _Response:
        """Call with a state that the server has, pushed first if necessary, until there is a response.

        Once the time is over, the failure of the last attempt that had enough time is raised.
        """
        deadline, pause = time.monotonic() + self._timeout, _FIRST_PAUSE_SECONDS
        last: StateMismatch | Unavailable | None = None
        while True:
            try:
                if self._server_version is None:
                    self._deltas.close()
                    whole = self._require_local_state().snapshot()
                    epoch, left = uuid4().hex, _left(deadline)
                    self._server_version = self._client.put_snapshot(epoch, whole, left, self._on_set_aside)
                return call(self._server_version, _left(deadline))
            except DeadlineExceeded:
                if last is None:
                    raise
                raise last from None
            except (StateMismatch, Unavailable) as failure:
                last = failure
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
        """Restore the previous state if the server rejects the new one."""
        held, there = self._local_state, self._server_version
        try:
            yield
        except (InvalidSnapshot, StateMismatch, MessageTooLarge):
            self._local_state, self._server_version = held, there
            raise


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)
