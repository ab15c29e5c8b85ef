"""What the cores of semi-preemptible pod groups use: non-preemptible use, as far as they go (R8.30, R8.32).

Which tasks are core follows from where all tasks of the pod group are, so it is looked up when somebody
asks for non-preemptible use, and only for pod groups that moved. Moves cost nothing more, and undone moves
leave no trace.
"""

from collections.abc import Collection

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import Share
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugins.proportion.initial_usage import FIRM, FIRM_CORE
from tenure.solver.plugins.proportion.usage import Usage


class CoreUsage:
    """Counts the cores into the usage."""

    def __init__(self, session: Session, usage: Usage) -> None:
        self._session = session
        self._usage = usage
        self._counted: dict[int, dict[int, Share]] = {group: {} for group in usage.changed_cores}
        """What is counted, by pod group and task."""

    def recount(self) -> None:
        """Count the cores as they are now."""
        for pod_group in self._usage.changed_cores:
            self._recount(pod_group)
        self._usage.changed_cores.clear()

    def firm_demand(self, group: PodGroup, tasks: Collection[int], demand: Share) -> Share | None:
        """What of the demand of these tasks must be within quota, for nobody can take it back; None: nothing.

        Of a semi-preemptible pod group it is what its core grows by: as a rule all of the demand until its
        minimum is met, and nothing afterwards.
        """
        kind = self._usage.kinds[group.index]
        if kind != FIRM_CORE:
            return demand if kind == FIRM else None
        entering, leaving = self._session.cores.shift(group.index, tasks)
        if not entering:
            return None
        cpu, memory, gpu = demand if len(entering) == len(tasks) else self._session.demand(entering)
        for task in leaving:
            share = self._share(task)
            cpu, memory, gpu = cpu - share[0], memory - share[1], gpu - share[2]
        return (cpu, memory, gpu)

    def _recount(self, pod_group: int) -> None:
        counted = self._counted[pod_group]
        core = {task: self._share(task) for task in self._session.cores.current(pod_group)}
        for task, share in counted.items():
            if core.get(task) != share:
                self._usage.enter_core(task, share, -1)
        for task, share in core.items():
            if counted.get(task) != share:
                self._usage.enter_core(task, share, 1)
        self._counted[pod_group] = core

    def _share(self, task: int) -> Share:
        ledger = self._session.ledger
        return ledger.share(ledger.tasks[task], ledger.placements[task].node)
