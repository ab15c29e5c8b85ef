"""The evictions of one decision group that are left to send, in an order that seldom leaves half a gang.

Those that a budget limits come first, one after the other; then one other; then the rest at once. The first
that is not applied ends the evictions of a group that needs all.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from tenure.integration.journal_entry import JournalEntry
from tenure.integration.ports import EvictionBudget
from tenure.v1.decision_pb2 import Decision


class GroupEvictions:
    """Evictions of a journal entry in one pass. Threads set `has_ended`."""

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
        limited, others = list[Decision](), list[Decision]()
        for decision in decisions:
            found = budgets_of(decision)
            (limited if found else others).append(decision)
            self._budgets += found
        self.in_turn: Sequence[Decision] = [*limited, *others[:1]]
        """Those that are sent one after the other."""
        self.at_once: Sequence[Decision] = others[1:]
        """Those that are sent afterwards, in parallel."""

    @property
    def exceeded_budget(self) -> str:
        """Which budget permits too few evictions for all of them, or ""."""
        for budget, needed in Counter(self._budgets).items():
            if budget.left is not None and budget.left < needed:
                return f"disruption budget {budget.name} permits {budget.left} of {needed} evictions now"
        return ""
