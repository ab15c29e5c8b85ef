"""A thread that removes expired items."""

import threading
from collections.abc import Callable
from typing import Final

_SHORTEST_PAUSE_SECONDS: Final = 0.05
"""Minimum pause, so that a slightly early clock does not keep the thread busy."""


class Sweeper:
    """Calls `sweep` whenever items may have expired, from `start` to `stop`.

    `sweep` returns the seconds until its next call.
    """

    def __init__(self, sweep: Callable[[], float]) -> None:
        self._sweep = sweep
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True)

    def start(self) -> None:
        """Start the thread. May be called once."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it; no effect if it was not started."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(self._pause()):
            pass

    def _pause(self) -> float:
        return min(max(self._sweep(), _SHORTEST_PAUSE_SECONDS), threading.TIMEOUT_MAX)
