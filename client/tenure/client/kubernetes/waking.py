"""When the next round begins: soon after something changed, or when time alone may change the answer."""

import threading
import time
from typing import Final

QUIET_SECONDS: Final = 0.1
"""Changes come in bursts, a job's pods or the effects of what was applied: they are waited for this long."""


class Alarm:
    """Wakes one thread. Others call `ring`, any number of times."""

    def __init__(self) -> None:
        self._rung = threading.Event()

    def ring(self) -> None:
        """Something changed. Returns at once."""
        self._rung.set()

    def wait(self, until_seconds: float | None) -> None:
        """Return soon after a ring, or at a time in seconds since 1970."""
        left = None if until_seconds is None else max(until_seconds - time.time(), QUIET_SECONDS)
        if self._rung.wait(left):
            time.sleep(QUIET_SECONDS)
            self._rung.clear()
