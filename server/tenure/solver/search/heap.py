"""A binary heap over items whose order changes while they are in it (semantics R3.5, R3.7).

Only the top is ever put right again, as the reference does it: an item whose key changed further down is
found out when it surfaces. The standard library's heapq cannot compare live items this way.
"""

from collections.abc import Callable
from operator import gt, lt
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class LiveHeap(Generic[T]):
    """Items ordered by `key(item)`, asked anew whenever the item is compared; smaller first, or the other
    way round.
    """

    def __init__(self, key: Callable[[T], Any], *, largest_first: bool = False) -> None:
        self._key = key
        self._before = gt if largest_first else lt
        self.items: list[T] = []
        """The first item, as far as is known, is the first."""

    def __len__(self) -> int:
        return len(self.items)

    def push(self, item: T) -> None:
        """Add an item."""
        items, before, at = self.items, self._before, len(self.items)
        items.append(item)
        if not at:
            return
        key = self._key(item)
        while at and before(key, self._key(items[parent := (at - 1) // 2])):
            items[at], items[parent] = items[parent], items[at]
            at = parent

    def fix_top(self) -> None:
        """Let the top sink to where it belongs now."""
        items, before, at, count = self.items, self._before, 0, len(self.items)
        if count < 2:
            return
        item, key = items[0], self._key(items[0])
        while (child := 2 * at + 1) < count:
            best = self._key(items[child])
            if child + 1 < count and before(other := self._key(items[child + 1]), best):
                child, best = child + 1, other
            if not before(best, key):
                break
            items[at] = items[child]
            at = child
        items[at] = item

    def pop_top(self) -> None:
        """Remove the top."""
        last = self.items.pop()
        if self.items:
            self.items[0] = last
            self.fix_top()
