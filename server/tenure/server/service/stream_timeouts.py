"""Streams at their pace: ended when nothing comes, or is taken, for too long, or when the server drains.

Admission: how many calls and streams may be inside at a time, and none while the server drains.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Timer
from typing import Final, TypeVar


class Draining(Exception):
    """The server is about to stop and takes no more calls."""


class TooManyCalls(Exception):
    """As many calls as may wait are waiting already."""


class TooManyStreams(Exception):
    """As many streams as may be open are open already."""


class Admission:
    """Lets in at most `max_calls` calls, and beside them at most `max_streams` streams, at a time."""

    def __init__(self, max_calls: int, max_streams: int) -> None:
        self._calls = self._streams = 0
        self._max_calls = max_calls
        self._max_streams = max_streams
        self._is_draining = False
        self._changed = threading.Condition()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Be inside for one call. Raises Draining or TooManyCalls."""
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
        """Be inside for one stream. Raises Draining or TooManyStreams."""
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
        """Calls and streams that are inside now."""
        with self._changed:
            return self._calls, self._streams

    def refuse_if_draining(self) -> None:
        """Raise Draining when the server is; for streams to ask between two messages."""
        if self._is_draining:
            raise Draining

    def drain(self, timeout: float) -> bool:
        """Let nobody in from now on and wait for those inside; whether all left in `timeout` seconds."""
        with self._changed:
            self._is_draining = True
            return self._changed.wait_for(lambda: self._calls == self._streams == 0, timeout)


Response = TypeVar("Response")

_LOOK_SECONDS: Final = 0.5
"""How often a stream on which nothing comes looks whether the server drains."""


class StreamIdleTimeout(TimeoutError):
    """Nothing came on a stream for too long."""


def receive_with_timeout(
    requests: Iterator[bytes], admission: Admission, idle_seconds: float
) -> Iterator[bytes]:
    """The requests of a stream. Raises StreamIdleTimeout or Draining.

    gRPC lets nobody wait for a request with a timeout, so a thread of its own waits for it; it ends with the
    call. It takes a request when it is asked for one, so a slow reader holds its caller back.
    """
    reader = ThreadPoolExecutor(1, "stream")
    try:
        while (
            request := _wait_for_message(reader.submit(next, requests, None), admission, idle_seconds)
        ) is not None:
            yield request
    finally:
        reader.shutdown(wait=False)


def send_with_timeout(
    responses: Iterator[Response], admission: Admission, hang_up: Callable[[], object], idle_seconds: float
) -> Iterator[Response]:
    """The responses of a stream; hangs up on a caller who takes too long for one. Raises Draining."""
    for response in responses:
        admission.refuse_if_draining()
        patience = Timer(idle_seconds, hang_up)
        patience.daemon = True
        patience.start()
        try:
            yield response
        finally:
            patience.cancel()


def _wait_for_message(
    coming: "Future[bytes | None]", admission: Admission, idle_seconds: float
) -> bytes | None:
    """The next request, or None at the end of the stream."""
    waited = 0.0
    while True:
        admission.refuse_if_draining()
        try:
            return coming.result(min(_LOOK_SECONDS, idle_seconds - waited))
        except TimeoutError:
            waited += _LOOK_SECONDS
            if waited >= idle_seconds:
                raise StreamIdleTimeout from None
