"""The order in which victims are taken: queue by queue, the worst pod group of each first (R5.20-R5.28)."""

from collections.abc import Callable, Iterable, Iterator

from tenure.solver.framework.scenario import Batch
from tenure.solver.framework.session import Session
from tenure.solver.model.resources import UNLIMITED
from tenure.solver.search.gang import Gangs
from tenure.solver.search.holdings import Held, Holdings
from tenure.solver.search.podgrouplists import reverse
from tenure.solver.search.queuetree import Entry, QueueTree

VictimSource = Callable[[int], Iterator[tuple[tuple[int, ...], int]]]
"""Keys (of the reversed order) and pod groups of a leaf queue, worst first; nobody when none may yield."""


class VictimOrder:
    """Batches of tasks, those that yield first coming first. Surplus goes one task at a time."""

    def __init__(
        self,
        session: Session,
        holdings: Holdings,
        recorded: frozenset[int],
        max_victims: int = UNLIMITED,
    ) -> None:
        """Queues are to be filled before the first batch is popped."""
        self._taken_from: set[int] = set()
        self._max_victims = max_victims
        self._counters = session.counters
        self._stop = session.stop
        self._groups = session.cluster.pod_groups
        self._holdings = holdings
        self._recorded = recorded
        self._tree = QueueTree(session, victims=True)

    def fill(self, queue: int, entries: Iterator[Entry]) -> None:
        """What pod groups of a leaf queue hold, worst first."""
        self._tree.fill(queue, entries)

    def pop(self) -> Batch | None:
        """The next batch that holds no recorded task, or None; what is left competes again."""
        while (entry := self._tree.pop()) is not None:
            self._stop.check()
            self._counters.victims_popped += 1
            held: Held = entry.item
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
        """At most so many pod groups are taken, the first in victim order (semantics R6.32)."""
        if self._max_victims == UNLIMITED:
            return True
        if len(self._taken_from) != self._max_victims:
            self._taken_from.add(pod_group)
        return pod_group in self._taken_from

    def _put_back(self, pod_group: int, held: Held, taken: frozenset[int]) -> None:
        """Let the tasks that were not taken compete again."""
        entry = self._holdings.without(pod_group, held, taken)
        if entry is not None:
            queue = self._groups[pod_group].queue
            assert queue is not None
            self._tree.push(queue, entry)


def victim_order(
    session: Session,
    gangs: Gangs,
    victims: VictimSource,
    queues: Iterable[int],
    allows: Callable[[int], bool],
    keeps_core: Callable[[int], bool],
    recorded: frozenset[int] = frozenset(),
    max_victims: int = UNLIMITED,
) -> VictimOrder:
    """The order among the pod groups of these queues that may be taken."""
    holdings = Holdings(session, gangs)
    order = VictimOrder(session, holdings, recorded, max_victims)
    for queue in queues:
        order.fill(queue, holdings.entries(victims(queue), allows, keeps_core))
    return order


def one_victim(session: Session, pod_group: int) -> VictimSource:
    """A single possible victim."""
    queue = session.cluster.pod_groups[pod_group].queue
    victim = (reverse(session.pod_group_key(pod_group)), pod_group)
    return lambda asked: iter([victim] if asked == queue else [])
