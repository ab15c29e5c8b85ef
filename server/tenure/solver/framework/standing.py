"""Who stands where when a cycle begins: pod groups that wait, that run, and that are not whole."""

from tenure.solver.framework.opening import Opening
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.slots import Change
from tenure.solver.model.workload import PodGroup, PodSet


class Standing:
    """Pod groups and tasks by index. Not changed once it is made."""

    def __init__(self) -> None:
        self.waiting: set[int] = set()
        """With tasks to schedule."""
        self.running: set[int] = set()
        """With tasks that hold room."""
        self.partial: set[int] = set()
        """Below their minimum, or noted as such."""
        self.blocked: set[int] = set()
        """Tasks that cannot be placed, by the caller's knowledge."""

    @classmethod
    def of(cls, cluster: Cluster) -> "Standing":
        """Of everybody in a cluster."""
        made = cls()
        for group in cluster.pod_groups:
            made._look(cluster, group)
        made.blocked = {task.index for task in cluster.tasks if task.blocked_by}
        return made

    def after(self, cluster: Cluster, change: Change) -> "Standing":
        """The same of a cluster that differs by a change."""
        other = Standing()
        other.waiting, other.running = self.waiting.copy(), self.running.copy()
        other.partial, other.blocked = self.partial.copy(), self.blocked.copy()
        for index in change.pod_groups:
            for standing in (other.waiting, other.running, other.partial):
                standing.discard(index)
            other._look(cluster, cluster.pod_groups[index])
        for index in change.tasks:
            (other.blocked.add if cluster.tasks[index].blocked_by else other.blocked.discard)(index)
        return other

    def _look(self, cluster: Cluster, group: PodGroup) -> None:
        root = group.root
        if root.is_lone and root.members[0] is group.pod_sets[0]:
            is_met = self._look_at(cluster, group, group.pod_sets[0]) >= group.pod_sets[0].min_available
        else:
            is_met = root.is_met({s.index: self._look_at(cluster, group, s) for s in group.pod_sets})
        if group.stale_since is not None or not is_met:
            self.partial.add(group.index)

    def _look_at(self, cluster: Cluster, group: PodGroup, pod_set: PodSet) -> int:
        """The number of its tasks that use room."""
        count = 0
        for task in pod_set.tasks:
            placement = cluster.tasks[task].placement
            if placement.use:
                count += 1
                if placement.is_allocated:
                    self.running.add(group.index)
            elif placement.status is TaskStatus.PENDING:
                self.waiting.add(group.index)
        return count


def standing_of(cluster: Cluster, opening: Opening | None) -> Standing:
    """Who stands where in a cluster."""
    if opening is None:
        return Standing.of(cluster)
    found: Standing = opening.get(
        "standing", lambda: Standing.of(cluster), lambda before, change: before.after(cluster, change)
    )
    return found
