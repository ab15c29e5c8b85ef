"""Stops a cycle before it is complete, for a caller that cannot wait longer.

The solver reads no clock: the caller of a cycle passes a callable, and the loops of the search call it
now and then. When it says stop, an exception ends the search. Every statement on its way undoes what it has
not committed, so nothing half done is left, and nothing that was committed is lost.
"""

from collections.abc import Callable
from typing import Final

from tenure.terms.cancellation import never

STRIDE: Final = 16
"""Steps between two calls of the caller's function; a step takes microseconds, like the call."""


class CycleStopped(Exception):
    """The cycle must end. Passes through plugins and statements; only actions catch it."""


class StopSignal:
    """Whether the cycle must end. Once set, it remains set."""

    __slots__ = ("_callback", "_steps", "is_set")

    def __init__(self, callback: Callable[[], bool] = never) -> None:
        self.is_set = False
        self._callback = callback
        self._steps = 1

    def check(self) -> None:
        """Called before every small step of a search. Raises CycleStopped if the cycle must end."""
        self._steps -= 1
        if self._steps <= 0:
            self._poll()

    def _poll(self) -> None:
        self.is_set = self.is_set or self._callback()
        if self.is_set:
            raise CycleStopped
        self._steps = STRIDE
