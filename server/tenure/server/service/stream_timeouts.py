"""Admission of calls and streams, and idle timeouts of streams."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Timer
from typing import Final, TypeVar

from tenure.server.shard import Draining


class TooManyCalls(Exception):
    """The maximum number of calls is queued already."""


class TooManyStreams(Exception):
    """The maximum number of streams is open already."""


class Admission:
    """Admits at most `max_calls` calls and, in addition, at most `max_streams` streams at a time."""

    def __init__(self, max_calls: int, max_streams: int) -> None:
        self._calls = self._streams = 0
        self._max_calls = max_calls
        self._max_streams = max_streams
        self._is_draining = False
        self._changed = threading.Condition()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Admit one call for the block. Raises Draining or TooManyCalls."""
        with self._changed:
            self.refuse_if_draining()
            if self._calls >= self._max_calls:
                raise TooManyCalls
            self._calls += 1
        try:
            yield
        finally:
            with self._changed:
                self._calls -= 1
                self._changed.notify_all()

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Admit one stream for the block. Raises Draining or TooManyStreams."""
        with self._changed:
            self.refuse_if_draining()
            if self._streams >= self._max_streams:
                raise TooManyStreams
            self._streams += 1
        try:
            yield
        finally:
            with self._changed:
                self._streams -= 1
                self._changed.notify_all()

    def load(self) -> tuple[int, int]:
        """Admitted calls and streams."""
        with self._changed:
            return self._calls, self._streams

    def refuse_if_draining(self) -> None:
        """Raise Draining if the server is draining; called by streams between two messages."""
        if self._is_draining:
            raise Draining

    def drain(self, timeout: float) -> bool:
        """Admit nothing from now on and wait; return whether all ended within `timeout` seconds."""
        with self._changed:
            self._is_draining = True
            return self._changed.wait_for(lambda: self._calls == self._streams == 0, timeout)


Response = TypeVar("Response")

LOOK_SECONDS: Final = 0.5
"""Interval at which an idle stream checks whether it must end."""


class StreamIdleTimeout(TimeoutError):
    """A stream was idle for too long."""


def receive_with_timeout(
    requests: Iterator[bytes], check: Callable[[], None], idle_seconds: float
) -> Iterator[bytes]:
    """The requests of a stream. Raises StreamIdleTimeout, or what `check` raises twice a second.

    gRPC has no timeout for receiving a request, so a thread of its own receives; it ends with the call. It
    receives one request at a time on demand, so a slow reader slows its caller down.
    """
    reader = ThreadPoolExecutor(1, "stream")
    try:
        while (
            request := _wait_for_message(reader.submit(next, requests, None), check, idle_seconds)
        ) is not None:
            yield request
    finally:
        reader.shutdown(wait=False)


def send_with_timeout(
    responses: Iterator[Response],
    check: Callable[[], None],
    hang_up: Callable[[], object],
    idle_seconds: float,
) -> Iterator[Response]:
    """Responses of a stream; cancels if the caller is too slow to receive one. Raises what `check` raises."""
    for response in responses:
        check()
        patience = Timer(idle_seconds, hang_up)
        patience.daemon = True
        patience.start()
        try:
            yield response
        finally:
            patience.cancel()


def _wait_for_message(
    coming: "Future[bytes | None]", check: Callable[[], None], idle_seconds: float
) -> bytes | None:
    """Next request, or None at the end of the stream."""
    waited = 0.0
    while True:
        check()
        try:
            return coming.result(min(LOOK_SECONDS, idle_seconds - waited))
        except TimeoutError:
            waited += LOOK_SECONDS
            if waited >= idle_seconds:
                raise StreamIdleTimeout from None
