"""Phases of pod groups when a cycle begins: pending, held, running, and below their minimum."""

from collections import Counter
from typing import Final

from tenure.solver.framework.ledger import Ledger
from tenure.solver.model.facts import NO_VICTIM_FACTS
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.workload import PodGroup
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
        """Pod groups that run below their minimum or that of a subgroup, or that the caller marked stale."""
        self.blocked: set[int] = set()
        """Tasks that cannot be placed according to the caller."""

    @classmethod
    def of(cls, ledger: Ledger) -> "PodGroupPhases":
        """Phases of all pod groups of a cluster, from what its ledger counted."""
        made = cls()
        for group in ledger.cluster.pod_groups:
            made._classify(ledger, group)
        made.blocked = {task.index for task in ledger.tasks if task.facts.blocked_reason}
        return made

    def copy(self) -> "PodGroupPhases":
        """Independent copy."""
        other = PodGroupPhases()
        other.pending, other.running = self.pending.copy(), self.running.copy()
        other.held = self.held.copy()
        other.stale, other.blocked = self.stale.copy(), self.blocked.copy()
        return other

    def follow(self, ledger: Ledger, change: SlotChange) -> None:
        """Become the phases of a cluster that differs by this change; the ledger followed it before."""
        for index in change.pod_groups:
            for standing in (self.pending, self.held, self.running, self.stale):
                standing.discard(index)
            self._classify(ledger, ledger.cluster.pod_groups[index])
        for index in change.tasks:
            (self.blocked.add if ledger.tasks[index].facts.blocked_reason else self.blocked.discard)(index)

    def _classify(self, ledger: Ledger, group: PodGroup) -> None:
        index, used, active, is_running = group.index, ledger.active_used, ledger.active_allocated, False
        count = 0
        for pod_set in group.pod_sets:
            place = pod_set.index
            count += used[place]
            is_running = is_running or active[place] > ledger.pipelined[place]
        if is_running:
            self.running.add(index)
        if ledger.pending[index]:
            self.pending.add(index)
        facts = group.facts
        if facts.victim is not NO_VICTIM_FACTS and facts.victim.held_by and _has_gated(ledger, group):
            self.held.add(index)
        if facts.stale_since is not None or (count and not _is_met_throughout(group, used)):
            self.stale.add(index)


def _is_met_throughout(group: PodGroup, used: list[int]) -> bool:
    """Whether neither the pod group nor a subgroup in use is below its minimum."""
    return _is_met(group, used) and (len(group.pod_sets) == 1 or not group.incomplete(used, _NONE))


_NONE: Final = Counter[int]()


def _is_met(group: PodGroup, used: list[int]) -> bool:
    root, first = group.root, group.pod_sets[0]
    if root.is_lone and root.members[0] is first:  # most pod groups
        return used[first.index] >= first.min_available
    return root.is_met(used)


def _has_gated(ledger: Ledger, group: PodGroup) -> bool:
    tasks = ledger.tasks
    gated = [t for s in group.pod_sets for t in s.tasks if tasks[t].placement.status is TaskStatus.GATED]
    return bool(gated)


PHASES: Final = Derived(PodGroupPhases.of, PodGroupPhases.follow, PodGroupPhases.copy)
