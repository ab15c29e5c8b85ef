"""What becomes of the victims of a cycle (semantics R14.34, R14.35)."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, final

from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import DecisionGroup, Evict, Patch, PatchKind
from tenure.solver.model.fate import Fate, HoldReason
from tenure.solver.model.inherited_settings import fate_on_evict
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.workload import Task

_WAITING: Final = (TaskStatus.PENDING, TaskStatus.GATED)


@final
class FatesOfVictims:
    """What decisions leave of pod groups that they delete or hold, if they are applied."""

    def __init__(self) -> None:
        self._deleted: set[int] = set()
        self._held: set[int] = set()

    @classmethod
    def of(cls, cluster: Cluster, groups: Iterable[DecisionGroup]) -> "FatesOfVictims":
        """By pod group."""
        made = cls()
        for eviction in (eviction for group in groups for eviction in group.evictions):
            pod_group = cluster.tasks[eviction.task].pod_group
            if eviction.fate is Fate.DELETE:
                made._deleted.add(pod_group)
            elif eviction.fate is Fate.HOLD:
                made._held.add(pod_group)
        return made

    def after(self, task: Task, later: Task) -> Task:
        """A task in the next cluster, where it would be `later`: all of a deleted pod group ends."""
        if task.pod_group in self._deleted:
            return replace(later, placement=Placement(TaskStatus.FAILED))
        if task.pod_group in self._held and later.placement.status in _WAITING:
            return replace(later, placement=Placement(TaskStatus.GATED))
        return later


@final
class Fates:
    """Fates by pod group, as the ledger is at the end of a cycle."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._of_core: dict[int, Fate] = {}

    def fate(self, task: int, relocating: bool) -> Fate:
        """Fate of an evicted task. One that is relocated has none: it runs on."""
        if relocating:
            return Fate.UNSPECIFIED
        pod_group = self._session.cluster.tasks[task].pod_group
        fate = self._of_core.get(pod_group)
        if fate is None:
            fate = self._of_core[pod_group] = self._find(pod_group)
        return fate

    def patches(self, evictions: Iterable[Evict], patches: Iterable[Patch]) -> Iterator[Patch]:
        """Patches of a decision group: nothing is stored of what is deleted, and holds are."""
        tasks, fates = self._session.cluster.tasks, dict[int, Fate]()
        for eviction in evictions:
            if eviction.fate:
                fates[tasks[eviction.task].pod_group] = eviction.fate
        for patch in patches:
            if fates.get(patch.pod_group) is not Fate.DELETE:
                yield patch
        for pod_group in sorted(fates):
            if fates[pod_group] is Fate.HOLD:
                yield Patch(pod_group, PatchKind.HELD_BY, HoldReason.EVICTED)

    def _find(self, pod_group: int) -> Fate:
        """Fate by the settings; surplus waits again, and so does what cannot be suspended."""
        group = self._session.cluster.pod_groups[pod_group]
        fate = fate_on_evict(group, self._session.cluster.queues)
        if fate is Fate.UNSPECIFIED:
            return fate
        if group.root.is_met(self._session.ledger.active_allocated):
            return Fate.REQUEUE
        return Fate.REQUEUE if fate is Fate.SUSPEND and not group.facts.suspendable else fate
