"""The proportion plugin: ties usage and shares to the extension points.

Limits of every queue, and quotas for what is not preemptible (semantics R4.60-R4.65).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import Any, ClassVar, Final

from tenure.solver.framework.session import Session
from tenure.solver.model.decision import QueueStatus
from tenure.solver.model.queue import Queue
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import CPU, GPU, MEMORY, UNLIMITED, Share
from tenure.solver.model.workload import PodGroup, add_shares
from tenure.solver.plugin_api.action import Action, QueueGate
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.plugins.proportion import reclaim_fairness, shares
from tenure.solver.plugins.proportion.core_usage import CoreUsage
from tenure.solver.plugins.proportion.initial_usage import INITIAL_USAGE, PREEMPTIBLE
from tenure.solver.plugins.proportion.queue_order import queue_keys
from tenure.solver.plugins.proportion.reclaim_cap import PodGroupSizes
from tenure.solver.plugins.proportion.reclaim_fairness import ReclaimFairness, VictimChunks
from tenure.solver.plugins.proportion.usage import Usage
from tenure.solver.resolution.slot_map import SlotChange
from tenure.terms.reasons import ReasonCode

Amounts = Sequence[Share] | Mapping[int, Share]
"""By queue index."""
NAMES = ("CPU", "memory", "GPU")


def over_limit(queues: Iterable[Queue], allocated: Amounts, demand: Share) -> Rejection | None:
    """The first queue, from the leaf up, whose limit the demand would exceed."""
    for queue in queues:
        resource = _exceeded(queue.limit, allocated[queue.index], demand)
        if resource:
            return Rejection(ReasonCode.OVER_LIMIT, f"queue {queue.name} would exceed its {resource} limit")
    return None


def over_quota(queues: Iterable[Queue], non_preemptible: Sequence[Share], demand: Share) -> Rejection | None:
    """The first queue whose quota a non-preemptible demand would exceed."""
    for queue in queues:
        resource = _exceeded(queue.quota, non_preemptible[queue.index], demand)
        if resource:
            return Rejection(
                ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA,
                f"its non-preemptible pods would exceed the {resource} quota of queue {queue.name}",
            )
    return None


def _exceeded(bound: Share, used: Share, demand: Share) -> str:
    for name, most, now, more in zip(NAMES, bound, used, demand, strict=True):
        if most != UNLIMITED and more > 0 and most < now + more:
            return name
    return ""


Levels = tuple[int, int]
"""A reclaimer's and a victim's queue at the level where their paths part."""


def number(text: str) -> float:
    """A finite number; ValueError otherwise."""
    try:
        value = float(text)
    except ValueError:
        value = inf
    if not isfinite(value):
        raise ValueError(f"{text!r} is not a number; write it like 1 or 0.5")
    return value


class Proportion:
    """Fair share by queue: order, gates, victims and the fairness of what a reclaim leaves behind."""

    ARGUMENTS: ClassVar[Parsers] = {"kValue": number, "relcaimerSaturationMultiplier": number}

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._session = session
        self._queues = session.cluster.queues
        self._groups = session.cluster.pod_groups
        self._usage = Usage(session.cluster, session.ledger, session.derived(INITIAL_USAGE))
        self._cores = CoreUsage(session, self._usage)
        self._chunks = VictimChunks(session)
        self._total = session.derived(_CLUSTER_TOTAL)
        k = float(arguments.get("kValue", "1"))
        self._multiplier = max(1.0, float(arguments.get("relcaimerSaturationMultiplier", "1")))
        self._fair = shares.fair_shares(self._queues, self._total, self._usage.request, k)
        self._allocatable = [self._allocatable_of(queue) for queue in self._queues]
        self._queue_keys = queue_keys(self._queues, self._fair, self._allocatable, self._total)
        self._initial = self._usage.allocated
        self._limits: dict[int, list[Queue]] = {}
        self._common_levels: dict[tuple[int, int], Levels] = {}
        """By reclaimer's and victim's leaf."""
        self._evictable_levels: dict[Levels, Rejection | None] = {}
        self._reclaimable: dict[Levels, tuple[int, int] | None] = {}
        """What is found out once per search, by the queues at the level where the paths part."""
        self._demand: Share = (0, 0, 0)
        self._largest: list[int] = []
        """GPUs of the largest pod group below each queue: the most that is taken in one piece."""
        self.on_move = self._usage.on_move

    def queue_key(self, queue: int, request: Share, popped: Share) -> tuple[Any, ...]:
        """See `queueorder.QueueKeys`."""
        return self._queue_keys[queue].key(self._usage.used(queue), request, popped)

    def has_capacity(self, pod_group: int, tasks: Sequence[int], demand: Share) -> Rejection | None:
        """Limits for everybody, then quotas for what is not preemptible (semantics R4.62)."""
        group = self._groups[pod_group]
        if limited := self._limited(group):
            used = {queue.index: self._usage.used(queue.index) for queue in limited}
            rejection = over_limit(limited, used, demand)
            if rejection is not None:
                return rejection
        if self._usage.kinds[pod_group] == PREEMPTIBLE:
            return None
        return self._over_quota(group, tasks, demand)

    def admits(self, action: Action, pod_group: int, tasks: Sequence[int]) -> Rejection | None:
        """By the gate of the action: the leaf's fair share, or its quota (semantics R4.40, R6.21)."""
        group = self._groups[pod_group]
        demand = self._session.demand(tasks)
        if action.gate is QueueGate.FAIR_SHARE:
            return self._may_reclaim(group, tasks, demand)
        return self._over_quota(group, tasks, demand) if action.gate is QueueGate.QUOTA else None

    def on_search_start(self, pod_group: int, tasks: Sequence[int]) -> None:
        """Filters and validators refer to what the queues use now."""
        self._cores.recount()
        self._usage.start_search()
        self._demand = self._session.demand(tasks)
        self._evictable_levels.clear()
        self._reclaimable.clear()

    def allows_victim_queue(self, action: Action, preemptor: int, queue: int) -> Rejection | None:
        """To reclaim from: only queues that can yield."""
        if action.gate is not QueueGate.FAIR_SHARE:
            return None
        mine = self._groups[preemptor].queue
        assert mine is not None
        levels = self._levels(mine, queue)
        if levels not in self._evictable_levels:
            self._evictable_levels[levels] = self._is_reclaimable(*levels)
        return self._evictable_levels[levels]

    def reclaimable_gpu(self, action: Action, preemptor: int, queue: int) -> tuple[int, int] | None:
        """How far the victim's leveled queue is above what it keeps, and the rest of the last piece.

        Pieces are taken while the queue is above its share in some resource (semantics R4.52), so nothing
        bounds the GPUs of a queue that is above in CPU or memory.
        """
        mine = self._groups[preemptor].queue
        if action.gate is not QueueGate.FAIR_SHARE or mine is None or self._demand[GPU] == 0:
            return None
        levels = self._levels(mine, queue)
        if levels not in self._reclaimable:
            self._reclaimable[levels] = self._max_reclaimable(*levels)
        return self._reclaimable[levels]

    def _levels(self, mine: int, theirs: int) -> Levels:
        """The queues at the level where the paths of these two part."""
        levels = self._common_levels.get((mine, theirs))
        if levels is None:
            levels = reclaim_fairness.common_level(self._queues[mine], self._queues[theirs])
            self._common_levels[mine, theirs] = levels
        return levels

    def _max_reclaimable(self, my_level: int, level: int) -> tuple[int, int] | None:
        keeps = [self._allocatable[level]]
        if shares.is_within(self._usage.at_search_start(my_level), self._queues[my_level].quota):
            keeps.append(self._queues[level].quota)
        used = self._usage.at_search_start(level)
        for kept in keeps:
            if reclaim_fairness.exceeds((used[CPU], used[MEMORY], 0), kept):
                return None
        above = [used[GPU] - kept[GPU] for kept in keeps if kept[GPU] != UNLIMITED and used[GPU] > kept[GPU]]
        return level, max(above) + self._largest_below(level) - 1 if above else 0

    def allows_scenario(self, action: Action, scenario: Scenario) -> Rejection | None:
        """A reclaim must be fair at every level (semantics R4.50-R4.58)."""
        if action.gate is not QueueGate.FAIR_SHARE:
            return None
        group = self._groups[scenario.preemptor]
        assert group.queue is not None
        request = self._session.demand(scenario.pending)
        verdict = ReclaimFairness(
            self._queues,
            self._usage,
            self._fair,
            self._allocatable,
            self._queues[group.queue],
            request,
            self._multiplier,
        )
        firm = self._cores.firm_demand(group, scenario.pending, request)
        return verdict.find_rejection(firm, self._chunks.chunks(scenario))

    def queue_status(self) -> Iterator[QueueStatus]:
        """Shares and use, for the answer."""
        for queue in self._queues:
            i = queue.index
            yield QueueStatus(i, self._fair[i], self._initial[i], self._usage.used(i))

    def _largest_below(self, queue: int) -> int:
        if not self._largest:
            self._largest = self._find_largest()
        return self._largest[queue]

    def _find_largest(self) -> list[int]:
        return self._session.derived(_SIZES).most_gpus()

    def _over_quota(self, group: PodGroup, tasks: Sequence[int], demand: Share) -> Rejection | None:
        firm = self._cores.firm_demand(group, tasks, demand)
        if firm is None:
            return None
        self._cores.recount()
        return over_quota(self._path(group), self._usage.non_preemptible, firm)

    def _may_reclaim(self, group: PodGroup, tasks: Sequence[int], demand: Share) -> Rejection | None:
        assert group.queue is not None
        queue, firm = group.queue, self._cores.firm_demand(group, tasks, demand)
        if firm is not None:
            self._cores.recount()
            firm = add_shares(self._usage.non_preemptible[queue], firm)
        if reclaim_fairness.can_reclaim(
            self._queues[queue], self._usage.used(queue), self._fair[queue], firm, demand
        ):
            return None
        detail = f"queue {self._queues[queue].name} would exceed its fair share, so it may not reclaim"
        return Rejection(ReasonCode.OVER_FAIR_SHARE, detail)

    def _is_reclaimable(self, my_level: int, their_level: int) -> Rejection | None:
        after = add_shares(self._usage.at_search_start(my_level), self._demand)
        victim = self._queues[their_level]
        if reclaim_fairness.is_reclaimable(
            self._demand,
            shares.is_within(after, self._queues[my_level].quota),
            victim.quota,
            self._usage.at_search_start(their_level),
            self._allocatable[their_level],
        ):
            return None
        return Rejection(ReasonCode.WITHIN_FAIR_SHARE, f"queue {victim.name} is within its share")

    def _path(self, group: PodGroup) -> list[Queue]:
        assert group.queue is not None
        return [self._queues[queue] for queue in reversed(self._queues[group.queue].path)]

    def _limited(self, group: PodGroup) -> list[Queue]:
        """Of its queue and the ancestors, those that limit anything."""
        assert group.queue is not None
        limited = self._limits.get(group.queue)
        if limited is None:
            limited = self._limits[group.queue] = [
                q for q in self._path(group) if set(q.limit) != {UNLIMITED}
            ]
        return limited

    def _allocatable_of(self, queue: Queue) -> Share:
        i = queue.index
        cpu, memory, gpu = (
            shares.allocatable_share(queue.quota[r], queue.limit[r], self._fair[i][r]) for r in range(GPU + 1)
        )
        return (cpu, memory, gpu)


def _build_sizes(session: Session) -> PodGroupSizes:
    return PodGroupSizes.of(session.cluster)


def _follow_sizes(sizes: PodGroupSizes, session: Session, change: SlotChange) -> None:
    sizes.follow(session.cluster, change)


def _total(session: Session) -> Share:
    return shares.cluster_total(session.cluster)


_SIZES: Final = Derived(_build_sizes, _follow_sizes, PodGroupSizes.copy)
_CLUSTER_TOTAL: Final = Derived(_total)
