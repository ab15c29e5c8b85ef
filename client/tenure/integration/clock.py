"""The time that snapshots carry: it never goes back."""

import threading
from typing import Final, Protocol

from google.protobuf.timestamp_pb2 import Timestamp

_SECOND: Final = 10**9


class TimeSource(Protocol):
    """The time of the cluster, which may go back."""

    def read(self) -> int:
        """Now, in nanoseconds since 1970."""


class Clock:
    """The time in snapshots: never back."""

    def __init__(self, clock: TimeSource) -> None:
        self._clock = clock
        self._last = 0
        self._reading = threading.Lock()

    def __call__(self) -> Timestamp:
        """Now, or the last time that was given."""
        with self._reading:
            self._last = max(self._last, self._clock.read())
            now = Timestamp()
            now.FromNanoseconds(self._last)
            return now

    def remaining(self, seconds: float | None) -> float | None:
        """How many seconds it is until a time in seconds since 1970; None is never, for both."""
        return None if seconds is None else seconds - self._clock.read() / _SECOND
