"""Candidates are drawn once and told to everybody alike."""

from collections.abc import Iterator
from itertools import islice

from tenure.solver.model.reason import ReasonCode, Rejection
from tenure.solver.search.candidates import Drawn
from tenure.solver.search.gang import Gangs
from tenure.solver.search.holdings import Holdings
from tenure.solver.search.podgrouplists import PodGroupLists
from tenure.solver.search.queuetree import Entry
from tenure.solver.testing import ClusterBuilder

from tests.sessions import open_session

SPARED = Rejection(ReasonCode.MIN_RUNTIME, "for a while", until=7)
JOBS = 4


class Judge:
    """Lets everybody pass but some, whom a guard protects for a time; remembers whom it was asked about."""

    def __init__(self, *spared: int) -> None:
        self.spared = spared
        self.asked: list[int] = []
        self.told: list[int] = []

    def objection(self, victim: int) -> Rejection | None:
        self.asked.append(victim)
        return SPARED if victim in self.spared else None

    def keeps_core(self, victim: int) -> bool:
        return False

    def note(self, victim: int, rejection: Rejection) -> None:
        assert rejection is SPARED
        self.told.append(victim)


def drawn() -> Drawn:
    """Of a queue with jobs 0 to 3; the youngest goes first."""
    builder = ClusterBuilder().node("n", gpus=8).queue("q")
    for number in range(JOBS):
        builder.running(f"job{number}", queue="q", gpus=1, node="n", created_ago=f"{JOBS - number}h")
    session = open_session(builder.build())
    gangs = Gangs(session)
    return Drawn(0, PodGroupLists(session, gangs).takeable(0), Holdings(session, gangs))


def groups(found: Iterator[Entry], count: int = JOBS) -> list[int]:
    return [entry.pod_group for entry in islice(found, count)]


def test_a_search_draws_no_further_than_it_looks() -> None:
    judge = Judge()
    assert groups(drawn().in_order(judge), 1) == [3]
    assert judge.asked == [3]


def test_the_next_search_meets_the_same_without_asking_again() -> None:
    candidates, first, second = drawn(), Judge(), Judge()
    assert groups(candidates.in_order(first)) == groups(candidates.in_order(second)) == [3, 2, 1, 0]
    assert first.asked == [3, 2, 1, 0]
    assert second.asked == []


def test_who_is_protected_is_told_to_every_search_that_passes_by() -> None:
    candidates = drawn()
    first, second, third = Judge(3, 1), Judge(3, 1), Judge(3, 1)
    assert groups(candidates.in_order(first)) == [2, 0]
    assert groups(candidates.in_order(second)) == [2, 0]
    assert second.told == [3, 1]
    passing = candidates.in_order(third)
    assert next(passing).pod_group == 2
    assert third.told == [3]
