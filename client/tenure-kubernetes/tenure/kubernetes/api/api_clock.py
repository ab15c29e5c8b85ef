"""The time of the adapter: the local clock while it agrees with the API server, else the API server's clock.

Objects carry times of the API server, and of adapters on other machines. With a clock that is ahead of these,
protections would end early; with a clock that is behind, they would end late. Every response of the API
server has its time, to the second, so a wrong clock is noticed with the first call. The unknown fraction of a
second counts as not elapsed, so nothing ends early. Between two responses the monotonic clock counts: a
change of the wall clock has no effect.
"""

import logging
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

_SECOND: Final = 10**9
_TOLERANCE: Final = 2 * _SECOND
"""Synchronized clocks differ by less."""
_LOG: Final = logging.getLogger(__name__)


class ApiClock:
    """Compares clocks. Call `observe` for every response, from any thread."""

    def __init__(self) -> None:
        self._offset: int | None = None
        """Time minus monotonic time, in nanoseconds. None: no response yet."""
        self._is_wrong = False

    def read(self) -> int:
        """Now, in nanoseconds since 1970."""
        return time.time_ns() if self._offset is None else time.monotonic_ns() + self._offset

    def observe(self, date: str, requested_at: int) -> None:
        """Compare clocks at a response with this date; `requested_at` is monotonic_ns before the call."""
        try:
            moment = parsedate_to_datetime(date)
        except ValueError:
            return
        answered = time.monotonic_ns()
        second = int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()) * _SECOND
        least, most = second - answered, second + _SECOND - requested_at
        own = time.time_ns() - answered
        is_wrong = not least - _TOLERANCE <= own <= most + _TOLERANCE
        if is_wrong:
            known = self._offset if self._is_wrong and self._offset is not None else least
            self._offset = min(max(known, least), most)
        else:
            self._offset = own
        if is_wrong and not self._is_wrong:
            there = datetime.fromtimestamp(second / _SECOND, UTC)
            _LOG.warning("The local clock is wrong. Using the time of the API server: %s", there)
        self._is_wrong = is_wrong
