"""A state that a server keeps, in step with what its caller knows."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final, Self, TypeVar
from uuid import uuid4

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.client import DEFAULT_TIMEOUT_SECONDS, Client
from tenure.client.columns import to_pods
from tenure.client.deltas import difference
from tenure.client.errors import InvalidSnapshot, StaleState, TooLarge, Unavailable
from tenure.client.held import Held
from tenure.v1.decision_service_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateReference

_FIRST_PAUSE_SECONDS: Final = 0.05
_LONGEST_PAUSE_SECONDS: Final = 1.0
_TRIES: Final = 2
"""How often a delta is sent: a stream that was idle for long may have ended without anybody noticing."""
_Answer = TypeVar("_Answer")


class StateSession:
    """Pushes a snapshot once, then what changes, and asks for decisions without sending it again.

    When the server has lost the state, has another version of it, or is away, the session pushes the whole
    snapshot that it holds and goes on; the caller gets each answer once. For one thread at a time. `timeout`
    is in seconds and bounds each method as a whole, waiting for the server included.

        session = StateSession(client)
        session.push(snapshot)
        answer = session.decide()
        session.update(later_snapshot)
        answer = session.decide()

    Methods raise errors of `tenure.client.errors`. After InvalidSnapshot, StaleState or TooLarge the
    session holds what it held before; after others it holds what it was given last.

    Deltas go on a stream, which stays open until `close` or the end of a `with` statement.
    """

    def __init__(self, client: Client, *, timeout: float = DEFAULT_TIMEOUT_SECONDS) -> None:
        self._client = client
        self._timeout = timeout
        self._held: Held | None = None
        self._there: StateReference | None = None
        """What the server has, as far as is known; None: nothing that is of use."""
        self._deltas = client.deltas()

    def push(self, snapshot: ClusterSnapshot) -> None:
        """Begin anew with a full snapshot."""
        with self._back_on_refusal():
            self._held, self._there = Held(to_pods(snapshot)), None
            self._in_step(lambda state, timeout: None)

    def update(self, snapshot: ClusterSnapshot) -> None:
        """Go on to a later snapshot of the same cluster and node pool; only what changed is sent."""
        self.apply(difference(self._holding().snapshot(), snapshot))

    def apply(self, delta: StateDelta) -> None:
        """Go on by a delta; its base is filled in here."""
        held, there = self._holding(), self._there
        with self._back_on_refusal():
            self._held, self._there = held.after(delta), None
            if there is not None:
                self._there = self._sent(delta, there)
            self._in_step(lambda state, timeout: None)

    def decide(self, actions: Iterable[str] = (), now: Timestamp | None = None) -> DecideResponse:
        """The decision on the state, at its time or at a later one."""
        self._holding()
        names = tuple(actions)
        return self._in_step(lambda state, timeout: self._client.decide_on(state, names, now, timeout))

    def close(self) -> None:
        """End the stream of deltas. A session that goes on begins another."""
        self._deltas.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _holding(self) -> Held:
        if self._held is None:
            raise ValueError("nothing was pushed yet: push a snapshot first")
        return self._held

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
                except StaleState as stale:
                    if not stale.resync_required:
                        raise
                    return None
        return None

    def _in_step(self, ask: Callable[[StateReference, float], _Answer]) -> _Answer:
        """Ask with a state that the server has, pushed before if it must be, until there is an answer."""
        deadline, pause = time.monotonic() + self._timeout, _FIRST_PAUSE_SECONDS
        while True:
            try:
                if self._there is None:
                    self._deltas.close()
                    whole = self._holding().snapshot()
                    self._there = self._client.put_snapshot(uuid4().hex, whole, _left(deadline))
                return ask(self._there, _left(deadline))
            except (StaleState, Unavailable) as failure:
                if isinstance(failure, StaleState):
                    if not failure.resync_required:
                        raise
                    self._there = None
                if time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    @contextmanager
    def _back_on_refusal(self) -> Iterator[None]:
        """Hold what was held before when the server refuses what is new, and has kept the old."""
        held, there = self._held, self._there
        try:
            yield
        except (InvalidSnapshot, StaleState, TooLarge):
            self._held, self._there = held, there
            raise


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)
