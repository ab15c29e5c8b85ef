"""A persistent vector behaves like a list; its versions share memory without affecting each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenure.solver.model.persistent_vector import CHUNK_SIZE, PersistentVector

COUNTS = [0, 1, CHUNK_SIZE - 1, CHUNK_SIZE, 3 * CHUNK_SIZE, 3 * CHUNK_SIZE + 1]
CHANGES = st.lists(st.one_of(st.none(), st.integers(0, 2 * CHUNK_SIZE - 1)))
"""Index of the item to replace. None appends an item."""


@pytest.mark.parametrize("count", COUNTS)
def test_vector_contains_its_items(count: int) -> None:
    column = PersistentVector(range(count))
    assert list(column) == [column[index] for index in range(len(column))] == list(range(count))
    assert list(reversed(column)) == list(reversed(range(count)))
    for index in (count, -1):
        with pytest.raises(IndexError):
            column[index]


@given(CHANGES)
def test_later_version_does_not_change_an_earlier_one(changes: list[int | None]) -> None:
    plain = list(range(2 * CHUNK_SIZE))
    earlier = PersistentVector(plain)
    later, expected = earlier.next_version(), plain.copy()
    for number, index in enumerate(changes):
        at = len(expected) if index is None else index
        later.put(at, -number)
        expected[at : at + 1] = [-number]
    assert list(later) == expected
    assert list(earlier) == plain
    assert (later == PersistentVector(expected), hash(later)) == (True, hash(PersistentVector(expected)))


def test_versions_are_equal_when_their_items_are() -> None:
    column = PersistentVector("abc")
    later = column.next_version()
    assert later == column
    later.put(1, "B")
    assert later != column
    assert repr(later) == "Column(['a', 'B', 'c'])"
