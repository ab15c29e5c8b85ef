"""What the victims of decision groups cost (semantics R14.10)."""

from collections.abc import Sequence
from typing import Final, final

from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Evict
from tenure.solver.model.verdict import UNTRIED_SET, VictimCost, VictimSet


@final
class VictimCosts:
    """Prices the victims of one cycle, group by group: what an earlier group takes of a victim is gone."""

    def __init__(self, session: Session) -> None:
        self._cluster = session.cluster
        self._pricing: Final = next(iter(session.chains.eviction_costs), None)
        self._active: dict[int, dict[int, int]] = {}
        """Active tasks by pod set, of the pod groups that were evicted from."""

    def priced(self, known: VictimSet | None, evictions: Sequence[Evict]) -> VictimSet | None:
        """What is known about the victims of a group, with their costs."""
        if self._pricing is None or not evictions:
            return known
        tasks_of: dict[int, list[int]] = {}
        for eviction in evictions:
            tasks_of.setdefault(self._cluster.tasks[eviction.task].pod_group, []).append(eviction.task)
        costs: list[VictimCost] = []
        for pod_group, tasks in sorted(tasks_of.items()):
            active = self._active_tasks(pod_group)
            price = self._pricing.eviction_cost(pod_group, active, tasks)
            costs.append(VictimCost(pod_group, len(tasks), price))
            for task in tasks:
                pod_set = self._cluster.tasks[task].pod_set
                if pod_set is not None:
                    active[pod_set] -= 1
        return (known or UNTRIED_SET)._replace(costs=tuple(costs))

    def _active_tasks(self, pod_group: int) -> dict[int, int]:
        """Active tasks at the beginning of the cycle, without those that were priced."""
        active = self._active.get(pod_group)
        if active is None:
            tasks = self._cluster.tasks
            active = self._active[pod_group] = {
                pod_set.index: sum([tasks[task].placement.is_allocated for task in pod_set.tasks])
                for pod_set in self._cluster.pod_groups[pod_group].pod_sets
            }
        return active
