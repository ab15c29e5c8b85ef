"""Shards, and deadlines of calls and cycles for the codec and the solver, which read no clock."""

import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from tenure.solver.framework.stop_signal import never


class Shard(NamedTuple):
    """A cluster ID and a node pool: the unit of one state and of sequential cycles."""

    cluster_id: str
    node_pool: str


class CallEnded(TimeoutError):
    """The deadline of the call passed, or it was cancelled. Nothing was changed."""


class Draining(Exception):
    """The server is draining and accepts no more calls."""


class CallDeadline:
    """Ends the work for a call before its response is decided. Used by one thread.

    Codec and solver call `check` every few steps (`terms.cancellation`).
    """

    def __init__(self, seconds: float, is_active: Callable[[], bool], is_cut_short: threading.Event) -> None:
        self._end = time.monotonic() + seconds
        self._is_active = is_active
        self._is_cut_short = is_cut_short

    def __call__(self) -> bool:
        """A search is not stopped: see Deadline."""
        return False

    def check(self) -> None:
        """Raise CallEnded if the call has ended, Draining if the server is stopping."""
        if time.monotonic() >= self._end or not self._is_active():
            raise CallEnded
        if self._is_cut_short.is_set():
            raise Draining


RESERVE: Final = 0.1
"""Fraction of a call's time reserved for the transmission of the response."""


class Deadline:
    """Determines when the search must stop for the response to arrive in time. Used by one thread.

    Folding and encoding a response takes about as long as decoding the request and creating the session: both
    depend on the size of the cluster, not on the search. Therefore the time up to the first call is
    reserved for the response, and a tenth of the total for transmission.
    """

    def __init__(
        self, seconds: float, is_cut_short: threading.Event, must_wait: Callable[[], bool] = never
    ) -> None:
        """`must_wait` tells whether another cycle goes first, and takes a moment if so."""
        self._begin = time.monotonic()
        self._must_wait = must_wait
        self._seconds = seconds
        self._end: float | None = None
        self._is_cut_short = is_cut_short
        self._is_cancelled = False

    def __call__(self) -> bool:
        """Whether to stop: the time is up, the call was cancelled, or the server is stopping."""
        if self._end is None:
            reserve = self._seconds * RESERVE + time.monotonic() - self._begin
            self._end = self._begin + self._seconds - reserve
        while not (is_over := self._is_over(self._end)) and self._must_wait():
            pass
        return is_over

    def check(self) -> None:
        """Raise CallEnded if the call has ended, and Draining if the server is stopping.

        Once the search has begun, a server that is stopping returns the decisions made so far.
        """
        end = self._begin + self._seconds
        while not self._is_over(end) and self._must_wait():
            pass
        if self._is_cancelled or time.monotonic() >= end:
            raise CallEnded
        if self._end is None and self._is_cut_short.is_set():
            raise Draining

    def _is_over(self, end: float) -> bool:
        return time.monotonic() >= end or self._is_cancelled or self._is_cut_short.is_set()

    def remaining_seconds(self) -> float:
        """Seconds until the caller's deadline."""
        return max(0.0, self._begin + self._seconds - time.monotonic())

    def cancel(self) -> None:
        """Stop because the call ended. Thread-safe."""
        self._is_cancelled = True
