"""How much harm sets of victims do: the first difference decides between two (semantics R14.8)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, final

from tenure.solver.framework.session import Session
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.resources import GPU
from tenure.solver.model.verdict import VictimMeasure
from tenure.solver.search.search import Search
from tenure.solver.search.victim_sets.costs import VictimCosts
from tenure.terms.durations import SECOND

CLASS_SIZE: Final = 900_000
"""Thousandths of a GPU-second of the first class of costs; each later one is twice as wide (R14.15)."""

_HIGHEST: Final = 1 << 40
LOWEST: Final = -_HIGHEST
"""Below every priority."""


class Harm(NamedTuple):
    """What a set of victims costs, the most important measure first.

    Where a queue loses more than what the search took, and another one less, or the search took nothing of
    it, its priority is at least the highest one that the search took. With such victims, the class of cost is
    at least that of what it took. So low values in one queue do not make it yield before another one.
    """

    priority: int
    """The highest one."""
    below_guarantee: int
    """Number of queues that lose GPUs below their guarantees."""
    cost_class: int
    """Of what it costs by the first plugin that prices evictions; 0 without one."""
    pods: int
    """That are evicted or moved."""
    gpu_milli: int
    """That they hold, in thousandths."""
    lost: int
    """GPUs in thousandths times seconds since the last start of their pod groups."""
    ended: int
    """Pods that are evicted of pod groups that are left without their minimum."""
    beyond_first: int
    """Pods that queues lose beyond those that the search took of them, while others lose less."""
    names: tuple[tuple[int, int], ...]
    """Pod groups by UID, each with its pods, the last one first: no two sets are equal."""


def deciding_measure(less: Harm, more: Harm) -> VictimMeasure:
    """The first measure in which the second does more harm; UNSPECIFIED: it does not do more."""
    if not less < more:
        return VictimMeasure.UNSPECIFIED
    pairs = enumerate(zip(less, more, strict=True), start=1)
    return VictimMeasure(next(number for number, (one, other) in pairs if one != other))


WORST: Final = Harm(
    priority=_HIGHEST,
    below_guarantee=_HIGHEST,
    cost_class=_HIGHEST,
    pods=_HIGHEST,
    gpu_milli=_HIGHEST,
    lost=_HIGHEST,
    ended=_HIGHEST,
    beyond_first=_HIGHEST,
    names=(),
)
"""More than any set does."""


@final
class Harms:
    """Measures sets of victims of one search, by the state before any of them is evicted."""

    def __init__(
        self, session: Session, costs: VictimCosts, search: Search, first: Mapping[int, Sequence[int]]
    ) -> None:
        """`first` are the victims that the search took, by pod group."""
        self._session = session
        self._costs = costs
        self._gpus: dict[int, int] = {}
        self._victims: Final = search.victims
        self._lowest: dict[int, int] = {}
        """Priority of the first candidate in victim order, by queue."""
        self._spare: dict[int, Sequence[tuple[int, int]]] = {}
        """Queues with the GPUs above their guarantees, by leaf queue."""
        groups = session.cluster.pod_groups
        self._own = groups[search.preemptor].queue
        self._first: Final = self._by_queue(first)
        self._least_priority = self._least_class = LOWEST
        of_first = self.of(first, first)
        self._least_priority, self._least_class = of_first.priority, of_first.cost_class

    def are_lowest(self, pod_groups: Iterable[int]) -> bool:
        """Whether none of these pod groups has a higher priority than the lowest candidate of its queue."""
        groups = self._session.cluster.pod_groups
        for pod_group in pod_groups:
            queue = groups[pod_group].queue
            if queue is not None and self.rank(pod_group) > self._lowest_rank(queue):
                return False
        return True

    def of(self, taken: Mapping[int, Sequence[int]], evicted: Mapping[int, Sequence[int]]) -> Harm:
        """Of tasks by pod group, all and those that are not only moved. They need not be evicted yet."""
        groups, active = self._session.cluster.pod_groups, self._session.ledger.active_allocated
        pods = gpus = ended = lost = cost = 0
        priority, lower = LOWEST, dict[int, int]()
        beyond = self._beyond(taken)
        for pod_group, tasks in taken.items():
            queue = groups[pod_group].queue
            held = sum([self.gpu_milli(task) for task in tasks])
            pods, gpus = pods + len(tasks), gpus + held
            lost += held * self._age(pod_group)
            rank = self.rank(pod_group)
            if queue in beyond:
                rank = max(rank, self._least_priority)
            priority = max(priority, rank)
            if self._costs.is_known and (queue not in beyond or not self._first):
                cost += self._costs.of(pod_group, active, tasks).cost
            if evicted.get(pod_group) and self._ends(pod_group, evicted[pod_group]):
                ended += len(evicted[pod_group])
            if queue is not None:
                gone = sum([self.gpu_milli(task) for task in evicted.get(pod_group, ())])
                lower[queue] = lower.get(queue, 0) + gone
        below = len(self.queues_below(lower))
        cost_class = (1 + cost // CLASS_SIZE).bit_length() - 1
        if beyond:
            cost_class = max(cost_class, self._least_class)
        names = tuple(sorted([(each, -task) for each, tasks in taken.items() for task in tasks]))
        more = sum(beyond.values())
        return Harm(priority, below, cost_class, pods, gpus, lost, ended, more, names)

    def _beyond(self, taken: Mapping[int, Sequence[int]]) -> dict[int, int]:
        """Queues that lose more than the search took of them, while another one loses less, or of which it
        took none; and how many pods more.
        """
        lost, found, nothing = self._by_queue(taken), dict[int, int](), (0, 0)
        spared = [
            queue
            for queue, (gpus, pods) in self._first.items()
            if lost.get(queue, nothing)[0] < gpus or lost.get(queue, nothing)[1] < pods
        ]
        for queue, (gpus, pods) in lost.items():
            first_gpus, first_pods = self._first.get(queue, nothing)
            is_spared = queue not in self._first or any(each != queue for each in spared)
            if is_spared and (gpus > first_gpus or pods > first_pods):
                found[queue] = max(pods - first_pods, 0)
        return found

    def _by_queue(self, taken: Mapping[int, Sequence[int]]) -> dict[int, tuple[int, int]]:
        """GPUs, in thousandths, and pods of each leaf queue."""
        groups, found = self._session.cluster.pod_groups, dict[int, tuple[int, int]]()
        for pod_group, tasks in taken.items():
            queue = groups[pod_group].queue
            if queue is not None:
                gpus, pods = found.get(queue, (0, 0))
                held = sum([self.gpu_milli(task) for task in tasks])
                found[queue] = gpus + held, pods + len(tasks)
        return found

    def _ends(self, pod_group: int, tasks: Sequence[int]) -> bool:
        """Whether a pod group has less than its minimum, or nothing, without these tasks."""
        group, facts = self._session.cluster.pod_groups[pod_group], self._session.cluster.tasks
        active = self._session.ledger.active_allocated
        left = {each.index: active[each.index] for each in group.pod_sets}
        for task in tasks:
            pod_set = facts[task].pod_set
            if pod_set is not None:
                left[pod_set] -= 1
        return not any(left.values()) or not group.root.is_met(left)

    def queues_below(self, lost: Mapping[int, int]) -> list[int]:
        """Queues that lose GPUs below their guarantees if leaf queues lose these, in thousandths."""
        spare, total = dict[int, int](), dict[int, int]()
        for queue, amount in lost.items():
            for each, above in self._spare_of(queue) if amount else ():
                spare[each], total[each] = above, total.get(each, 0) + amount
        return [each for each, amount in total.items() if amount > max(spare[each], 0)]

    def _spare_of(self, queue: int) -> Sequence[tuple[int, int]]:
        found = self._spare.get(queue)
        if found is None:
            own = self._own
            found = () if own is None else self._session.chains.gpus_above_guarantees(queue, own)
            self._spare[queue] = found
        return found

    def gpu_milli(self, task: int) -> int:
        """GPUs that a task holds where it is, in thousandths."""
        held = self._gpus.get(task)
        if held is None:
            ledger, facts = self._session.ledger, self._session.cluster.tasks[task]
            node = ledger.placements[task].node if facts.placement.node == NOWHERE else facts.placement.node
            held = self._gpus[task] = ledger.share(facts, node)[GPU]
        return held

    def _lowest_rank(self, queue: int) -> int:
        lowest = self._lowest.get(queue)
        if lowest is None:
            first = next(self._victims.candidates(queue), None)
            lowest = self._lowest[queue] = _HIGHEST if first is None else self.rank(first.pod_group)
        return lowest

    def rank(self, pod_group: int) -> int:
        """Priority of a pod group, by bands (semantics R14.16)."""
        return self._session.chains.priority_band(self._session.cluster.pod_groups[pod_group].facts.priority)

    def _age(self, pod_group: int) -> int:
        """Seconds since the last start; 0 without one."""
        start, now = self._session.cluster.pod_groups[pod_group].facts.last_start, self._session.cluster.now
        return 0 if start is None or start > now else (now - start) // SECOND
