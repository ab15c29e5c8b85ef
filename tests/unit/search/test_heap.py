"""A heap that puts right its top only."""

from tenure.solver.search.heap import LiveHeap, Ranked


class Item(Ranked):
    """Something whose order may change."""

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


def drained(found: LiveHeap[Item]) -> list[int]:
    values = []
    while found.items:
        values.append(found.items[0].value)
        found.pop_top()
    return values


def test_items_come_out_in_order() -> None:
    assert drained(heap(5, 3, 8, 1, 9, 2, 7)[0]) == [1, 2, 3, 5, 7, 8, 9]


def test_a_top_that_changed_sinks_when_it_is_fixed_r3_5() -> None:
    found, items = heap(1, 2, 3)
    items[0].value = 9
    assert found.items[0] is items[0]
    found.fix_top()
    assert drained(found) == [2, 3, 9]


def test_an_item_that_changed_below_the_top_is_not_looked_for_r3_5() -> None:
    found, items = heap(1, 2, 3)
    items[2].value = 0
    assert found.items[0] is items[0]
