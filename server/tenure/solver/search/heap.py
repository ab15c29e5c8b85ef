"""A binary heap over items whose order changes while they are in it (semantics R3.5, R3.7).

Only the top is ever put right again, as the reference does it: an item whose key changed further down is
found out when it surfaces. The standard library's heapq cannot compare live items this way.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class LiveHeap(Generic[T]):
    """Items ordered by `before(a, b)`, asked anew at every comparison."""

    def __init__(self, before: Callable[[T, T], bool]) -> None:
        self._before = before
        self._items: list[T] = []

    def __len__(self) -> int:
        return len(self._items)

    @property
    def top(self) -> T:
        """The first item, as far as is known."""
        return self._items[0]

    def push(self, item: T) -> None:
        """Add an item."""
        items, at = self._items, len(self._items)
        items.append(item)
        while at and self._before(items[at], items[(at - 1) // 2]):
            parent = (at - 1) // 2
            items[at], items[parent] = items[parent], items[at]
            at = parent

    def fix_top(self) -> None:
        """Let the top sink to where it belongs now."""
        items, at = self._items, 0
        while (child := 2 * at + 1) < len(items):
            right = child + 1
            if right < len(items) and self._before(items[right], items[child]):
                child = right
            if not self._before(items[child], items[at]):
                return
            items[at], items[child] = items[child], items[at]
            at = child

    def pop_top(self) -> None:
        """Remove the top."""
        last = self._items.pop()
        if self._items:
            self._items[0] = last
            self.fix_top()
