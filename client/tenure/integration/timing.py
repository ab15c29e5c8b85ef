"""Time of the kit: the clock of snapshots, pauses after failures, and the timer of the next reconcile."""

import threading
import time
from typing import Final, Protocol

from google.protobuf.timestamp_pb2 import Timestamp

QUIET_SECONDS: Final = 0.05
"""Pause after a change: changes arrive in bursts, such as the pods of a job or the effects of decisions."""
_MAX_DOUBLINGS: Final = 30
_SECOND: Final = 10**9


class TimeSource(Protocol):
    """The time of the cluster, which may go back."""

    def read(self) -> int:
        """Now, in nanoseconds since 1970."""


class Clock:
    """The time of snapshots. It never goes back."""

    def __init__(self, clock: TimeSource) -> None:
        self._clock = clock
        self._last = 0
        self._reading = threading.Lock()

    def __call__(self) -> Timestamp:
        """Now, or the last returned time if that is later."""
        with self._reading:
            self._last = max(self._last, self._clock.read())
            now = Timestamp()
            now.FromNanoseconds(self._last)
            return now

    def remaining(self, seconds: float | None) -> float | None:
        """Seconds until a time in seconds since 1970. None means never, in both directions."""
        return None if seconds is None else seconds - self._clock.read() / _SECOND


def pause_after(failures: int, first: float, longest: float) -> float:
    """Seconds to wait after consecutive failures, at least one; doubles with each failure."""
    return min(first * 2.0 ** min(failures - 1, _MAX_DOUBLINGS), longest)


class Backoff:
    """Counts consecutive failures. For one thread."""

    def __init__(self, first: float, longest: float) -> None:
        self._first, self._longest = first, longest
        self._failures = 0

    def fail(self) -> float:
        """Count a failure and return the seconds to wait before the next attempt."""
        self._failures += 1
        return pause_after(self._failures, self._first, self._longest)

    def reset(self) -> None:
        """Start with the first pause again."""
        self._failures = 0


class WakeTimer:
    """Wakes the thread that reconciles. Other threads call `wake`, any number of times."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._woken_at: float | None = None

    def wake(self) -> None:
        """Report a change. Returns at once."""
        if self._woken_at is None:
            self._woken_at = time.monotonic()
        self._event.set()

    def take_wake_time(self) -> float | None:
        """Time of the first `wake` since the last call, by the monotonic clock; None if there was none."""
        woken_at, self._woken_at = self._woken_at, None
        return woken_at

    def wait(self, seconds: float | None) -> None:
        """Return QUIET_SECONDS after a wake, or after this time; None: after a wake only."""
        if self._event.wait(None if seconds is None else max(seconds, QUIET_SECONDS)):
            time.sleep(QUIET_SECONDS)
            self._event.clear()
