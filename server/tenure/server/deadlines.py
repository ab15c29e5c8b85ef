"""Deadlines of calls and cycles, for the codec and the solver, which read no clock.

Compiled, because a cycle of a millisecond looks at its deadline dozens of times.
"""

import time
from collections.abc import Callable
from math import isfinite
from typing import Final

from tenure.server.shard import CallEnded, Draining


class CutShort:
    """Whether the server is stopping: then cycles end as soon as possible."""

    def __init__(self) -> None:
        self.is_set = False


class CallDeadline:
    """Ends the work for a call before its response is decided. Used by one thread.

    Codec and solver call `check` every few steps (`terms.cancellation`).
    """

    def __init__(self, seconds: float, is_active: Callable[[], bool], is_cut_short: CutShort) -> None:
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
        if self._is_cut_short.is_set:
            raise Draining


RESERVE: Final = 0.1
"""Fraction of a call's time reserved for the transmission of the response."""


ENDLESS: Final = 1 << 60
"""Time that is left of a call without a deadline, in microseconds; it never becomes less."""


class CyclePause:
    """Whether a cycle may run, or pauses while another one runs."""

    def __init__(self, wait: Callable[[], None]) -> None:
        """`wait` waits for a moment."""
        self.is_paused = False
        self.wait: Final = wait


def _run_on() -> None:
    """A cycle without others does not pause."""


class Deadline:
    """Determines when the search must stop for the response to arrive in time. Used by one thread.

    Folding and encoding a response takes about as long as decoding the request and creating the session: both
    depend on the size of the cluster, not on the search. Therefore the time up to the first call is
    reserved for the response, and a tenth of the total for transmission.
    """

    def __init__(self, seconds: float, is_cut_short: CutShort, pause: CyclePause | None = None) -> None:
        self._begin = time.monotonic()
        self._pause = pause or CyclePause(_run_on)
        self._call_end = self._begin + seconds
        self._end: float | None = None
        """When the search must stop; None: it has not begun."""
        self._is_cut_short = is_cut_short
        self._is_cancelled = False

    def __call__(self) -> bool:
        """Whether to stop: the time is up, the call was cancelled, or the server is stopping."""
        now = time.monotonic()
        end = self._search_end(now)
        if self._pause.is_paused:
            self._wait(end)
            now = time.monotonic()
        return now >= end or self._is_cancelled or self._is_cut_short.is_set

    def search_time_left(self) -> int:
        """Microseconds until the search must stop, at most 0 when it must; ENDLESS without a deadline."""
        now = time.monotonic()
        return int((self._search_end(now) - now) * 1_000_000) if isfinite(self._call_end) else ENDLESS

    def _search_end(self, now: float) -> float:
        """When the search must stop. It begins with the first call."""
        if self._end is None:
            reserve = (self._call_end - self._begin) * RESERVE + now - self._begin
            self._end = self._call_end - reserve
        return self._end

    def check(self) -> None:
        """Raise CallEnded if the call has ended, and Draining if the server is stopping.

        Once the search has begun, a server that is stopping returns the decisions made so far.
        """
        if self._pause.is_paused:
            self._wait(self._call_end)
        if self._is_cancelled or time.monotonic() >= self._call_end:
            raise CallEnded
        if self._is_cut_short.is_set and self._end is None:
            raise Draining

    def _wait(self, end: float) -> None:
        """Wait for the end of the pause, at most until a time."""
        while self._pause.is_paused and time.monotonic() < end:
            if self._is_cancelled or self._is_cut_short.is_set:
                return
            self._pause.wait()

    def remaining_seconds(self) -> float:
        """Seconds until the caller's deadline."""
        return max(0.0, self._call_end - time.monotonic())

    def cancel(self) -> None:
        """Stop because the call ended. Thread-safe."""
        self._is_cancelled = True
