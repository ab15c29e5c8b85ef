"""What time it is: as this machine says, if the API server agrees; else as the API server says.

Objects carry times of the API server, and of adapters that led before on other machines. An adapter whose
clock is ahead of these would end protections early; one that is behind would never end them. Every answer of
the API server says when it was given, to the second, so a clock that is wrong is noticed with the first call,
and none of its times gets anywhere. What is left open of a second counts as not over, so nothing ends too
early. Between two answers time passes as a stopwatch says: a clock that is set meanwhile changes nothing.
"""

import logging
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

_SECOND: Final = 10**9
_TOLERANCE: Final = 2 * _SECOND
"""Clocks that are kept in step differ by less."""
_LOG: Final = logging.getLogger(__name__)


class ApiClock:
    """Compares clocks. `hear` of every answer, from any thread."""

    def __init__(self) -> None:
        self._offset: int | None = None
        """What the time is more than the stopwatch, in nanoseconds; None: nothing was heard yet."""
        self._is_wrong = False

    def read(self) -> int:
        """Now, in nanoseconds since 1970."""
        return time.time_ns() if self._offset is None else time.monotonic_ns() + self._offset

    def observe(self, date: str, requested_at: int) -> None:
        """An answer with this date in its head; `asked` is what the stopwatch (monotonic_ns) said before."""
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
            _LOG.warning("The clock of this machine is wrong: the API server says %s, which counts.", there)
        self._is_wrong = is_wrong
