"""Entries of pod groups in a victim order, and the next tasks to take from them (R5.20-R5.28).

Entries depend on placements, so each is cached until one of its tasks moves.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Final, Protocol, final

from tenure.solver.framework.session import Session
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import NO_SHARE, Share
from tenure.solver.model.workload import PodGroup, add_shares
from tenure.solver.plugin_api.action import Action
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.pod_group_lists import PodGroupLists, reverse
from tenure.solver.search.queue_tree import QueueTreeEntry
from tenure.solver.search.victim_keys import NOBODY, RemainingByPodSet, VictimKeys, all_of

_NONE: Final = frozenset[int]()


class RemainingTasks:
    """Remaining tasks of a pod group, and which of them must stay; None: none.

    The core stays if a guard protects it, and if this cycle placed or relocated some of its tasks: those are
    not taken, and a gang is evicted completely or not at all.
    """

    __slots__ = ("batch", "core", "counted", "is_own", "remaining", "share", "size", "stays")

    def __init__(
        self,
        remaining: RemainingByPodSet,
        core: frozenset[int] | None,
        batch: tuple[int, ...],
        stays: Mapping[int, int] = NOBODY,
    ) -> None:
        self.remaining = remaining
        self.core = core
        self.stays = stays
        """Number of active tasks that disruption budgets do not allow to take, by pod set."""
        self.batch = batch
        """Tasks to take next."""
        self.counted = _NONE
        """Tasks that were allocated when the order was made; what is only reserved does not count."""
        self.share = NO_SHARE
        """Allocated resources of those that remain (semantics R4.38)."""
        self.is_own = False
        """Whether the lists of tasks may be changed: no other entry has them."""
        self.size = sum([len(tasks) for tasks in remaining.values()])
        """Number of tasks."""


class SkippedVictims:
    """Skipped pod groups of a queue, none of whose tasks may be taken.

    This cycle placed or relocated a part of them, and the rest is a core. Like popped victims (semantics
    R5.21) they count together with the next victim that is taken: a queue that was evicted from in this cycle
    is taken from later. Popping each separately would dominate a search with many of them.
    """

    __slots__ = ("_share",)

    def __init__(self) -> None:
        self._share = NO_SHARE

    def skip_or_merge(self, entry: QueueTreeEntry) -> QueueTreeEntry | None:
        """Entry merged with the skipped ones before it; None: it is skipped too."""
        if not entry.item.batch:
            self._share = add_shares(self._share, entry.share)
            return None
        if self._share != NO_SHARE:
            share = add_shares(self._share, entry.share)
            entry, self._share = QueueTreeEntry(entry.key, entry.pod_group, share, entry.item), NO_SHARE
        return entry


class VictimEntries:
    """Entries of pod groups, complete or with remaining tasks."""

    def __init__(self, session: Session, gangs: GangPlanner) -> None:
        self._session = session
        self._gangs = gangs
        self._disruptions = session.disruptions
        self._keys = VictimKeys(session, gangs)
        self._known: dict[int, tuple[int, bool, tuple[int, ...], QueueTreeEntry]] = {}
        """By pod group: its version in the ledger, whether it must keep its core, what is left of its
        disruption budgets, and its entry.
        """

    def entries(
        self,
        victims: Iterable[tuple[tuple[int, ...], int]],
        allows: Callable[[int], bool],
        keeps_core: Callable[[int], bool],
    ) -> Iterator[QueueTreeEntry]:
        """Entries of these allowed pod groups of one queue that have evictable tasks."""
        passed = SkippedVictims()
        for key, pod_group in victims:
            self._session.stop.check()
            if allows(pod_group):
                entry = passed.skip_or_merge(self.entry(key, pod_group, keeps_core(pod_group)))
                if entry is not None:
                    yield entry

    def entry(self, key: tuple[int, ...], pod_group: int, keeps_core: bool) -> QueueTreeEntry:
        """Entry of a pod group; has no remaining tasks if none is evictable."""
        version = self._session.ledger.versions[pod_group]
        left = self._disruptions.key(pod_group) if self._disruptions.is_active else ()
        known = self._known.get(pod_group)
        if known is None or known[0] != version or known[1] != keeps_core or known[2] != left:
            known = (version, keeps_core, left, self._new_entry(key, pod_group, keeps_core))
            self._known[pod_group] = known
        return known[3]

    def remaining_entry(
        self, pod_group: int, remaining_tasks: RemainingTasks, evicted: frozenset[int]
    ) -> QueueTreeEntry | None:
        """Entry after taking these tasks (semantics R5.26, R5.28); None: nothing remains."""
        group = self._session.cluster.pod_groups[pod_group]
        left, gone = _without(remaining_tasks, evicted)
        counts = {pod_set: len(tasks) for pod_set, tasks in left.items()}
        if not any(counts.values()):
            return None
        held = self._remaining_tasks(group, left, remaining_tasks.core, remaining_tasks.stays)
        key = reverse(self._keys.remaining(pod_group, counts, held.batch))
        held.is_own, held.counted = True, remaining_tasks.counted
        cpu, memory, gpu = self._share([task for task in gone if task in held.counted])
        before = remaining_tasks.share
        held.share = (before[0] - cpu, before[1] - memory, before[2] - gpu)
        return QueueTreeEntry(key, pod_group, held.share, held)

    def _new_entry(self, key: tuple[int, ...], pod_group: int, is_guarded: bool) -> QueueTreeEntry:
        group = self._session.cluster.pod_groups[pod_group]
        active = self._session.ledger.active_allocated
        remaining: RemainingByPodSet = {}
        count, is_whole = 0, True
        for pod_set in group.pod_sets:
            tasks = remaining[pod_set.index] = self._gangs.evictable_tasks(pod_set)
            count += len(tasks)
            is_whole = is_whole and len(tasks) == active[pod_set.index]
        if not count:
            return QueueTreeEntry(key, pod_group, NO_SHARE, RemainingTasks({}, None, ()))
        stuck, stays, core = {}, NOBODY, None
        if self._disruptions.is_active:
            stuck = self._stuck(remaining)
            stays = {pod_set: len(tasks) for pod_set, tasks in stuck.items()}
        if stays:
            first = {pod_set: [*stuck.get(pod_set, ()), *tasks] for pod_set, tasks in remaining.items()}
            core = self._session.cores.among(pod_group, first)
        elif is_guarded or not is_whole:
            core = self._session.cores.among(pod_group, remaining)
        held = self._remaining_tasks(group, remaining, core, stays)
        if not held.batch and (stays or core is None):  # by disruption budgets: it is no candidate
            return QueueTreeEntry(key, pod_group, NO_SHARE, held)
        placements, counted = self._session.ledger.placements, list[int]()
        for tasks in remaining.values():
            for task in tasks:
                if placements[task].is_allocated:
                    counted.append(task)
        held.share = self._share(counted)
        if count > 1:  # else nothing remains when it is taken
            held.counted = frozenset(counted)
        return QueueTreeEntry(key, pod_group, held.share, held)

    def _stuck(self, remaining: RemainingByPodSet) -> RemainingByPodSet:
        """Take out the tasks that disruption budgets do not even allow to take alone."""
        stuck: RemainingByPodSet = {}
        for pod_set, tasks in remaining.items():
            held = [task for task in tasks if not self._disruptions.allows((task,))]
            if held:
                stuck[pod_set], stays = held, frozenset(held)
                remaining[pod_set] = [task for task in tasks if task not in stays]
        return stuck

    def _share(self, tasks: Iterable[int]) -> Share:
        """Requests of tasks."""
        total, facts, ledger = NO_SHARE, self._session.cluster.tasks, self._session.ledger
        for task in tasks:
            total = add_shares(total, ledger.request_share(facts[task].shape))
        return total

    def _remaining_tasks(
        self,
        group: PodGroup,
        remaining: RemainingByPodSet,
        core: frozenset[int] | None,
        stays: Mapping[int, int],
    ) -> RemainingTasks:
        """Surplus first, else everything; if the core stays, finally all tasks beside it at once."""
        tasks = self._keys.next_tasks(group, remaining, stays)
        if self._disruptions.is_active and core is None and not self._disruptions.allows(tasks):
            core = self._session.cores.among(group.index, remaining)
        if core is not None and not core.isdisjoint(tasks):
            tasks = [task for task in all_of(group.root, remaining) if task not in core]
        if self._disruptions.is_active and not self._disruptions.allows(tasks):
            tasks = []
        return RemainingTasks(remaining, core, tuple(tasks), stays)


@final
class CandidateRequest:
    """The preemptor that candidates are collected for."""

    def __init__(self, action: Action, preemptor: int, rule_key: Hashable | None) -> None:
        self.action = action
        self.preemptor = preemptor
        self.rule_key = rule_key
        """Preemptors with equal keys have the same victims by the rule of the action; None: no other has."""


class VictimChecker(Protocol):
    """Checks whether pod groups may be victims of one preemptor, and notes protections that end."""

    def rejection(self, victim: int) -> Rejection | None:
        """Why it may not be a victim."""

    def keeps_core(self, victim: int) -> bool:
        """Whether a victim must keep its core."""

    def note_protection(self, victim: int, rejection: Rejection) -> None:
        """Note a protection that ends; every checker receives all of them, cached ones included."""


class CandidateSource(ABC):
    """Collects candidates: evictable pod groups of a queue, and their allocated resources."""

    @abstractmethod
    def in_order(
        self, queue: int, request: CandidateRequest, checker: VictimChecker
    ) -> Iterator[QueueTreeEntry]:
        """Candidates of a leaf queue on demand, worst first; the checker notes protections on the way."""

    @abstractmethod
    def may_expire(self, queue: int, request: CandidateRequest) -> bool:
        """Whether the protection of any victim of the queue may end, so that all are checked for it."""


class CheckedCandidates(CandidateSource):
    """Checks every pod group of the queue for every preemptor."""

    def __init__(self, session: Session, lists: PodGroupLists, entries: VictimEntries) -> None:
        self._session = session
        self._lists = lists
        self._entries = entries

    def in_order(
        self, queue: int, request: CandidateRequest, checker: VictimChecker
    ) -> Iterator[QueueTreeEntry]:
        """Victims of which nothing is evictable are checked too, because their protection may end."""
        return self._entries.entries(
            self._lists.victims(queue), lambda victim: checker.rejection(victim) is None, checker.keeps_core
        )

    def may_expire(self, queue: int, request: CandidateRequest) -> bool:
        """Any may."""
        return True


def _without(entry: RemainingTasks, evicted: frozenset[int]) -> tuple[RemainingByPodSet, list[int]]:
    """Lists without these tasks, and those that were in them. Mostly these are the last ones of a list."""
    left = entry.remaining if entry.is_own else {each: [*tasks] for each, tasks in entry.remaining.items()}
    gone: list[int] = []
    for tasks in left.values():
        while tasks and tasks[-1] in evicted:
            gone.append(tasks.pop())
    if len(gone) < len(evicted):
        for pod_set, tasks in left.items():
            gone += [task for task in tasks if task in evicted]
            left[pod_set] = [task for task in tasks if task not in evicted]
    return left, gone
