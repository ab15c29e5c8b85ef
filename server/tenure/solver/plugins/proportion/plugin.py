"""Hierarchical fair share at the extension points, with limits and quotas (semantics R4.60-R4.65)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from tenure.solver.model.carried import CarriedChange
from tenure.solver.model.placement import Placement
from tenure.solver.model.queue import QUEUE_USAGE, Queue, QueueStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import CPU, GPU, MEMORY, NO_SHARE, UNLIMITED, Share, exceeded_resource
from tenure.solver.model.snapshot_warning import SnapshotWarning, WarningCode
from tenure.solver.model.workload import PodGroup, add_shares
from tenure.solver.plugin_api import points
from tenure.solver.plugin_api.action import Action, QueueGate
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.plugin_api.traits import ReclaimCap, Traits
from tenure.solver.plugins.proportion import reclaim_fairness, shares
from tenure.solver.plugins.proportion.core_usage import CoreUsage
from tenure.solver.plugins.proportion.initial_usage import INITIAL_USAGE, PREEMPTIBLE
from tenure.solver.plugins.proportion.queue_order import queue_keys
from tenure.solver.plugins.proportion.queue_rules import cut_bounds
from tenure.solver.plugins.proportion.reclaim_cap import PodGroupSizes
from tenure.solver.plugins.proportion.reclaim_fairness import LeveledQueues, ReclaimFairness, VictimChunks
from tenure.solver.plugins.proportion.steady_shares import SteadyShares
from tenure.solver.plugins.proportion.usage import Usage
from tenure.solver.plugins.proportion.usage_history import UsageHistory, history_of, in_millionths
from tenure.solver.plugins.proportion.usage_settings import (
    DEFAULTS,
    PARSERS,
    follows_past_use,
    usage_settings,
)
from tenure.solver.resolution.slot_map import SlotChange
from tenure.terms.formatting import count_gpus
from tenure.terms.reasons import ReasonCode

Amounts = Sequence[Share] | Mapping[int, Share]
"""By queue index."""


def over_limit(queues: Iterable[Queue], allocated: Amounts, demand: Share) -> Rejection | None:
    """Rejection by the first queue, from the leaf up, whose limit the demand would exceed."""
    for queue in queues:
        resource = exceeded_resource(queue.facts.limit, allocated[queue.index], demand)
        if resource:
            detail = f"queue {queue.facts.name} would exceed its {resource} limit"
            return Rejection(ReasonCode.OVER_LIMIT, detail, for_owner=True)
    return None


def over_quota(queues: Iterable[Queue], non_preemptible: Sequence[Share], demand: Share) -> Rejection | None:
    """Rejection by the first queue whose quota a non-preemptible demand would exceed."""
    for queue in queues:
        resource = exceeded_resource(queue.facts.quota, non_preemptible[queue.index], demand)
        if resource:
            detail = f"its non-preemptible pods would exceed the {resource} quota of queue {queue.facts.name}"
            return Rejection(ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA, detail, for_owner=True)
    return None


def _build_sizes(context: PluginContext) -> PodGroupSizes:
    return PodGroupSizes.of(context.cluster)


def _follow_sizes(sizes: PodGroupSizes, context: PluginContext, change: SlotChange) -> None:
    sizes.follow(context.cluster, change)


def _cluster_total(context: PluginContext) -> Share:
    return shares.cluster_total(context.cluster)


_SIZES: Final = Derived(_build_sizes, _follow_sizes, PodGroupSizes.copy)
_TOTAL: Final = Derived(_cluster_total)


def _find_cut_bounds(context: PluginContext) -> tuple[SnapshotWarning, ...]:
    return tuple(
        [
            SnapshotWarning(WarningCode.QUEUE_LIMIT_CUT, (), f"queue {queue.facts.name}: {text}")
            for queue in context.cluster.queues
            if queue.facts.class_limits or queue.facts.lending_limit != _NO_LIMIT
            for text in cut_bounds(queue)
        ]
    )


_NO_LIMIT: Final = (UNLIMITED, UNLIMITED, UNLIMITED)
_CUT_BOUNDS: Final = Derived(_find_cut_bounds)


def _gpus(milli: int) -> str:
    return "all GPUs" if milli == UNLIMITED else count_gpus(milli)


class Proportion(
    points.Gate,
    points.CapacityGate,
    points.QueueOrder,
    points.SearchListener,
    points.VictimQueueFilter,
    ReclaimCap,
    points.ScenarioValidator,
    points.QueueGuarantees,
    points.VictimRight,
    points.MoveListener,
    points.QueueReporter,
    points.CarriedReporter,
    points.UsageFollower,
    points.WarningReporter,
):
    """Fair share, quotas and limits of queues: order, gates, victims, and fairness of reclaim."""

    TRAITS: ClassVar = Traits(gates_by_request=True, queue_keys_grow=True)
    ARGUMENTS: ClassVar[Parsers] = {
        "kValue": shares.number,
        "relcaimerSaturationMultiplier": shares.number,
        "queuePriorityInQuotaReclaim": shares.switch,
        "steadyFairShareReclaim": shares.switch,
        **PARSERS,
    }
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        "kValue": "1",
        "relcaimerSaturationMultiplier": "1",
        "queuePriorityInQuotaReclaim": "false",
        "steadyFairShareReclaim": "false",
        **DEFAULTS,
    }

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._context = context
        self._queues, self._groups = context.cluster.queues, context.cluster.pod_groups
        self._usage = Usage(context.cluster, context.ledger, context.derived(INITIAL_USAGE))
        self._cores, self._chunks = CoreUsage(context, self._usage), VictimChunks(context)
        self._total = context.derived(_TOTAL)
        chosen = {**Proportion.DEFAULTS, **arguments}
        self._multiplier = max(1.0, float(chosen["relcaimerSaturationMultiplier"]))
        self._by_priority = shares.switch(chosen["queuePriorityInQuotaReclaim"])
        """Whether priorities of queues count in a reclaim within quota (semantics R4.71)."""
        self._follows_past_use = follows_past_use(arguments)
        self._usage_settings = usage_settings(arguments)
        self._history = history_of(context.cluster, self._total, arguments)
        """Past use of queues, if any has some."""
        self._past = None if self._history is None else self._history.parts()
        k = float(chosen["kValue"])
        self._fair = shares.fair_shares(self._queues, self._total, self._usage.request, k, self._past)
        self._allocatable = [self._allocatable_of(queue) for queue in self._queues]
        self._steady: SteadyShares | None = None
        if shares.switch(chosen["steadyFairShareReclaim"]):
            self._steady = SteadyShares(
                self._queues, self._total, self._usage, k, self._past, self._multiplier
            )
        keeps = None if self._steady is None else self._steady.keeps
        self._queue_keys = queue_keys(
            self._queues, self._fair, self._allocatable, self._total, self._by_priority, keeps
        )
        self._initial = self._usage.allocated
        self._limits: dict[int, list[Queue]] = {}
        self._by_leaf: dict[int, dict[int, LeveledQueues]] = {}
        """By leaf queue of a reclaimer, then of a victim."""
        self._by_level: dict[tuple[int, int], LeveledQueues] = {}
        self._within_share: dict[int, Rejection] = {}
        self._search, self._demand = 0, NO_SHARE
        """Number of the current search, and its request."""
        self._largest: list[int] = []
        """GPUs of the largest pod group below each queue: the largest chunk."""
        if context.is_continued:
            context.derived(_SIZES)

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Update the usage of the queues."""
        self._usage.on_move(task, before, after)

    def queue_key(self, queue: int, request: Share, popped: Share) -> tuple[Any, ...]:
        """Sort key of a queue by its share, of `queue_order.ShareOrderKeys`."""
        return self._queue_keys[queue].key(self._usage.used(queue), request, popped)

    def has_capacity(self, pod_group: int, tasks: Sequence[int], demand: Share) -> Rejection | None:
        """Limits for all pods, then quotas for non-preemptible pods (semantics R4.62)."""
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
        """By the gate of the action: fair share or quota of the leaf queue (semantics R4.40, R6.21)."""
        group = self._groups[pod_group]
        demand = self._context.demand(tasks)
        if action.gate is QueueGate.FAIR_SHARE:
            return self._may_reclaim(group, tasks, demand)
        return self._over_quota(group, tasks, demand) if action.gate is QueueGate.QUOTA else None

    def on_search_start(self, pod_group: int, tasks: Sequence[int]) -> None:
        """Filters and validators refer to the current usage of the queues."""
        self._cores.recount()
        self._usage.start_search()
        self._demand = self._context.demand(tasks)
        self._search += 1

    def allows_victim_queue(self, action: Action, preemptor: int, queue: int) -> Rejection | None:
        """For reclaim: queues that exceed what they may keep."""
        if action.gate is not QueueGate.FAIR_SHARE:
            return None
        reclaimer = self._groups[preemptor].queue
        assert reclaimer is not None
        levels = self._levels(reclaimer, queue)
        if levels.judged_in != self._search:
            levels.judged_in, levels.is_open = self._search, self._is_reclaimable(levels)
        return None if levels.is_open else self._rejection_within_share(levels.reclaimee)

    def reclaimable_gpu(self, action: Action, preemptor: int, queue: int) -> tuple[int, int] | None:
        """Amount of the victim's leveled queue above what it keeps, plus the rest of the last chunk.

        Chunks are taken while the queue exceeds its share of a resource (semantics R4.52), so GPUs of a queue
        that exceeds its share of CPU or memory are unbounded.
        """
        reclaimer = self._groups[preemptor].queue
        if action.gate is not QueueGate.FAIR_SHARE or reclaimer is None or self._demand[GPU] == 0:
            return None
        levels = self._levels(reclaimer, queue)
        if levels.bounded_in != self._search:
            levels.bounded_in, levels.bound = self._search, self._max_reclaimable(levels)
        return levels.bound

    def _levels(self, reclaimer: int, reclaimee: int) -> LeveledQueues:
        """Leveled queues of two leaf queues."""
        by_leaf = self._by_leaf.setdefault(reclaimer, {})
        levels = by_leaf.get(reclaimee)
        if levels is None:
            pair = reclaim_fairness.common_level(self._queues[reclaimer], self._queues[reclaimee])
            levels = by_leaf[reclaimee] = self._by_level.setdefault(pair, LeveledQueues(pair[0], pair[1]))
        return levels

    def _max_reclaimable(self, levels: LeveledQueues) -> tuple[int, int] | None:
        reclaimer, reclaimee, above = self._queues[levels.reclaimer], self._queues[levels.reclaimee], 0
        keeps = [self._allocatable[reclaimee.index]]
        if shares.is_within(self._usage.at_search_start(reclaimer.index), reclaimer.facts.quota):
            if self._by_priority and reclaim_fairness.outranks(reclaimer, reclaimee):
                return None
            keeps.append(reclaimee.facts.quota)
        if self._steady is not None and self._steady.is_owed(reclaimer.index, self._demand):
            above = self._steady.above(reclaimee.index)
        cpu, memory, gpu = self._usage.at_search_start(reclaimee.index)
        for kept in keeps:
            if reclaim_fairness.exceeds((cpu, memory, 0), kept):
                return None
            if kept[GPU] != UNLIMITED:
                above = max(above, gpu - kept[GPU])
        return reclaimee.index, above + self._largest_below(reclaimee.index) - 1 if above else 0

    def allows_scenario(self, action: Action, scenario: Scenario) -> Rejection | None:
        """Whether a reclaim is fair at every level (semantics R4.50-R4.58)."""
        if action.gate is not QueueGate.FAIR_SHARE:
            return None
        group = self._groups[scenario.preemptor]
        assert group.queue is not None
        request = self._context.demand(scenario.pending)
        verdict = ReclaimFairness(
            self._queues,
            self._usage,
            self._fair,
            self._allocatable,
            self._queues[group.queue],
            request,
            self._multiplier,
            self._by_priority,
            self._steady,
        )
        firm = self._cores.firm_demand(group, scenario.pending, request)
        return verdict.find_rejection(firm, self._chunks.chunks(scenario))

    def limits_victims(self, action: Action) -> bool:
        """Of reclaims, by fairness."""
        return action.gate is QueueGate.FAIR_SHARE

    def allows_victims(self, action: Action, scenario: Scenario) -> Rejection | None:
        """Whether a reclaim is fair if all of its victims leave."""
        return self.allows_scenario(action, scenario)

    def gpus_above_guarantees(self, queue: int, beneficiary: int) -> Sequence[tuple[int, int]]:
        """Above their quotas; an unlimited quota says nothing."""
        shared, found = self._queues[beneficiary].path, list[tuple[int, int]]()
        for each in self._queues[queue].path:
            quota = self._queues[each].facts.quota[GPU]
            if each not in shared and quota != UNLIMITED:
                found.append((each, self._usage.at_search_start(each)[GPU] - quota))
        return found

    def victim_right(self, action: Action, preemptor: int, queue: int) -> tuple[str, str] | None:
        """By the priorities or steady shares of the leveled queues, where fair shares and quotas keep it."""
        reclaimer = self._groups[preemptor].queue
        if action.gate is not QueueGate.FAIR_SHARE or reclaimer is None:
            return None
        levels = self._levels(reclaimer, queue)
        own, other = self._queues[levels.reclaimer], self._queues[levels.reclaimee]
        left = self._usage.at_search_start(other.index)
        after = add_shares(self._usage.at_search_start(own.index), self._demand)
        fits_quota = shares.is_within(after, own.facts.quota)
        if reclaim_fairness.may_reclaim(left, self._allocatable[other.index], other.facts.quota, fits_quota):
            return None
        if self._by_priority and fits_quota and reclaim_fairness.outranks(own, other):
            return (
                "a queue of higher priority stays within its quota",
                f"queue {own.facts.name} has priority {own.facts.priority}, "
                f"queue {other.facts.name} has {other.facts.priority}",
            )
        steady = self._steady
        if steady is None or not steady.is_owed(own.index, self._demand) or not steady.above(other.index):
            return None
        return (
            "its queue has more GPUs than its steady share, and the other one less",
            f"queue {own.facts.name} keeps {_gpus(steady.keeps[own.index])}, "
            f"queue {other.facts.name} keeps {_gpus(steady.keeps[other.index])} and has {_gpus(left[GPU])}",
        )

    def queue_status(self) -> Iterator[QueueStatus]:
        """Fair share, usage and requests of every queue; with past use, if any queue has some."""
        past, request = self._past, self._usage.request
        by_weight = None if past is None else shares.fair_shares(self._queues, self._total, request, 0.0)
        for queue in self._queues:
            i = queue.index
            status = QueueStatus(i, self._fair[i], self._initial[i], self._usage.used(i), request[i])
            if past is not None and by_weight is not None:
                status = status._replace(past_use=in_millionths(past[i]), by_weight=by_weight[i])
            yield status

    def carried_changes(
        self, queues: Sequence[QueueStatus], has_pending: bool
    ) -> tuple[Sequence[CarriedChange], int | None]:
        """Rows of the history that changed; none if no history is kept (semantics R18.4).

        While something runs or waits, the averages move, and with them fair shares: so a later cycle is
        needed.
        """
        settings, cluster = self._usage_settings, self._context.cluster
        if settings is None:
            return (), None
        history = self._history or UsageHistory(cluster, self._total, settings)
        moves = has_pending or any(status.allocated_after != NO_SHARE for status in queues)
        rows = history.next_rows(queues, settings)
        changes = [CarriedChange(QUEUE_USAGE, rows)] if rows else []
        return changes, history.next_wake(settings) if moves else None

    def follows_past_use(self) -> bool:
        """By the arguments."""
        return self._follows_past_use

    def warnings(self, odd: Sequence[int]) -> Sequence[SnapshotWarning]:
        """One warning per bound of a queue that contradicts its quota (semantics R19)."""
        return self._context.derived(_CUT_BOUNDS)

    def _largest_below(self, queue: int) -> int:
        if not self._largest:
            self._largest = self._context.derived(_SIZES).most_gpus()
        return self._largest[queue]

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
        name = self._queues[queue].facts.name
        detail = f"queue {name} would exceed its fair share, so no pods of other queues are evicted for it"
        return Rejection(ReasonCode.OVER_FAIR_SHARE, detail, for_owner=True)

    def _is_reclaimable(self, levels: LeveledQueues) -> bool:
        reclaimer, reclaimee = self._queues[levels.reclaimer], self._queues[levels.reclaimee]
        after = add_shares(self._usage.at_search_start(levels.reclaimer), self._demand)
        fits_quota = shares.is_within(after, reclaimer.facts.quota)
        if fits_quota and self._by_priority and reclaim_fairness.outranks(reclaimer, reclaimee):
            return True
        if (
            self._steady is not None
            and reclaimer is not reclaimee
            and self._steady.is_owed(reclaimer.index, self._demand)
            and self._steady.above(reclaimee.index)
        ):
            return True
        return reclaim_fairness.is_reclaimable(
            self._demand,
            fits_quota,
            reclaimee.facts.quota,
            self._usage.at_search_start(levels.reclaimee),
            self._allocatable[levels.reclaimee],
        )

    def _rejection_within_share(self, queue: int) -> Rejection:
        if queue not in self._within_share:
            detail = f"queue {self._queues[queue].facts.name} is within its share"
            self._within_share[queue] = Rejection(ReasonCode.WITHIN_FAIR_SHARE, detail)
        return self._within_share[queue]

    def _path(self, group: PodGroup) -> list[Queue]:
        assert group.queue is not None
        return [self._queues[queue] for queue in reversed(self._queues[group.queue].path)]

    def _limited(self, group: PodGroup) -> list[Queue]:
        """Its queue and the ancestors with a limit."""
        assert group.queue is not None
        limited = self._limits.get(group.queue)
        if limited is None:
            limited = self._limits[group.queue] = [
                q for q in self._path(group) if set(q.facts.limit) != {UNLIMITED}
            ]
        return limited

    def _allocatable_of(self, queue: Queue) -> Share:
        quota, limit, fair = queue.facts.quota, queue.facts.limit, self._fair[queue.index]
        cpu = shares.allocatable_share(quota[CPU], limit[CPU], fair[CPU])
        memory = shares.allocatable_share(quota[MEMORY], limit[MEMORY], fair[MEMORY])
        return (cpu, memory, shares.allocatable_share(quota[GPU], limit[GPU], fair[GPU]))
