"""A heap that restores the order of its top item only."""

import pytest
from tenure.solver.search.heap import HeapItem, LiveHeap

pytestmark = pytest.mark.interpreted  # the items inherit from a class of the solver


class Item(HeapItem):
    """An item whose sort key can change."""

    def __init__(self, value: int) -> None:
        self.value = value

    def current_key(self) -> tuple[int]:
        return (self.value,)


def heap(*values: int) -> tuple[LiveHeap[Item], list[Item]]:
    found: LiveHeap[Item] = LiveHeap()
    items = [Item(value) for value in values]
    for item in items:
        found.push(item)
    return found, items


def drain(found: LiveHeap[Item]) -> list[int]:
    values = []
    while found.items:
        values.append(found.items[0].value)
        found.pop_top()
    return values


def test_items_are_popped_in_order() -> None:
    assert drain(heap(5, 3, 8, 1, 9, 2, 7)[0]) == [1, 2, 3, 5, 7, 8, 9]


def test_changed_top_sinks_on_fix_r3_5() -> None:
    found, items = heap(1, 2, 3)
    items[0].value = 9
    assert found.items[0] is items[0]
    found.fix_top()
    assert drain(found) == [2, 3, 9]


def test_changed_item_below_the_top_is_not_reordered_r3_5() -> None:
    found, items = heap(1, 2, 3)
    items[2].value = 0
    assert found.items[0] is items[0]
