"""Calls whose message has not arrived: how many there are, and how many may receive theirs at a time.

gRPC buffers a message until it is complete, and does not show how much of it has arrived. But it reads no
more than a window of a message before the call is ready to receive it. So memory is limited by the number of
calls that receive at a time, and the others wait. Callers share both numbers: at a limit, the oldest call of
the caller with the most is cancelled.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeVar

Message = TypeVar("Message")


class _Call:
    """A call without its message."""

    def __init__(self, caller: str, cancel: Callable[[], object]) -> None:
        self.caller = caller
        self.cancel = cancel
        self.begun = self.since = time.monotonic()
        """When it began, and when it began to receive."""
        self.is_receiving = False
        self.admission: threading.Event | None = None
        """Set when it may receive, or is cancelled; None if it need not wait."""


class ReceivingCalls:
    """At most `most` calls, of which `most_receiving` receive at a time.

    Messages usually arrive within moments. While others wait, a call that has not received its message after
    `patience_seconds` can be cancelled.
    """

    def __init__(self, most: int, most_receiving: int, patience_seconds: float) -> None:
        self._most = most
        self._most_receiving = most_receiving
        self._patience_seconds = patience_seconds
        self._calls: dict[_Call, None] = {}
        """All calls, the oldest first."""
        self._receiving = 0
        self._changing = threading.Lock()

    def receive(
        self, caller: str, cancel: Callable[[], object], messages: Iterator[Message]
    ) -> Message | None:
        """Wait until the call may receive a message; return the next one, or None at their end."""
        call = _Call(caller, cancel)
        with self._changing:
            self._calls[call] = None
            removed = self._remove_oldest() if len(self._calls) > self._most else None
            if call.is_receiving:
                pass  # it is admitted in place of the removed one
            elif self._receiving < self._most_receiving and self._receiving == len(self._calls) - 1:
                call.is_receiving = True
                self._receiving += 1
            else:
                call.admission = threading.Event()
                self._serve()
        if removed is not None:
            removed.cancel()
        try:
            while call.admission is not None and not call.admission.wait(self._patience_seconds):
                self._cancel_stalled()
            return next(messages, None)
        finally:
            with self._changing:
                self._remove(call)

    def cancel_late(self, seconds: float) -> float:
        """Cancel calls that began longer ago; return seconds until the next could be late."""
        late, left = [], seconds
        with self._changing:
            now = time.monotonic()
            for call in list(self._calls):
                left = call.begun + seconds - now
                if left > 0:
                    break
                self._remove(call)
                late.append(call)
                left = seconds
        for call in late:
            call.cancel()
        return left

    def _cancel_stalled(self) -> None:
        """Cancel the oldest call that receives, of the caller with the most, if it takes too long."""
        with self._changing:
            numbers = Counter(call.caller for call in self._calls if call.is_receiving)
            if not numbers:
                return
            [(noisiest, _)] = numbers.most_common(1)
            stalled = next(call for call in self._calls if call.is_receiving and call.caller == noisiest)
            if time.monotonic() - stalled.since < self._patience_seconds:
                return
            self._remove(stalled)
        stalled.cancel()

    def _remove_oldest(self) -> _Call:
        """Remove the oldest call of the caller with the most calls."""
        [(noisiest, _)] = Counter(call.caller for call in self._calls).most_common(1)
        oldest = next(call for call in self._calls if call.caller == noisiest)
        self._remove(oldest)
        return oldest

    def _remove(self, call: _Call) -> None:
        """Remove a call, if it is not removed yet; the next may receive."""
        if call in self._calls:
            del self._calls[call]
            if call.admission is not None:
                call.admission.set()
            self._receiving -= call.is_receiving
            self._serve()

    def _serve(self) -> None:
        """Let calls receive: those of the caller with the fewest that receive, the latest first.

        The latest, because it is the least likely to be one that never sends its message.
        """
        while self._receiving < min(self._most_receiving, len(self._calls)):
            call = self._next()
            call.is_receiving, call.since = True, time.monotonic()
            self._receiving += 1
            if call.admission is not None:
                call.admission.set()

    def _next(self) -> _Call:
        waiting = [call for call in reversed(self._calls) if not call.is_receiving]
        if len(waiting) == 1:
            return waiting[0]
        numbers = Counter(call.caller for call in self._calls if call.is_receiving)
        return min(waiting, key=lambda call: numbers[call.caller])
