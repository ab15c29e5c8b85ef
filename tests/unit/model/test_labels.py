"""Labels are a plain sorted list, in which places are found."""

from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenure.solver.model.column import PIECE
from tenure.solver.model.labels import Labels

UIDS = st.text("abc", min_size=1, max_size=6)
COUNTS = [0, 1, PIECE - 1, PIECE, 3 * PIECE, 3 * PIECE + 1]


def names(count: int) -> list[str]:
    return [f"pod-{i:04}" for i in range(count)]


@pytest.mark.parametrize("count", COUNTS)
def test_labels_are_those_that_were_given(count: int) -> None:
    given_labels = names(count)
    found = Labels(given_labels)
    assert list(found) == [found[slot] for slot in range(len(found))] == given_labels
    assert [found.find(uid) for uid in given_labels] == list(range(count))


@given(st.lists(UIDS).map(sorted), UIDS)
def test_a_place_is_before_everything_that_is_not_smaller(given_labels: list[str], uid: str) -> None:
    many = sorted([*given_labels, *(f"b{i}" for i in range(PIECE))])
    place = bisect_left(many, uid)
    assert Labels(many).place(uid) == place
    assert Labels(many).find(uid) == (place if place < len(many) and many[place] == uid else -1)


@given(st.lists(st.tuples(st.integers(0, 2 * PIECE), UIDS)))
def test_a_later_version_finds_what_it_was_given(changes: list[tuple[int, str]]) -> None:
    plain = names(2 * PIECE)
    earlier = Labels(plain)
    later, expected = earlier.after(), plain.copy()
    for slot, label in changes:
        later.put(slot, label)
        expected[slot : slot + 1] = [label]
    assert list(later) == expected
    assert list(earlier) == plain
    assert [later._firsts, earlier._firsts] == [expected[::PIECE], plain[::PIECE]]
