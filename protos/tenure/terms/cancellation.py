"""Ends work for a call that has ended: its deadline passed, or it was cancelled.

Code below the transport reads no clock. It receives a function that raises when the call has ended, and calls
it every few steps. The exception passes through; what was being built is dropped, and nothing was changed.
"""

from collections.abc import Callable
from typing import Any, Final

STRIDE: Final = 256
"""Steps between two calls of the function; a step takes microseconds, like the call."""


def no_check() -> None:
    """For work that is never ended."""


def never() -> bool:
    """Never stops a cycle."""
    return False


class Pace:
    """Calls a function every few steps."""

    __slots__ = ("_check", "_left")

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self._left = STRIDE

    def step(self) -> None:
        """One small step of a loop, such as one row or one entry."""
        self._left -= 1
        if self._left <= 0:
            self._left = STRIDE
            self._check()


def check_of(stop: Callable[[], bool]) -> Callable[[], None]:
    """The method `check` of a deadline, which raises when its call has ended; none for other functions."""
    if stop is never:  # to look for what it does not have is slow
        return no_check
    check: Any = getattr(stop, "check", no_check)
    return check  # type: ignore[no-any-return]  # a protocol would be looked up for every cycle


def time_left_of(stop: Callable[[], bool]) -> Callable[[], int] | None:
    """The method `search_time_left` of a deadline: microseconds until a search must stop; None: no method."""
    if stop is never:
        return None
    left: Any = getattr(stop, "search_time_left", None)
    return left  # type: ignore[no-any-return]  # as above
