"""The maximum number of running pod groups of a queue (semantics R19.10)."""

from collections.abc import Sequence
from typing import final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import Placement
from tenure.solver.model.rejection import Rejection
from tenure.terms.formatting import format_count
from tenure.terms.reasons import ReasonCode


@final
class RunningGate:
    """Pod groups with running pods, by queue; follows every move. Terminating pods do not count."""

    def __init__(self, cluster: Cluster, paths: Sequence[Sequence[int]]) -> None:
        self._tasks, self._paths = cluster.tasks, paths
        self._names = [queue.name for queue in cluster.queues]
        self._most = {q.index: q.rules.max_running for q in cluster.queues if q.rules.max_running is not None}
        self.is_idle = not self._most
        """Whether no queue has a maximum."""
        self._active: dict[int, int] = {}
        """Running pods by pod group."""
        self._running: dict[int, int] = dict.fromkeys(self._most, 0)
        for task in cluster.tasks if self._most else ():
            if task.placement.is_active_allocated:
                self._add(task.pod_group, 1)

    def on_move(self, index: int, before: Placement, after: Placement) -> None:
        """Count the pod group of the task while it has running pods."""
        change = after.is_active_allocated - before.is_active_allocated
        if change:
            self._add(self._tasks[index].pod_group, change)

    def find_rejection(self, pod_group: int) -> Rejection | None:
        """Rejection by the first queue, from the leaf up, in which it would be one too many."""
        if self._active.get(pod_group):
            return None
        for queue in self._paths[pod_group]:
            most = self._most.get(queue)
            if most is not None and self._running[queue] >= most:
                number = format_count(most, "running pod group")
                detail = f"queue {self._names[queue]} would exceed its limit of {number}"
                return Rejection(ReasonCode.OVER_LIMIT, detail)
        return None

    def _add(self, pod_group: int, change: int) -> None:
        before = self._active.get(pod_group, 0)
        after = self._active[pod_group] = before + change
        if bool(before) != bool(after):
            for queue in self._paths[pod_group]:
                if queue in self._running:
                    self._running[queue] += 1 if after else -1
