"""Callers that called lately: a place is kept for them, so that their next call begins at once."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final

KEPT_SECONDS: Final = 10.0
"""How long a place is kept for a caller after its last call."""
_MAX_CALLERS: Final = 256
"""Maximum number of callers that are remembered."""


class RecentCallers:
    """Callers by their last call. Not thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._called: OrderedDict[str, float] = OrderedDict()
        """Time of the last call of each caller, the latest last."""

    def remember(self, caller: str) -> None:
        """Note that a caller calls now."""
        self._called[caller] = self._clock()
        self._called.move_to_end(caller)
        if len(self._called) > _MAX_CALLERS:
            self._called.popitem(last=False)

    def others(self, caller: str) -> Iterator[str]:
        """The other callers, the latest first."""
        oldest = self._clock() - KEPT_SECONDS
        for name in reversed(self._called):
            if self._called[name] < oldest:
                return
            if name != caller:
                yield name
