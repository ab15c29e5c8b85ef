"""Candidates are computed once and shared by all searches."""

from collections.abc import Iterator
from itertools import islice

from tenure.solver.model.rejection import Rejection
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.queue_tree import QueueTreeEntry
from tenure.solver.search.speedups.candidate_sharing import CandidateStream
from tenure.solver.search.speedups.pod_group_index import PodGroupIndex
from tenure.solver.search.victim_entries import VictimEntries
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode

from tests.solver.sessions import open_session

PROTECTED = Rejection(ReasonCode.MIN_RUNTIME, "for a while", until=7)
JOBS = 4


class FakeVictimChecker:
    """Permits all victims except some that a guard protects for a time, and records its calls."""

    def __init__(self, *spared: int) -> None:
        self.spared = spared
        self.guarded: list[int] = []
        self.protected_victims: list[int] = []

    def rejection(self, victim: int) -> Rejection | None:
        self.guarded.append(victim)
        return PROTECTED if victim in self.spared else None

    def keeps_core(self, victim: int) -> bool:
        return False

    def note_protection(self, victim: int, rejection: Rejection) -> None:
        assert rejection is PROTECTED
        self.protected_victims.append(victim)


def open_stream() -> CandidateStream:
    """Candidates of a queue with jobs 0 to 3. The youngest comes first."""
    builder = ClusterBuilder().node("n", gpus=8).queue("q")
    for number in range(JOBS):
        builder.running(f"job{number}", queue="q", gpus=1, node="n", created_ago=f"{JOBS - number}h")
    session = open_session(builder.build())
    gangs = GangPlanner(session)
    return CandidateStream(
        (0, (0, 0)), PodGroupIndex(session, gangs).evictable_victims(0), VictimEntries(session, gangs)
    )


def groups(found: Iterator[QueueTreeEntry], count: int = JOBS) -> list[int]:
    return [entry.pod_group for entry in islice(found, count)]


def test_candidates_are_generated_on_demand() -> None:
    judge = FakeVictimChecker()
    assert groups(open_stream().in_order(judge), 1) == [3]
    assert judge.guarded == [3]


def test_next_search_reuses_checked_candidates() -> None:
    candidates, first, second = open_stream(), FakeVictimChecker(), FakeVictimChecker()
    assert groups(candidates.in_order(first)) == groups(candidates.in_order(second)) == [3, 2, 1, 0]
    assert first.guarded == [3, 2, 1, 0]
    assert second.guarded == []


def test_protected_candidate_is_reported_to_every_search() -> None:
    candidates = open_stream()
    first, second, third = FakeVictimChecker(3, 1), FakeVictimChecker(3, 1), FakeVictimChecker(3, 1)
    assert groups(candidates.in_order(first)) == [2, 0]
    assert groups(candidates.in_order(second)) == [2, 0]
    assert second.protected_victims == [3, 1]
    passing = candidates.in_order(third)
    assert next(passing).pod_group == 2
    assert third.protected_victims == [3]
