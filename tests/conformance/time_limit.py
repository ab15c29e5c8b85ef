"""A limit on the time one case may take, so that a search without end is a failed case."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

CASE_LIMIT_S = 120


class TimeLimitExceeded(Exception):
    """The time limit of a case is over."""


@contextmanager
def time_limit(seconds: float = CASE_LIMIT_S) -> Iterator[None]:
    """Raises TimeLimitExceeded in the block after so many seconds. Only for the main thread of a process."""
    previous = signal.signal(signal.SIGALRM, _raise)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _raise(_signal: int, _frame: FrameType | None) -> None:
    raise TimeLimitExceeded("the case took longer than its time limit")
