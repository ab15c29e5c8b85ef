"""Candidates of one search: evictable pod groups of a queue, and their allocated resources.

Guards usually give the same result for many preemptors. Results are cached for the next preemptors until a
commit changes the queue.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from tenure.solver.model.rejection import Rejection
from tenure.solver.search.queue_tree import QueueTreeEntry
from tenure.solver.search.victim_entries import SkippedVictims, VictimEntries


class VictimPolicy(Protocol):
    """Determines the candidates for one preemptor."""

    def allows_queue(self, queue: int) -> bool:
        """Whether any pod group of a leaf queue may be a victim."""

    def candidates(self, queue: int) -> Iterator[QueueTreeEntry]:
        """Candidates of a leaf queue with their allocated resources, worst first; only evictable ones."""


class VictimChecker(Protocol):
    """Checks whether pod groups may be victims, and notes protections that end."""

    def rejection(self, victim: int) -> Rejection | None:
        """Why it may not be a victim."""

    def keeps_core(self, victim: int) -> bool:
        """Whether a victim must keep its core."""

    def note_protection(self, victim: int, rejection: Rejection) -> None:
        """Note a protection that ends; every checker receives all of them, cached ones included."""


class ProtectedCandidate(NamedTuple):
    """A pod group with a protection that ends, and the number of candidates before it."""

    place: int
    pod_group: int
    rejection: Rejection


class CandidateStream:
    """Candidates of a queue, computed on demand, worst first."""

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
        """All candidates; the checker receives protections as they are passed."""
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
