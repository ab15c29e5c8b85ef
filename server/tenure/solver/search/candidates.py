"""Possible victims of one search: who of a queue may yield, and what they hold.

As a rule guards say the same to many preemptors. So what was found out for one is kept for the next ones,
until a commit changes the queue.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from tenure.solver.model.rejection import Rejection
from tenure.solver.search.queue_tree import QueueTreeEntry
from tenure.solver.search.victim_entries import SkippedVictims, VictimEntries


class VictimPolicy(Protocol):
    """Who may yield to one pod group."""

    def allows_queue(self, queue: int) -> bool:
        """Whether any pod group of a leaf queue may be a victim."""

    def candidates(self, queue: int) -> Iterator[QueueTreeEntry]:
        """What possible victims of a leaf queue hold, worst first; nobody of whom nothing may be taken."""


class VictimChecker(Protocol):
    """Says of each pod group whether it may be a victim, and notes whom a guard protects for a time."""

    def rejection(self, victim: int) -> Rejection | None:
        """Why it may not."""

    def keeps_core(self, victim: int) -> bool:
        """Whether a victim must keep its minimum."""

    def note_protection(self, victim: int, rejection: Rejection) -> None:
        """A protection that ends; every one is told, whoever found it."""


class ProtectedCandidate(NamedTuple):
    """A pod group that is protected for a time, and how many candidates come before it."""

    place: int
    pod_group: int
    rejection: Rejection


class CandidateStream:
    """Candidates of a queue as far as anybody asked, worst first."""

    __slots__ = ("_entries", "_protected", "_skipped", "_victim_entries", "_victims", "version")

    def __init__(
        self, version: int, victims: Iterator[tuple[tuple[int, ...], int]], holdings: VictimEntries
    ) -> None:
        """`victims` are keys and pod groups, from a list of that version."""
        self.version = version
        self._victims = victims
        self._victim_entries = holdings
        self._skipped = SkippedVictims()
        self._entries: list[QueueTreeEntry] = []
        self._protected: list[ProtectedCandidate] = []

    def in_order(self, checker: VictimChecker) -> Iterator[QueueTreeEntry]:
        """All candidates; the judge is told of the spared ones as they are passed."""
        entries, spared, number, passed = self._entries, self._protected, 0, 0
        while True:
            is_there = number < len(entries) or self._draw(checker)
            while passed < len(spared) and spared[passed].place <= number:
                checker.note_protection(spared[passed].pod_group, spared[passed].rejection)
                passed += 1
            if not is_there:
                return
            yield entries[number]
            number += 1

    def _draw(self, checker: VictimChecker) -> bool:
        """Find one more candidate."""
        for key, pod_group in self._victims:
            rejection = checker.rejection(pod_group)
            if rejection is None:
                known = self._victim_entries.entry(key, pod_group, checker.keeps_core(pod_group))
                entry = self._skipped.skip_or_merge(known)
                if entry is not None:
                    self._entries.append(entry)
                    return True
            elif rejection.until is not None:
                self._protected.append(ProtectedCandidate(len(self._entries), pod_group, rejection))
        return False
