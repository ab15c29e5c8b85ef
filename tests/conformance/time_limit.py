"""A time limit for one case, so that an endless search fails the case."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

CASE_LIMIT_S = 120


class TimeLimitExceeded(Exception):
    """A case exceeded its time limit."""


@contextmanager
def time_limit(seconds: float = CASE_LIMIT_S) -> Iterator[None]:
    """Raise TimeLimitExceeded in the block after this many seconds. Works only in the main thread."""
    previous = signal.signal(signal.SIGALRM, _raise)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _raise(_signal: int, _frame: FrameType | None) -> None:
    raise TimeLimitExceeded("the case took longer than its time limit")
