"""The order in which victims are taken, and how much of one at a time (semantics R5.20-R5.28).

What the candidates hold follows from where their tasks are; `known` keeps it until one of them moves.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tenure.solver.framework.scenario import Batch
from tenure.solver.framework.session import Session
from tenure.solver.model.resources import UNLIMITED, Share
from tenure.solver.model.workload import Member, PodGroup, PodSet, SubGroupSet, add_shares
from tenure.solver.search.gang import Gangs
from tenure.solver.search.podgrouplists import reverse
from tenure.solver.search.queuetree import ZERO, Entry, QueueTree

Remaining = dict[int, list[int]]
"""Active tasks of a pod group that are not taken yet, by pod set, in task order."""


class Held(NamedTuple):
    """What is left of a pod group, and which of it stays; None: nothing has to.

    Its core stays when a guard says so, and when this cycle gave or moved some of its tasks: those are not
    taken, and a gang is taken whole or not at all.
    """

    remaining: Remaining
    core: frozenset[int] | None
    batch: tuple[int, ...]
    """The tasks that are taken next."""


Known = dict[int, tuple[int, bool, Entry]]
"""By pod group: its version in the ledger, whether a guard lets it keep its core, and its entry."""

VictimSource = Callable[[int], Iterator[tuple[tuple[int, ...], int]]]
"""Keys (of the reversed order) and pod groups of a leaf queue, worst first; nobody when none may yield."""


def one_victim(session: Session, pod_group: int) -> VictimSource:
    """A single possible victim."""
    queue = session.cluster.pod_groups[pod_group].queue
    victim = (reverse(session.pod_group_key(pod_group)), pod_group)
    return lambda asked: iter([victim] if asked == queue else [])


class VictimOrder:
    """Batches of tasks, those that yield first coming first. Surplus goes one task at a time."""

    def __init__(
        self,
        session: Session,
        gangs: Gangs,
        victims: VictimSource,
        queues: Iterable[int],
        allows: Callable[[int], bool],
        keeps_core: Callable[[int], bool],
        recorded: frozenset[int],
        known: Known,
        max_victims: int = UNLIMITED,
    ) -> None:
        self._taken_from: set[int] = set()
        self._max_victims = max_victims
        self._session = session
        self._known = known
        self._recorded = recorded
        self._keeps_core = keeps_core
        self._gangs = gangs
        self._tree = QueueTree(session, victims=True)
        for queue in queues:
            self._tree.fill(queue, self._candidates(victims(queue), allows))

    def pop(self) -> Batch | None:
        """The next batch that holds no recorded task, or None; what is left competes again."""
        while (entry := self._tree.pop()) is not None:
            self._session.stop.check()
            self._session.counters.victims_popped += 1
            group = self._session.cluster.pod_groups[entry.pod_group]
            held: Held = entry.item
            tasks = held.batch
            if not tasks or not self._is_within_cap(group.index):
                continue
            if not self._recorded.isdisjoint(tasks):
                self._put_back(group.index, held, self._recorded)
                continue
            self._put_back(group.index, held, frozenset(tasks))
            return Batch(group.index, tasks)
        return None

    def _is_within_cap(self, pod_group: int) -> bool:
        """At most so many pod groups are taken, the first in victim order (semantics R6.32)."""
        if len(self._taken_from) != self._max_victims:
            self._taken_from.add(pod_group)
        return pod_group in self._taken_from

    def _put_back(self, pod_group: int, held: Held, taken: frozenset[int]) -> None:
        """Let the tasks that were not taken compete again (semantics R5.26, R5.28)."""
        group = self._session.cluster.pod_groups[pod_group]
        left = {pod_set: [t for t in tasks if t not in taken] for pod_set, tasks in held.remaining.items()}
        if not any(left.values()):
            return
        counts = {pod_set: len(tasks) for pod_set, tasks in left.items()}
        key = reverse(self._session.pod_group_key(pod_group, counts))
        assert group.queue is not None
        self._tree.push(
            group.queue, Entry(key, pod_group, self._share(left), self._held(group, left, held.core))
        )

    def _candidates(
        self, victims: Iterator[tuple[tuple[int, ...], int]], allows: Callable[[int], bool]
    ) -> Iterator[Entry]:
        for key, pod_group in victims:
            self._session.stop.check()
            if allows(pod_group):
                entry = self._entry(key, pod_group)
                if entry.item.remaining:
                    yield entry

    def _entry(self, key: tuple[int, ...], pod_group: int) -> Entry:
        version, keeps_core = self._session.ledger.versions[pod_group], self._keeps_core(pod_group)
        known = self._known.get(pod_group)
        if known is None or known[0] != version or known[1] != keeps_core:
            known = (version, keeps_core, self._new_entry(key, pod_group, keeps_core))
            self._known[pod_group] = known
        return known[2]

    def _new_entry(self, key: tuple[int, ...], pod_group: int, is_guarded: bool) -> Entry:
        group = self._session.cluster.pod_groups[pod_group]
        tasks = {s.index: self._gangs.evictable_tasks(s) for s in group.pod_sets}
        remaining = tasks if any(tasks.values()) else {}
        active = self._session.ledger.active_allocated
        is_whole = all(len(tasks[s.index]) == active[s.index] for s in group.pod_sets)
        keeps_core = bool(remaining) and (not is_whole or is_guarded)
        core = self._session.cores.among(pod_group, remaining) if keeps_core else None
        return Entry(key, pod_group, self._share(remaining), self._held(group, remaining, core))

    def _share(self, remaining: Remaining) -> Share:
        total = ZERO
        for tasks in remaining.values():
            for task in tasks:
                shape = self._session.cluster.tasks[task].shape
                total = add_shares(total, self._session.ledger.request_share(shape))
        return total

    def _held(self, group: PodGroup, remaining: Remaining, core: frozenset[int] | None) -> Held:
        """Surplus goes next, else everything; of who keeps its core, in the end all beside it at once."""
        if not remaining:
            return Held(remaining, core, ())
        tasks = self._take(group.root, remaining) or self._all_of(group.root, remaining)
        if core is not None and not core.isdisjoint(tasks):
            tasks = [task for task in self._all_of(group.root, remaining) if task not in core]
        return Held(remaining, core, tuple(tasks))

    def _take(self, member: Member, remaining: Remaining) -> list[int]:
        """Surplus below the member: one task, or one optional sub group; empty when there is none."""
        counts = {pod_set: len(tasks) for pod_set, tasks in remaining.items()}
        if isinstance(member, PodSet):
            tasks = remaining[member.index]
            return tasks[-1:] if len(tasks) > member.min_available else []
        satisfied = sum(inner.is_met(counts) for inner in member.members)
        if not satisfied:
            return []
        last_first = list(reversed(self._session.order.members(member.members, counts)))
        for inner in last_first:
            if taken := self._take(inner, remaining):
                return taken
        if satisfied > member.required:
            for inner in last_first:
                if tasks := self._all_of(inner, remaining):
                    return tasks
        return []

    def _all_of(self, member: Member, remaining: Remaining) -> list[int]:
        if isinstance(member, SubGroupSet):
            return [task for inner in member.members for task in self._all_of(inner, remaining)]
        return remaining[member.index]
