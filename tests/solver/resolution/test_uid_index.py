"""A uid index behaves like a sorted list that finds positions."""

from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenure.solver.model.persistent_vector import CHUNK_SIZE
from tenure.solver.resolution.uid_index import UidIndex

UIDS = st.text("abc", min_size=1, max_size=6)
COUNTS = [0, 1, CHUNK_SIZE - 1, CHUNK_SIZE, 3 * CHUNK_SIZE, 3 * CHUNK_SIZE + 1]


def names(count: int) -> list[str]:
    return [f"pod-{i:04}" for i in range(count)]


@pytest.mark.parametrize("count", COUNTS)
def test_index_contains_its_uids(count: int) -> None:
    given_labels = names(count)
    found = UidIndex(given_labels)
    assert list(found) == [found[slot] for slot in range(len(found))] == given_labels
    assert [found.find(uid) for uid in given_labels] == list(range(count))


@given(st.lists(UIDS).map(sorted), UIDS)
def test_position_is_before_the_first_uid_that_is_not_smaller(given_labels: list[str], uid: str) -> None:
    many = sorted([*given_labels, *(f"b{i}" for i in range(CHUNK_SIZE))])
    place = bisect_left(many, uid)
    assert UidIndex(many).place(uid) == place
    assert UidIndex(many).find(uid) == (place if place < len(many) and many[place] == uid else -1)


@given(st.lists(st.tuples(st.integers(0, 2 * CHUNK_SIZE), UIDS)))
def test_later_version_finds_its_own_uids(changes: list[tuple[int, str]]) -> None:
    plain = names(2 * CHUNK_SIZE)
    earlier = UidIndex(plain)
    later, expected = earlier.next_version(), plain.copy()
    for slot, label in changes:
        later.put(slot, label)
        expected[slot : slot + 1] = [label]
    assert list(later) == expected
    assert list(earlier) == plain
    assert [later._firsts, earlier._firsts] == [expected[::CHUNK_SIZE], plain[::CHUNK_SIZE]]
