"""Batches in victim order: queue by queue, the worst pod group of each first (semantics R5.20-R5.28)."""

from collections.abc import Callable, Iterable, Iterator

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import UNLIMITED
from tenure.solver.plugin_api.scenario import Batch
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.pod_group_lists import reverse
from tenure.solver.search.queue_tree import QueueTree, QueueTreeEntry
from tenure.solver.search.victim_entries import RemainingTasks, VictimEntries

VictimSource = Callable[[int], Iterator[tuple[tuple[int, ...], int]]]
"""Keys (of the reversed order) and candidates of a leaf queue, worst first; empty if there are none."""


class VictimBatches:
    """Batches of tasks in victim order. Surplus is taken one task at a time."""

    def __init__(
        self,
        session: Session,
        entries: VictimEntries,
        recorded: frozenset[int],
        max_victims: int = UNLIMITED,
    ) -> None:
        """Queues must be filled before the first batch is popped."""
        self._evicted_pod_groups: set[int] = set()
        self._max_victims = max_victims
        self._counters = session.counters
        self._stop = session.stop
        self._groups = session.cluster.pod_groups
        self._victim_entries = entries
        self._recorded = recorded
        self._tree = QueueTree(session, victims=True)

    def fill(self, queue: int, entries: Iterator[QueueTreeEntry]) -> None:
        """Fill a leaf queue with entries, worst first."""
        self._tree.fill(queue, entries)

    def pop(self) -> Batch | None:
        """Next batch without recorded tasks, or None; the remaining tasks compete again."""
        while (entry := self._tree.pop()) is not None:
            self._stop.check()
            self._counters.victims_considered += 1
            held: RemainingTasks = entry.item
            tasks = held.batch
            if not tasks or not self._is_within_cap(entry.pod_group):
                continue
            if self._recorded and not self._recorded.isdisjoint(tasks):
                self._put_back(entry.pod_group, held, self._recorded)
                continue
            if len(tasks) < held.size:
                self._put_back(entry.pod_group, held, frozenset(tasks))
            return Batch(entry.pod_group, tasks)
        return None

    def _is_within_cap(self, pod_group: int) -> bool:
        """Whether the pod group is within the maximum number of victims, in victim order (R6.32)."""
        if self._max_victims == UNLIMITED:
            return True
        if len(self._evicted_pod_groups) != self._max_victims:
            self._evicted_pod_groups.add(pod_group)
        return pod_group in self._evicted_pod_groups

    def _put_back(self, pod_group: int, remaining_tasks: RemainingTasks, evicted: frozenset[int]) -> None:
        """Let remaining tasks compete again."""
        entry = self._victim_entries.remaining_entry(pod_group, remaining_tasks, evicted)
        if entry is not None:
            queue = self._groups[pod_group].queue
            assert queue is not None
            self._tree.push(queue, entry)


def victim_batches(
    session: Session,
    gangs: GangPlanner,
    victims: VictimSource,
    queues: Iterable[int],
    allows: Callable[[int], bool],
    keeps_core: Callable[[int], bool],
    recorded: frozenset[int] = frozenset(),
    max_victims: int = UNLIMITED,
) -> VictimBatches:
    """Batches of the candidates of these queues."""
    entries = VictimEntries(session, gangs)
    batches = VictimBatches(session, entries, recorded, max_victims)
    for queue in queues:
        batches.fill(queue, entries.entries(victims(queue), allows, keeps_core))
    return batches


def one_victim(session: Session, pod_group: int) -> VictimSource:
    """The source of a single candidate."""
    queue = session.cluster.pod_groups[pod_group].queue
    victim = (reverse(session.pod_group_key(pod_group)), pod_group)
    return lambda leaf: iter([victim] if leaf == queue else [])
