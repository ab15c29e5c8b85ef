"""Possible victims of one search: who of a queue may yield, and what they hold.

As a rule guards say the same to many preemptors. So what was found out for one is kept for the next ones,
until a commit changes the queue.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from tenure.solver.model.reason import Rejection
from tenure.solver.search.holdings import Holdings, Passed
from tenure.solver.search.queuetree import Entry


class Yielding(Protocol):
    """Who may yield to one pod group."""

    def allows_queue(self, queue: int) -> bool:
        """Whether any pod group of a leaf queue may be a victim."""

    def candidates(self, queue: int) -> Iterator[Entry]:
        """What possible victims of a leaf queue hold, worst first; nobody of whom nothing may be taken."""


class Judge(Protocol):
    """Says of each pod group whether it may be a victim, and notes whom a guard protects for a time."""

    def objection(self, victim: int) -> Rejection | None:
        """Why it may not."""

    def keeps_core(self, victim: int) -> bool:
        """Whether a victim must keep its minimum."""

    def note(self, victim: int, rejection: Rejection) -> None:
        """A protection that ends; every one is told, whoever found it."""


class Spared(NamedTuple):
    """A pod group that is protected for a time, and how many candidates come before it."""

    place: int
    pod_group: int
    rejection: Rejection


class Drawn:
    """Candidates of a queue as far as anybody asked, worst first."""

    __slots__ = ("_entries", "_holdings", "_passed", "_spared", "_victims", "version")

    def __init__(
        self, version: int, victims: Iterator[tuple[tuple[int, ...], int]], holdings: Holdings
    ) -> None:
        """`victims` are keys and pod groups, from a list of that version."""
        self.version = version
        self._victims = victims
        self._holdings = holdings
        self._passed = Passed()
        self._entries: list[Entry] = []
        self._spared: list[Spared] = []

    def in_order(self, judge: Judge) -> Iterator[Entry]:
        """All candidates; the judge is told of the spared ones as they are passed."""
        entries, spared, number, passed = self._entries, self._spared, 0, 0
        while True:
            is_there = number < len(entries) or self._draw(judge)
            while passed < len(spared) and spared[passed].place <= number:
                judge.note(spared[passed].pod_group, spared[passed].rejection)
                passed += 1
            if not is_there:
                return
            yield entries[number]
            number += 1

    def _draw(self, judge: Judge) -> bool:
        """Find one more candidate."""
        for key, pod_group in self._victims:
            rejection = judge.objection(pod_group)
            if rejection is None:
                known = self._holdings.entry(key, pod_group, judge.keeps_core(pod_group))
                entry = self._passed.over(known)
                if entry is not None:
                    self._entries.append(entry)
                    return True
            elif rejection.until is not None:
                self._spared.append(Spared(len(self._entries), pod_group, rejection))
        return False
