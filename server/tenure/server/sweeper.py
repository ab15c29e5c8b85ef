"""A thread that looks again and again whether the time of something is over."""

import threading
from collections.abc import Callable
from typing import Final

_SHORTEST_PAUSE_SECONDS: Final = 0.05
"""So that a clock that is a little early does not keep the thread busy."""


class Sweeper:
    """Sweeps whenever there may be something to sweep away, from `start` to `stop`.

    `sweep` says in how many seconds that is.
    """

    def __init__(self, sweep: Callable[[], float]) -> None:
        self._sweep = sweep
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True)

    def start(self) -> None:
        """Begin. May be called once."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for it; does nothing when it did not begin."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(self._pause()):
            pass

    def _pause(self) -> float:
        return min(max(self._sweep(), _SHORTEST_PAUSE_SECONDS), threading.TIMEOUT_MAX)
