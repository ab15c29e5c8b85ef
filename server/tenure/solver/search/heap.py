"""A binary heap over items whose order changes while they are in it (semantics R3.5, R3.7).

Only the top is ever repaired, as in KAI: a changed key further down takes effect when its item reaches the
top. The standard library's heapq cannot compare live items in this way.
"""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar


class HeapItem(ABC):
    """An item of a live heap."""

    __slots__ = ()

    @abstractmethod
    def current_key(self) -> tuple[Any, ...]:
        """Current key for comparisons."""


T = TypeVar("T", bound=HeapItem)


class LiveHeap(Generic[T]):
    """Items ordered by their current keys, evaluated at every comparison; ascending or descending."""

    __slots__ = ("_largest_first", "items")

    def __init__(self, *, largest_first: bool = False) -> None:
        self._largest_first = largest_first
        self.items: list[T] = []
        """Items; the first one is the top, as far as known."""

    def push(self, item: T) -> None:
        """Add an item."""
        items, at = self.items, len(self.items)
        items.append(item)
        if not at:
            return
        key = item.current_key()
        while at:
            parent = (at - 1) // 2
            other = items[parent].current_key()
            if not (key > other if self._largest_first else key < other):
                return
            items[at], items[parent] = items[parent], items[at]
            at = parent

    def fix_top(self) -> None:
        """Move the top to its current position."""
        items, at, child, largest_first = self.items, 0, 1, self._largest_first
        count = len(items)
        if count < 2:
            return
        item = items[0]
        key = item.current_key()
        while child < count:
            best = items[child].current_key()
            if child + 1 < count:
                other = items[child + 1].current_key()
                if other > best if largest_first else other < best:
                    child, best = child + 1, other
            if not (best > key if largest_first else best < key):
                break
            items[at] = items[child]
            at, child = child, 2 * child + 1
        items[at] = item

    def pop_top(self) -> None:
        """Remove the top."""
        last = self.items.pop()
        if self.items:
            self.items[0] = last
            self.fix_top()
