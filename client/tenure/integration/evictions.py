"""The order of evictions in one pass, and lanes: evictions that a budget limits take turns.

An API server counts evictions of one budget by optimistic updates. Of two at the same time one fails, and is
repeated by the server after half a second; its disruption controller updates the count, too. So one follows
the other, except that the next does not wait for one that takes long.
"""

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Final, NamedTuple

from tenure.integration.journal_entry import JournalEntry
from tenure.integration.ports import EvictionBudget
from tenure.v1.decision_pb2 import Decision

MAX_PER_LANE: Final = 4
"""Maximum number of evictions of one lane at the same time."""
PATIENCE_SECONDS: Final = 0.15
"""Time after which the next eviction of a lane does not wait for the last one: without a conflict, an
eviction takes up to 0.1 seconds.
"""


class Eviction(NamedTuple):
    """An eviction of a group, and its lane."""

    group: "GroupEvictions"
    decision: Decision
    lane: str
    """The first budget that limits it; of others, their id."""


class GroupEvictions:
    """The evictions of a journal entry in one pass, in an order that seldom leaves half a gang.

    Each stage begins when the one before has ended. Those that a budget limits come first, the very first one
    alone; then one other; then the rest at once. The first that is not applied ends the evictions of a group
    that needs all. Threads set `has_ended`.
    """

    def __init__(
        self,
        entry: JournalEntry,
        decisions: Iterable[Decision],
        budgets_of: Callable[[Decision], Sequence[EvictionBudget]],
    ) -> None:
        self.entry, self.check_first = entry, entry.check_first
        self.has_ended = False
        """Whether no further one is sent in this pass."""
        self._budgets: list[EvictionBudget] = []
        limited, others = list[Eviction](), list[Eviction]()
        for decision in decisions:
            found = budgets_of(decision)
            lane = min((budget.name for budget in found), default=decision.id)
            (limited if found else others).append(Eviction(self, decision, lane))
            self._budgets += found
        self.stages: Sequence[Sequence[Eviction]] = (limited[:1], limited[1:], others[:1], others[1:])

    def reserve(self, taken: "Counter[str]") -> str:
        """Add what the evictions take from budgets to what earlier groups of this pass have taken.

        Returns which budget permits too few evictions for all of them, or ""; then nothing is added.
        """
        needs = Counter(budget for budget in self._budgets if budget.left is not None)
        for budget, needed in needs.items():
            left = max((budget.left or 0) - taken[budget.name], 0)
            if left < needed:
                return f"disruption budget {budget.name} permits {left} of {needed} evictions now"
        taken.update({budget.name: needed for budget, needed in needs.items()})
        return ""


class Lane:
    """Lets evictions take turns. Threads may share it: each ends one eviction before it takes the next."""

    def __init__(self) -> None:
        self.waiting: deque[Eviction] = deque()
        self._last: Eviction | None = None
        """The one that began last, until it ends."""
        self._began_at = 0.0
        self._changed = threading.Condition()

    def next(self) -> Eviction | None:
        """The next one, when its turn has come; None: nothing is left."""
        with self._changed:
            while self.waiting and self._last is not None:
                patience = self._began_at + PATIENCE_SECONDS - monotonic()
                if patience <= 0:
                    break
                self._changed.wait(patience)
            if not self.waiting:
                self._changed.notify_all()
                return None
            self._last, self._began_at = self.waiting.popleft(), monotonic()
            return self._last

    def end(self, eviction: Eviction) -> None:
        """An eviction ended."""
        with self._changed:
            if eviction is self._last:
                self._last = None
                self._changed.notify()


def share_lanes(evictions: Iterable[Eviction]) -> list[Lane]:
    """The lanes, each as often as threads may share it; every lane once before any is shared."""
    lanes: dict[str, Lane] = {}
    for eviction in evictions:
        lanes.setdefault(eviction.lane, Lane()).waiting.append(eviction)
    sizes = [(lane, len(lane.waiting)) for lane in lanes.values()]
    return [lane for number in range(MAX_PER_LANE) for lane, size in sizes if size > number]
