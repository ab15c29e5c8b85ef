"""Admission: how many calls and streams may be inside at a time, and none while the server drains."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


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

    def inside(self) -> tuple[int, int]:
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
