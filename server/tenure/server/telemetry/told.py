"""What was said already, so that a log says it once."""

from collections import OrderedDict
from collections.abc import Hashable


class Told:
    """Remembers the `most` things that came up last. For one thread at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._things: OrderedDict[Hashable, None] = OrderedDict()

    def is_new(self, thing: Hashable) -> bool:
        """Whether it comes up for the first time, as far as memory goes; it is remembered from now on."""
        is_new = thing not in self._things
        self._things[thing] = None
        self._things.move_to_end(thing)
        if len(self._things) > self._most:
            self._things.popitem(last=False)
        return is_new
