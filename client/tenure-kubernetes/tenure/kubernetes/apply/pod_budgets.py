"""Disruption budgets of pods, as observed.

The API server has the last word at each eviction. A budget is looked up so that nothing is evicted for a
group that a budget would stop half-way.
"""

from collections.abc import Iterable

from tenure.integration.ports import EvictionBudget
from tenure.kubernetes.objects.budgets import DisruptionBudget
from tenure.kubernetes.objects.pod import Pod, is_ready
from tenure.kubernetes.observe.disruption_budgets import BudgetIndex


class PodBudgets:
    """Budgets as they are now."""

    def __init__(self, budgets: Iterable[DisruptionBudget]) -> None:
        self._index = BudgetIndex(budgets)

    def of(self, pod: Pod) -> list[EvictionBudget]:
        """Budgets that select a pod, by name.

        The API server can permit the eviction of a pod that is not ready although nothing is left, so what
        is left does not count for it; nor does an outdated number.
        """
        found = self._index.selecting(pod)
        space = pod.metadata.namespace
        counts = is_ready(pod)
        return [
            EvictionBudget(f"{space}/{budget.metadata.name}", _left(budget) if counts else None)
            for budget in found
        ]


def _left(budget: DisruptionBudget) -> int | None:
    """Number of evictions that a budget permits; None: it was changed and not counted since."""
    is_current = budget.status.observed_generation >= budget.metadata.generation
    return budget.status.disruptions_allowed if is_current else None
