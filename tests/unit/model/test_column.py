"""Columns are plain lists, whose versions have pieces in common and never show it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenure.solver.model.column import PIECE, Column

COUNTS = [0, 1, PIECE - 1, PIECE, 3 * PIECE, 3 * PIECE + 1]
CHANGES = st.lists(st.one_of(st.none(), st.integers(0, 2 * PIECE - 1)))
"""Indices of items to replace; none: one more at the end."""


@pytest.mark.parametrize("count", COUNTS)
def test_items_are_those_that_were_given(count: int) -> None:
    column = Column(range(count))
    assert list(column) == [column[index] for index in range(len(column))] == list(range(count))
    assert list(reversed(column)) == list(reversed(range(count)))
    for index in (count, -1):
        with pytest.raises(IndexError):
            column[index]


@given(CHANGES)
def test_a_later_version_changes_nothing_of_an_earlier_one(changes: list[int | None]) -> None:
    plain = list(range(2 * PIECE))
    earlier = Column(plain)
    later, expected = earlier.after(), plain.copy()
    for number, index in enumerate(changes):
        at = len(expected) if index is None else index
        later.put(at, -number)
        expected[at : at + 1] = [-number]
    assert list(later) == expected
    assert list(earlier) == plain
    assert (later == Column(expected), hash(later)) == (True, hash(Column(expected)))


def test_versions_are_equal_when_their_items_are() -> None:
    column = Column("abc")
    later = column.after()
    assert later == column
    later.put(1, "B")
    assert later != column
    assert repr(later) == "Column(['a', 'B', 'c'])"
