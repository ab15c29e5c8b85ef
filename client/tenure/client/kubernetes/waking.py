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
        self._heard_at: float | None = None

    def ring(self) -> None:
        """Something changed. Returns at once."""
        if self._heard_at is None:
            self._heard_at = time.monotonic()
        self._rung.set()

    def take_heard(self) -> float | None:
        """When it rang first since this was asked last, by the monotonic clock; None: it did not."""
        heard, self._heard_at = self._heard_at, None
        return heard

    def wait(self, seconds: float | None) -> None:
        """Return soon after a ring, or after some seconds; None: after a ring only."""
        if self._rung.wait(None if seconds is None else max(seconds, QUIET_SECONDS)):
            time.sleep(QUIET_SECONDS)
            self._rung.clear()
