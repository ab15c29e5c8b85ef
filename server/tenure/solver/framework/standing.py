"""Who stands where when a cycle begins: pod groups that wait, that run, and that are not whole."""

from tenure.solver.framework.opening import Opening
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.slots import Change
from tenure.solver.model.workload import PodGroup, PodSet


class Standing:
    """Pod groups and tasks by index."""

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

    def copy(self) -> "Standing":
        """The same, to be changed apart."""
        other = Standing()
        other.waiting, other.running = self.waiting.copy(), self.running.copy()
        other.partial, other.blocked = self.partial.copy(), self.blocked.copy()
        return other

    def follow(self, cluster: Cluster, change: Change) -> None:
        """Be that of a cluster, which may differ by a change from this."""
        for index in change.pod_groups:
            for standing in (self.waiting, self.running, self.partial):
                standing.discard(index)
            self._look(cluster, cluster.pod_groups[index])
        for index in change.tasks:
            (self.blocked.add if cluster.tasks[index].blocked_by else self.blocked.discard)(index)

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
    return opening.get(
        "standing", lambda: Standing.of(cluster), lambda left, change: left.follow(cluster, change)
    )
