"""Ages are a plain sorted list, whose versions have pieces in common and never show it."""

from bisect import insort
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tenure.solver.model.ages import GAP, PIECE, Ages

UIDS = st.text("abc", min_size=1, max_size=6)


class Plain:
    """Ages in one list, each with the rank it got."""

    def __init__(self, creations: list[tuple[int, str]]) -> None:
        self.ages = Ages.ranked(creations)
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
def test_ranks_are_in_the_order_of_age_whoever_comes_and_goes(pieces: int, moves: list[int | str]) -> None:
    """A move that is a number lets the pod group at that place go, another lets one come."""
    ranked = Plain([(i % 7, f"old-{i}") for i in range(pieces * PIECE)])
    for number, move in enumerate(moves):
        if isinstance(move, str):
            ranked.enter(len(move), f"{move}-{number}")
        elif ranked.plain:
            ranked.remove(move % len(ranked.plain))
    ranked.check()


def test_ages_grow_and_shrink_by_pieces() -> None:
    ranked = Plain([])
    for i in range(5 * PIECE):
        ranked.enter(i % 3, f"new-{i:04}")
    ranked.check()
    while ranked.plain:
        ranked.remove(len(ranked.plain) // 2)
    ranked.check()


def test_a_later_version_of_ages_changes_nothing_of_an_earlier_one() -> None:
    earlier = Ages.ranked([(1, "a"), (2, "b")])
    later = earlier.after()
    later.remove(1, "a")
    later.enter(3, "c")
    assert (list(earlier.ranks()), list(later.ranks())) == (["a", "b"], ["b", "c"])


def test_there_is_no_rank_between_neighbours_that_have_none_left() -> None:
    ranked = Ages([(1, "a", 0), (3, "b", 1)])
    assert ranked.enter(2, "c") is None
    assert list(ranked.ranks()) == ["a", "b"]
    assert (ranked.enter(0, "first"), ranked.enter(4, "last")) == (-GAP, 1 + GAP)
