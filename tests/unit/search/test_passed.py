"""Pod groups of which nothing may go are passed over, and count with the next victim of their queue."""

from tenure.solver.model.resources import Share
from tenure.solver.search.holdings import Held, Passed
from tenure.solver.search.queuetree import Entry


def entry(number: int, gpus: int, *, is_core: bool = False) -> Entry:
    """A pod group with one task, all of which may go or none."""
    held = Held({0: [number]}, frozenset([number]) if is_core else None, () if is_core else (number,))
    return Entry((number,), number, (1, 2, gpus), held)


def passed_over(*entries: Entry) -> list[tuple[int, Share]]:
    """Who is left, and what counts as taken with them."""
    passed = Passed()
    found = [passed.over(each) for each in entries]
    return [(each.pod_group, each.share) for each in found if each is not None]


def test_whoever_may_go_is_left_as_it_is() -> None:
    first, second = entry(1, 1000), entry(2, 2000)
    passed = Passed()
    assert passed.over(first) is first
    assert passed.over(second) is second


def test_who_may_not_counts_with_the_next_one_and_once() -> None:
    cores = [entry(1, 1000, is_core=True), entry(2, 2000, is_core=True)]
    found = passed_over(*cores, entry(3, 3000), entry(4, 4000))
    assert found == [(3, (3, 6, 6000)), (4, (1, 2, 4000))]


def test_who_comes_last_counts_for_nothing() -> None:
    assert passed_over(entry(1, 1000), entry(2, 2000, is_core=True)) == [(1, (1, 2, 1000))]


def test_what_a_known_entry_holds_stays_what_it_is() -> None:
    known = entry(2, 2000)
    passed_over(entry(1, 1000, is_core=True), known)
    assert known.share == (1, 2, 2000)
