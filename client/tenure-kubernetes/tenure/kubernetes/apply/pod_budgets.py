"""Disruption budgets of pods, as observed.

The API server has the last word at each eviction. A budget is looked up so that nothing is evicted for a
group that a budget would stop half-way.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from tenure.integration.ports import EvictionBudget
from tenure.kubernetes.objects.budgets import DisruptionBudget
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.volumes.matching import selects

_ANY: Final = ("", "")
"""Label of budgets whose selector has expressions only."""


class PodBudgets:
    """Budgets as they are now, by namespace and one label of their selectors."""

    def __init__(self, budgets: Iterable[DisruptionBudget]) -> None:
        self._found: dict[tuple[str, tuple[str, str]], list[DisruptionBudget]] = {}
        for budget in budgets:
            if budget.spec.selector is not None:
                label = min(budget.spec.selector.match_labels.items(), default=_ANY)
                self._found.setdefault((budget.metadata.namespace, label), []).append(budget)

    def of(self, pod: Pod) -> list[EvictionBudget]:
        """Budgets that select a pod, by name.

        The API server can permit the eviction of a pod that is not ready although nothing is left, so what
        is left does not count for it; nor does an outdated number.
        """
        found = sorted(self._selecting(pod), key=lambda one: one.metadata.name)
        space = pod.metadata.namespace
        is_ready = any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)
        return [
            EvictionBudget(f"{space}/{budget.metadata.name}", _left(budget) if is_ready else None)
            for budget in found
        ]

    def _selecting(self, pod: Pod) -> Iterator[DisruptionBudget]:
        meta = pod.metadata
        for label in (_ANY, *meta.labels.items()):
            for budget in self._found.get((meta.namespace, label), ()):
                if budget.spec.selector is not None and selects(budget.spec.selector, meta.labels):
                    yield budget


def _left(budget: DisruptionBudget) -> int | None:
    """Number of evictions that a budget permits; None: it was changed and not counted since."""
    is_current = budget.status.observed_generation >= budget.metadata.generation
    return budget.status.disruptions_allowed if is_current else None
