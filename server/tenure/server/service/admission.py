"""Admission of calls and streams, shared fairly by callers.

A single caller may use all slots. When none is free, a caller that has fewer takes one from the caller that
has the most: its latest queued call or its latest stream ends. The last slot for calls is kept for callers
without one that called lately, so that their calls displace no other.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from tenure.server.service.recent_callers import RecentCallers
from tenure.server.shard import Draining

PAUSE_SECONDS: Final = 1.0
"""Minimum time before a rejected call gets its response, which names a longer time to retry."""
PAUSE_APART_SECONDS: Final = 1 / 64
"""Minimum time between two such responses: calls that were rejected together do not return together."""
MAX_PAUSES: Final = 64
"""Maximum number of rejected calls that wait; further ones are rejected at once."""


class TooManyCalls(Exception):
    """The maximum number of calls is queued already."""


class TooManyStreams(Exception):
    """The maximum number of streams is open already, or another caller received the slot of this one."""


class AdmittedStream:
    """An admitted stream."""

    def __init__(self, admission: "Admission", caller: str, cancel: Callable[[], object]) -> None:
        self._admission = admission
        self.caller = caller
        self.cancel = cancel
        self.is_pushed_out = False

    def check(self) -> None:
        """Raise Draining, or TooManyStreams when it was pushed out; called between two messages."""
        self._admission.refuse_if_draining()
        if self.is_pushed_out:
            raise TooManyStreams


def _push_out_nothing(caller: str) -> bool:
    return False


def _do_nothing() -> None:
    pass


class Admission:
    """Admits at most `max_calls` calls and, in addition, at most `max_streams` streams at a time.

    `push_out` ends a queued call of a caller and returns whether there was one.
    """

    def __init__(
        self, max_calls: int, max_streams: int, push_out: Callable[[str], bool] = _push_out_nothing
    ) -> None:
        self._calls: Counter[str] = Counter()
        """Admitted calls by caller, without those that were pushed out."""
        self._leaving: Counter[str] = Counter()
        """Calls that were pushed out and have not ended yet, by caller."""
        self._streams: dict[AdmittedStream, None] = {}
        """Streams, the latest last; not those that were pushed out."""
        self._open_streams = 0
        self._max_calls = max_calls
        self._max_streams = max_streams
        self._push_out = push_out
        self._recent = RecentCallers()
        self._pauses = threading.BoundedSemaphore(MAX_PAUSES)
        self._last_end = -math.inf
        """When the latest pause ends."""
        self._is_draining = False
        self._changed = threading.Condition()

    @contextmanager
    def call(self, caller: str = "") -> Iterator[None]:
        """Admit one call for the block. Raises Draining or TooManyCalls."""
        with self._changed:
            self.refuse_if_draining()
            self._recent.remember(caller)
            is_admitted = self._has_slot(caller) or self._push_out_call(caller)
            if is_admitted:
                self._calls[caller] += 1
        if not is_admitted:
            self._pause()
            raise TooManyCalls
        try:
            yield
        finally:
            with self._changed:
                _remove(self._leaving if self._leaving[caller] else self._calls, caller)
                self._changed.notify_all()

    @contextmanager
    def stream(
        self, caller: str = "", cancel: Callable[[], object] = _do_nothing
    ) -> Iterator[AdmittedStream]:
        """Admit one stream for the block; `cancel` ends it at once. Raises Draining or TooManyStreams."""
        with self._changed:
            self.refuse_if_draining()
            if len(self._streams) >= self._max_streams:
                self._push_out_stream(caller)
            stream = AdmittedStream(self, caller, cancel)
            self._streams[stream] = None
            self._open_streams += 1
        try:
            yield stream
        finally:
            with self._changed:
                self._streams.pop(stream, None)
                self._open_streams -= 1
                self._changed.notify_all()

    def load(self) -> tuple[int, int]:
        """Admitted calls and streams."""
        with self._changed:
            return self._calls.total(), self._open_streams

    def refuse_if_draining(self) -> None:
        """Raise Draining if the server is draining."""
        if self._is_draining:
            raise Draining

    def drain(self, timeout: float) -> bool:
        """Admit nothing from now on and wait; return whether all ended within `timeout` seconds."""
        with self._changed:
            self._is_draining = True
            return self._changed.wait_for(self._is_empty, timeout)

    def cancel_latest_streams(self) -> int:
        """Cancel the latest half of the streams of the caller with the most; return their number."""
        with self._changed:
            numbers = Counter(stream.caller for stream in self._streams)
            if not numbers:
                return 0
            [(noisiest, number)] = numbers.most_common(1)
            latest = [self._remove_latest_stream(noisiest) for _ in range((number + 1) // 2)]
        for stream in latest:
            stream.cancel()
        return len(latest)

    def _is_empty(self) -> bool:
        return not (self._calls or self._leaving or self._open_streams)

    def _has_slot(self, caller: str) -> bool:
        """Whether there is a slot for a caller; the last one is kept for others that called lately."""
        free = self._max_calls - self._calls.total()
        if free > 1 or not self._calls[caller]:
            return free > 0
        return free == 1 and all(self._calls[other] for other in self._recent.others(caller))

    def _pause(self) -> None:
        """Wait before a call is rejected: a caller that calls again at once would take time from others."""
        if self._pauses.acquire(blocking=False):
            try:
                time.sleep(self._pause_seconds())
            finally:
                self._pauses.release()

    def _pause_seconds(self) -> float:
        with self._changed:
            now = time.monotonic()
            self._last_end = max(now + PAUSE_SECONDS, self._last_end + PAUSE_APART_SECONDS)
            return self._last_end - now

    def _push_out_call(self, caller: str) -> bool:
        """Free the slot of a queued call for a caller with fewer calls; return whether there was one."""
        noisiest = _noisiest(self._calls, caller)
        if noisiest is None or not self._push_out(noisiest):
            return False
        _remove(self._calls, noisiest)
        self._leaving[noisiest] += 1
        return True

    def _push_out_stream(self, caller: str) -> None:
        """Free the slot of a stream for a caller with fewer streams. Raises TooManyStreams."""
        noisiest = _noisiest(Counter(stream.caller for stream in self._streams), caller)
        if noisiest is None:
            raise TooManyStreams
        self._remove_latest_stream(noisiest)

    def _remove_latest_stream(self, caller: str) -> AdmittedStream:
        """Free the slot of the latest stream of a caller, which ends when it is checked."""
        latest = next(stream for stream in reversed(self._streams) if stream.caller == caller)
        latest.is_pushed_out = True
        del self._streams[latest]
        return latest


def _noisiest(numbers: Counter[str], caller: str) -> str | None:
    """Caller with the most slots, which would still have as many as this one after it passes one on."""
    [(noisiest, number)] = numbers.most_common(1)
    return noisiest if number > numbers[caller] + 1 else None


def _remove(numbers: Counter[str], caller: str) -> None:
    numbers[caller] -= 1
    if not numbers[caller]:
        del numbers[caller]
