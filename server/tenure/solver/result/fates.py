"""What becomes of the victims of a cycle (semantics R14.34, R14.35)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, final

from tenure.solver.framework.commit import Commit
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import DecisionGroup, Evict, Patch, PatchKind
from tenure.solver.model.fate import OTHER_CAUSES, Fate, HoldReason, cause_of
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

    @property
    def concerned(self) -> set[int]:
        """Pod groups that are deleted or held."""
        return self._deleted | self._held

    def after(self, task: Task, later: Task) -> Task:
        """A task in the next cluster, where it would be `later`: all of a deleted pod group ends."""
        if task.pod_group in self._deleted:
            return later.placed(Placement(TaskStatus.FAILED))
        if task.pod_group in self._held and later.placement.status in _WAITING:
            return later.placed(Placement(TaskStatus.GATED))
        return later


@final
class Fates:
    """Fates by pod group, as the ledger is at the end of a cycle."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._of_core: dict[int, Fate] = {}
        self._tallying: Final = next(iter(session.chains.eviction_tallies), None)
        self._causes: dict[int, list[str]] = {}
        """Causes of evictions in this cycle so far, by pod group."""
        self._ended: dict[int, HoldReason] = {}
        """What holds pod groups whose time is over."""
        self._queues_set_on_evict: Final = any(queue.facts.on_evict for queue in session.cluster.queues)

    def fate(self, commit: Commit, task: int, relocating: bool) -> Fate:
        """Fate of a task that a commit evicts. One that is relocated has none: it runs on."""
        group = self._session.cluster.pod_groups[self._session.cluster.tasks[task].pod_group]
        pod_group = group.index
        own_end = commit.action.own_end
        if (
            own_end is None
            and self._tallying is None
            and not (self._queues_set_on_evict or group.facts.victim.on_evict)
        ):
            return Fate.UNSPECIFIED
        if self._tallying is not None:
            self._note(pod_group, cause_of(commit.action.name), pod_group == commit.beneficiary)
        if relocating:
            return Fate.UNSPECIFIED
        fate = self._of_core.get(pod_group)
        if own_end is not None:
            fate = self._of_core[pod_group] = own_end.fate(group, self._session.cluster.queues)
            self._ended[pod_group] = own_end.hold
            return fate
        if fate is None:
            fate = self._of_core[pod_group] = self._find(pod_group)
        return Fate.HOLD if self._is_held(pod_group) else fate

    def _note(self, pod_group: int, cause: str, is_own: bool) -> None:
        """Note an eviction. Pods that are moved for their own pod group do not count."""
        causes = self._causes.setdefault(pod_group, [])
        if cause not in causes and (not is_own or cause in OTHER_CAUSES):
            causes.append(cause)

    def _is_held(self, pod_group: int) -> bool:
        """Whether the eviction limit holds it. Surplus waits again, and what is deleted ends."""
        causes = self._causes.get(pod_group)
        if not causes or self._tallying is None or self._of_core[pod_group] is Fate.DELETE:
            return False
        if self._session.cluster.pod_groups[pod_group].root.is_met(self._session.ledger.active_allocated):
            return False
        return self._tallying.eviction_tally(pod_group, causes).is_held

    def patches(self, evictions: Sequence[Evict], patches: Sequence[Patch]) -> Sequence[Patch]:
        """Patches of a decision group: nothing is stored of what is deleted, and holds are."""
        if self._tallying is None:
            for eviction in evictions:
                if eviction.fate:
                    break
            else:
                return patches
        return tuple(self._patches(evictions, patches))

    def _patches(self, evictions: Sequence[Evict], patches: Sequence[Patch]) -> Iterator[Patch]:
        tasks, fates = self._session.cluster.tasks, dict[int, Fate]()
        for eviction in evictions:
            if eviction.fate:
                fates[tasks[eviction.task].pod_group] = eviction.fate
        for patch in patches:
            if fates.get(patch.pod_group) is not Fate.DELETE:
                yield patch
        for pod_group in sorted(fates):
            if fates[pod_group] is Fate.HOLD:
                is_limit = self._is_held(pod_group)
                reason = HoldReason.EVICTION_LIMIT if is_limit else HoldReason.EVICTED
                reason = self._ended.get(pod_group, reason)
                yield Patch(pod_group, PatchKind.HELD_BY, reason)
        yield from self._counters(sorted({tasks[eviction.task].pod_group for eviction in evictions}), fates)

    def _counters(self, evicted: Iterable[int], fates: Mapping[int, Fate]) -> Iterator[Patch]:
        """Evictions by cause, if a plugin counts them."""
        for pod_group in evicted:
            causes = self._causes.get(pod_group)
            if causes and self._tallying is not None and fates.get(pod_group) is not Fate.DELETE:
                counts = self._tallying.eviction_tally(pod_group, causes).counts
                yield Patch(pod_group, PatchKind.EVICTIONS, counts=counts)

    def _find(self, pod_group: int) -> Fate:
        """Fate by the settings; surplus waits again, and so does what cannot be suspended."""
        group = self._session.cluster.pod_groups[pod_group]
        if not (self._queues_set_on_evict or group.facts.victim.on_evict):
            return Fate.UNSPECIFIED
        fate = fate_on_evict(group, self._session.cluster.queues)
        if fate is Fate.UNSPECIFIED:
            return fate
        if group.root.is_met(self._session.ledger.active_allocated):
            return Fate.REQUEUE
        return Fate.REQUEUE if fate is Fate.SUSPEND and not group.facts.victim.suspendable else fate
