"""Tasks that name disruption budgets, kept from cycle to cycle."""

from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.resolution.slot_map import SlotChange


class BudgetedTasks:
    """Tasks that name disruption budgets, by index, and how many name each."""

    def __init__(self) -> None:
        self.names: dict[int, tuple[str, ...]] = {}
        self.counts: dict[str, int] = {}

    @classmethod
    def of(cls, cluster: Cluster) -> "BudgetedTasks":
        """Those of a cluster."""
        made = cls()
        for task in cluster.tasks:
            if task.facts.disruption_budgets:
                made._add(task.index, task.facts.disruption_budgets)
        return made

    def copy(self) -> "BudgetedTasks":
        """Independent copy."""
        other = BudgetedTasks()
        other.names, other.counts = self.names.copy(), self.counts.copy()
        return other

    def follow(self, cluster: Cluster, change: SlotChange) -> None:
        """Become those of a cluster that differs by this change."""
        for index in change.tasks:
            for name in self.names.pop(index, ()):
                self.counts[name] -= 1
                if not self.counts[name]:
                    del self.counts[name]
            names = cluster.tasks[index].facts.disruption_budgets
            if names:
                self._add(index, names)

    def _add(self, task: int, names: tuple[str, ...]) -> None:
        self.names[task] = names
        for name in names:
            self.counts[name] = self.counts.get(name, 0) + 1


BUDGETED_TASKS: Final = Derived(BudgetedTasks.of, BudgetedTasks.follow, BudgetedTasks.copy)
