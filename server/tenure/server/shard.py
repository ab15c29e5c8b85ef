"""The time a cycle has: what the solver, which reads no clock, is given to ask whether to stop.

A shard: what has one state, and one cycle at a time.
"""

import threading
import time
from typing import Final, NamedTuple


class Shard(NamedTuple):
    """A cluster and one of its node pools."""

    cluster_id: str
    node_pool: str


RESERVE: Final = 0.1
"""Part of a call's time that is kept for the way back."""


class Deadline:
    """Says when to stop searching so that the answer still arrives in time. Asked by one thread.

    Folding and encoding an answer takes about as long as decoding the question and opening the session, for
    both grow with the cluster and not with the search. So as much time as has passed when the solver asks
    first is kept for the answer, and a tenth of all for its way back.
    """

    def __init__(self, seconds: float, is_cut_short: threading.Event) -> None:
        self._begin = time.monotonic()
        self._seconds = seconds
        self._end: float | None = None
        self._is_cut_short = is_cut_short
        self._is_cancelled = False

    def __call__(self) -> bool:
        """Whether to stop: the time is up, nobody waits for the answer any more, or the server must end."""
        now = time.monotonic()
        if self._end is None:
            reserve = self._seconds * RESERVE + now - self._begin
            self._end = self._begin + self._seconds - reserve
        return now >= self._end or self._is_cancelled or self._is_cut_short.is_set()

    def remaining_seconds(self) -> float:
        """Until the caller hangs up."""
        return max(0.0, self._begin + self._seconds - time.monotonic())

    def cancel(self) -> None:
        """Nobody waits for the answer any more. May be called by any thread."""
        self._is_cancelled = True
