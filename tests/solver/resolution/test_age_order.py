"""An age order behaves like a sorted list; its versions share memory without affecting each other."""

from bisect import insort
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tenure.solver.resolution.age_order import CHUNK_SIZE, GAP, AgeOrder

UIDS = st.text("abc", min_size=1, max_size=6)


class PlainAgeOrder:
    """Reference implementation: ages in one list, each with its rank."""

    def __init__(self, creations: list[tuple[int, str]]) -> None:
        self.ages = AgeOrder.from_creations(creations)
        self.plain = [(*age, place * GAP) for place, age in enumerate(sorted(creations))]

    def enter(self, creation: int, uid: str) -> int | None:
        rank = self.ages.enter(creation, uid)
        if rank is not None:
            insort(self.plain, (creation, uid, rank))
        return rank

    def remove(self, place: int) -> None:
        creation, uid, _ = self.plain.pop(place)
        self.ages.remove(creation, uid)

    def check(self) -> None:
        in_order = [rank for _, _, rank in self.plain]
        assert all(older < younger for older, younger in pairwise(in_order))
        assert list(self.ages.ranks().items()) == [(uid, rank) for _, uid, rank in self.plain]
        assert len(self.ages) == len(self.plain)


@given(st.integers(0, 2), st.lists(st.one_of(st.integers(0, 10_000), UIDS)))
def test_ranks_are_in_age_order_after_any_changes(pieces: int, moves: list[int | str]) -> None:
    """A change that is a number removes the pod group at that position; any other change adds one."""
    ranked = PlainAgeOrder([(i % 7, f"old-{i}") for i in range(pieces * CHUNK_SIZE)])
    for number, move in enumerate(moves):
        if isinstance(move, str):
            ranked.enter(len(move), f"{move}-{number}")
        elif ranked.plain:
            ranked.remove(move % len(ranked.plain))
    ranked.check()


def test_age_order_grows_and_shrinks_by_chunks() -> None:
    ranked = PlainAgeOrder([])
    for i in range(5 * CHUNK_SIZE):
        ranked.enter(i % 3, f"new-{i:04}")
    ranked.check()
    while ranked.plain:
        ranked.remove(len(ranked.plain) // 2)
    ranked.check()


def test_later_version_does_not_change_an_earlier_one() -> None:
    earlier = AgeOrder.from_creations([(1, "a"), (2, "b")])
    later = earlier.next_version()
    later.remove(1, "a")
    later.enter(3, "c")
    assert (list(earlier.ranks()), list(later.ranks())) == (["a", "b"], ["b", "c"])


def test_no_rank_is_assigned_between_adjacent_ranks() -> None:
    ranked = AgeOrder([(1, "a", 0), (3, "b", 1)])
    assert ranked.enter(2, "c") is None
    assert list(ranked.ranks()) == ["a", "b"]
    assert (ranked.enter(0, "first"), ranked.enter(4, "last")) == (-GAP, 1 + GAP)
