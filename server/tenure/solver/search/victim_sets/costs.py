"""What the victims of decision groups cost (semantics R14.10)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, final

from tenure.solver.framework.commit import Commit
from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Evict
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.resources import GPU
from tenure.solver.model.verdict import NO_COST, UNTRIED_SET, EvictionCost, VictimCost, VictimSet
from tenure.solver.model.workload import Counts
from tenure.terms.reasons import OWN_ENDS

_TAKES: Final = (TaskStatus.PIPELINED, TaskStatus.BINDING)


@final
class VictimCosts:
    """Prices the victims of one cycle."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pricing: Final = next(iter(session.chains.eviction_costs), None)
        self.is_known: Final = self._pricing is not None
        self._active: dict[int, dict[int, int]] = {}
        """Active tasks by pod set, of the pod groups that were evicted from."""

    def of(self, pod_group: int, active: Counts, tasks: Sequence[int]) -> EvictionCost:
        """Cost of taking these tasks from a pod group with these counts; nothing if no plugin says."""
        if self._pricing is None:
            return NO_COST
        return self._pricing.eviction_cost(pod_group, active, tasks)

    def total(self, taken: Mapping[int, Sequence[int]]) -> int:
        """Of tasks by pod group, in the state of the ledger."""
        active = self._session.ledger.active_allocated
        return sum([self.of(pod_group, active, tasks).cost for pod_group, tasks in taken.items()])

    def known(self, commit: Commit, evictions: Sequence[Evict], tasks: Iterable[int]) -> VictimSet | None:
        """What is known about the victims of a commit, priced, with their excess; None: nothing.

        `tasks` are all that it moves. Pods that end by themselves, or were announced, have no excess.
        To be called commit by commit: what an earlier one takes of a victim is gone.
        """
        if not evictions:
            return commit.victim_set
        found = self._priced(commit.victim_set, evictions)
        if commit.reason in OWN_ENDS or commit.in_flight:
            return found
        excess = self._excess_gpu_milli(evictions, commit.beneficiary, tasks)
        return (found or UNTRIED_SET)._replace(excess_gpu_milli=excess) if excess else found

    def _excess_gpu_milli(self, evictions: Sequence[Evict], beneficiary: int, tasks: Iterable[int]) -> int:
        """GPUs that evictions free beyond those that the beneficiary takes, in thousandths (R14.23)."""
        ledger, facts = self._session.ledger, self._session.cluster.tasks
        gone = [each for each in evictions if not each.relocating]
        freed = sum([ledger.share(facts[each.task], each.node)[GPU] for each in gone])
        for task in tasks if freed else ():
            place = ledger.placements[task]
            if facts[task].pod_group == beneficiary and place.status in _TAKES:
                freed -= ledger.share(facts[task], place.node)[GPU]
        return max(freed, 0)

    def _priced(self, known: VictimSet | None, evictions: Sequence[Evict]) -> VictimSet | None:
        """What is known about the victims, with their costs."""
        if not self.is_known:
            return known
        taken: dict[int, list[int]] = {}
        facts = self._session.cluster.tasks
        for eviction in evictions:
            taken.setdefault(facts[eviction.task].pod_group, []).append(eviction.task)
        costs: list[VictimCost] = []
        for pod_group, tasks in sorted(taken.items()):
            active = self._active_tasks(pod_group)
            costs.append(VictimCost(pod_group, len(tasks), self.of(pod_group, active, tasks)))
            for task in tasks:
                pod_set = facts[task].pod_set
                if pod_set is not None:
                    active[pod_set] -= 1
        return (known or UNTRIED_SET)._replace(costs=tuple(costs))

    def _active_tasks(self, pod_group: int) -> dict[int, int]:
        """Active tasks at the beginning of the cycle, without those that were priced."""
        active = self._active.get(pod_group)
        if active is None:
            tasks = self._session.cluster.tasks
            active = self._active[pod_group] = {
                pod_set.index: sum([tasks[task].placement.is_allocated for task in pod_set.tasks])
                for pod_set in self._session.cluster.pod_groups[pod_group].pod_sets
            }
        return active
