"""Stops a cycle before it is complete, for a caller that cannot wait longer.

The solver reads no clock: the caller of a cycle passes a callable, and the loops of the search call it
now and then. When it says stop, an exception ends the search. Every statement on its way undoes what it has
not committed, so nothing half done is left, and nothing that was committed is lost.

A caller that also tells how much time is left gives actions time slices: what works in a slice looks at
`is_slice_over` where it can go on later. Only an attempt to allocate is left by an exception.
"""

from collections.abc import Callable
from typing import Final

from tenure.terms.cancellation import never, time_left_of

STRIDE: Final = 16
"""Steps between two calls of the caller's function; a step takes microseconds, like the call."""


class CycleStopped(Exception):
    """The cycle must end. Passes through plugins and statements; only actions catch it."""


class SliceOver(Exception):
    """The slice is over. Only attempts to allocate raise it; the placer catches it and undoes their moves."""


class CommitLimitReached(Exception):
    """The cycle has made as many commits as it was to make. Only who set the limit catches it."""


class StopSignal:
    """Whether the cycle must end. Once set, it remains set."""

    __slots__ = ("_callback", "_left", "_slice_end", "_steps", "has_mattered", "is_set", "is_slice_over")

    def __init__(self, callback: Callable[[], bool] = never) -> None:
        self.is_set = False
        self.is_slice_over = False
        """Whether what works in a slice is to end and go on later; as of the last look at the time."""
        self.has_mattered = False
        """Whether a slice was over at any time: without a deadline, the result may be another one."""
        self._callback = callback
        self._left = time_left_of(callback)
        self._slice_end: int | None = None
        self._steps = 1

    @property
    def has_time(self) -> bool:
        """Whether the caller tells how much time is left."""
        return self._left is not None

    def time_left(self) -> int:
        """Time until the cycle must end, in units of the caller."""
        assert self._left is not None
        return self._left()

    def begin_slice(self, end: int | None) -> None:
        """Begin a slice, which is over when no more than this time is left; None: when the cycle must end."""
        self._slice_end, self.is_slice_over = end, False

    def check(self) -> None:
        """Called before every small step of a search. Raises CycleStopped if the cycle must end."""
        self._steps -= 1
        if self._steps <= 0:
            self._poll()

    def check_slice(self) -> None:
        """Like `check`, but also raises SliceOver if the slice is over."""
        self.check()
        if self.is_slice_over:
            raise SliceOver

    def _poll(self) -> None:
        self.is_set = self.is_set or self._callback()
        if self.is_set:
            raise CycleStopped
        if self._slice_end is not None and self._left is not None and not self.is_slice_over:
            self.is_slice_over = self._left() <= self._slice_end
            self.has_mattered = self.has_mattered or self.is_slice_over
        self._steps = STRIDE
