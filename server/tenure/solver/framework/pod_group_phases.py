"""Phases of pod groups when a cycle begins: pending, held, running, and below their minimum."""

from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.workload import PodGroup, PodSet
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.resolution.slot_map import SlotChange


class PodGroupPhases:
    """Pod groups and tasks by index."""

    def __init__(self) -> None:
        self.pending: set[int] = set()
        """Pod groups with pending tasks."""
        self.held: set[int] = set()
        """Pod groups that are held, with tasks that are neither allocated nor ended."""
        self.running: set[int] = set()
        """Pod groups with allocated tasks."""
        self.stale: set[int] = set()
        """Pod groups that run below their minimum, or are marked stale by the caller."""
        self.blocked: set[int] = set()
        """Tasks that cannot be placed according to the caller."""

    @classmethod
    def of(cls, cluster: Cluster) -> "PodGroupPhases":
        """Phases of all pod groups of a cluster."""
        made = cls()
        for group in cluster.pod_groups:
            made._classify(cluster, group)
        made.blocked = {task.index for task in cluster.tasks if task.facts.blocked_reason}
        return made

    def copy(self) -> "PodGroupPhases":
        """Independent copy."""
        other = PodGroupPhases()
        other.pending, other.running = self.pending.copy(), self.running.copy()
        other.held = self.held.copy()
        other.stale, other.blocked = self.stale.copy(), self.blocked.copy()
        return other

    def follow(self, cluster: Cluster, change: SlotChange) -> None:
        """Become the phases of a cluster that differs by this change."""
        for index in change.pod_groups:
            for standing in (self.pending, self.held, self.running, self.stale):
                standing.discard(index)
            self._classify(cluster, cluster.pod_groups[index])
        for index in change.tasks:
            (self.blocked.add if cluster.tasks[index].facts.blocked_reason else self.blocked.discard)(index)

    def _classify(self, cluster: Cluster, group: PodGroup) -> None:
        root = group.root
        if root.is_lone and root.members[0] is group.pod_sets[0]:
            count = self._classify_pod_set(cluster, group, group.pod_sets[0])
            is_met = count >= group.pod_sets[0].min_available
        else:
            counts = {s.index: self._classify_pod_set(cluster, group, s) for s in group.pod_sets}
            count, is_met = sum(counts.values()), root.is_met(counts)
        if group.facts.stale_since is not None or (count and not is_met):
            self.stale.add(group.index)

    def _classify_pod_set(self, cluster: Cluster, group: PodGroup, pod_set: PodSet) -> int:
        """Number of its active tasks."""
        count = 0
        for task in pod_set.tasks:
            placement = cluster.tasks[task].placement
            if placement.use:
                count += 1
                if placement.is_allocated:
                    self.running.add(group.index)
            elif placement.status is TaskStatus.PENDING:
                self.pending.add(group.index)
            elif placement.status is TaskStatus.GATED and group.facts.victim.held_by:
                self.held.add(group.index)
        return count


PHASES: Final = Derived(PodGroupPhases.of, PodGroupPhases.follow, PodGroupPhases.copy)
