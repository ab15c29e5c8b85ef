"""Whether a queue may reclaim from another one, and whether the result is fair (semantics R4.40-R4.59).

Two queues are compared at the level where their paths part: the leveled queues. What a scenario takes from
the queues of its victims is compared in chunks, based on usage at the start of the search.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tenure.solver.model.queue import Queue
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import CPU, GPU, MEMORY, NO_SHARE, UNLIMITED, Share
from tenure.solver.model.workload import PodGroup, Task, add_shares
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.plugins.proportion.initial_usage import ShareSum
from tenure.solver.plugins.proportion.shares import is_within
from tenure.solver.plugins.proportion.steady_shares import SteadyShares
from tenure.solver.plugins.proportion.usage import Usage
from tenure.terms.reasons import ReasonCode


class VictimChunks:
    """Divides what victims lose permanently into chunks, while the moves of the simulation are in place."""

    def __init__(self, context: PluginContext) -> None:
        self._cluster = context.cluster
        self._ledger = context.ledger
        self._ignores_relocated = context.options.allow_consolidating_reclaim
        moving = [action.name for action in context.guarded_actions.actions if action.relocates_all]
        self._moving: Final = frozenset(moving)
        """Actions that move pods. Who opts out of one must not move."""
        self._groups = context.cluster.pod_groups
        self._queues = context.cluster.queues

    def chunks(self, scenario: Scenario) -> list[tuple[int, Share]]:
        """Leaf queue and amount of every chunk, queues by name (semantics R4.51, R4.58)."""
        by_queue: dict[int, list[Share]] = {}
        freed: set[int] = set()
        facts = self._cluster.tasks
        for pod_group, tasks in scenario.victims().items():
            group = self._groups[pod_group]
            assert group.queue is not None
            pieces = by_queue.get(group.queue)
            if pieces is None:
                pieces = by_queue[group.queue] = []
            if len(tasks) == 1:
                if not self._is_evicted(tasks[0], group):
                    continue
                only = self._share(facts[tasks[0]], freed)
                if only != NO_SHARE:
                    pieces.append(only)
                    continue
            amounts: list[tuple[int, Share | None]] = []
            for index in tasks:
                task = facts[index]
                assert task.pod_set is not None
                share = self._share(task, freed) if self._is_evicted(index, group) else None
                amounts.append((task.pod_set, share))
            minimums = {s.index: s.min_available for s in group.pod_sets}
            pieces.extend(chunks(amounts, minimums))
        queues = sorted(by_queue, key=self._name) if len(by_queue) > 1 else list(by_queue)
        return [(queue, piece) for queue in queues for piece in by_queue[queue]]

    def _name(self, queue: int) -> str:
        return self._queues[queue].facts.name

    def _is_evicted(self, task: int, group: PodGroup) -> bool:
        """With consolidating reclaim, a relocated victim does not count (semantics R4.51), unless it must not
        move (R8.50).
        """
        placement = self._ledger.placement(task)
        if not (self._ignores_relocated and placement.is_active_allocated):
            return True
        opted_out = group.facts.opt_out_actions
        if not opted_out or self._moving.isdisjoint(opted_out):
            return False
        return placement != self._cluster.tasks[task].placement

    def _share(self, task: Task, freed: set[int]) -> Share:
        """Reduction of the usage of its queue, including device claims that are no longer used."""
        share = self._ledger.share(task, self._ledger.placement(task.index).node)
        for claim in task.shape.shared_claims:
            if claim not in freed and not self._ledger.is_claim_active(claim):
                freed.add(claim)
                share = add_shares(share, (0, 0, self._cluster.claims[claim].gpu_milli))
        return share


class ReclaimFairness:
    """Fairness of one scenario: chunks are taken from the queues of the victims one after the other."""

    def __init__(
        self,
        queues: Sequence[Queue],
        usage: Usage,
        fair: Sequence[Share],
        allocatable: Sequence[Share],
        reclaimer: Queue,
        request: Share,
        multiplier: float,
        by_priority: bool = False,
        steady: SteadyShares | None = None,
    ) -> None:
        """`by_priority`: within quota, a queue may take from queues of lower priority (semantics R4.71).
        `steady`: what queues could expect in the long run counts, too (semantics R4.74).
        """
        self._queues = queues
        self._usage = usage
        self._fair = fair
        self._allocatable = allocatable
        self._reclaimer = reclaimer
        self._request = request
        self._multiplier = multiplier
        self._by_priority = by_priority
        self._steady = steady
        self._gave_steadily: dict[int, None] = {}
        """Leveled queues that lost something by steady shares alone."""
        self._remaining: dict[int, ShareSum] = {}
        self._levels: dict[int, tuple[int, bool, bool]] = {}
        """By leaf of a victim: its leveled queue, whether that of the reclaimer stays within quota, and
        whether its priority alone lets it take all.
        """

    def find_rejection(self, firm: Share | None, chunks: Iterable[tuple[int, Share]]) -> Rejection | None:
        """The first rejection of taking these chunks.

        `firm` is the part of the request that must be within quota (semantics R4.56); None: no part.
        """
        request = self._request
        cpu, memory, gpu = request[CPU] > 0, request[MEMORY] > 0, request[GPU] > 0
        for leaf, chunk in chunks:
            if not self._may_reclaim(self._queues[leaf]) and not self._may_take_steadily(leaf, chunk):
                detail = f"queue {self._queues[leaf].facts.name} would fall below its fair share"
                return Rejection(ReasonCode.WITHIN_FAIR_SHARE, detail)
            self._take(self._queues[leaf], chunk)
            cpu, memory, gpu = cpu or chunk[CPU] > 0, memory or chunk[MEMORY] > 0, gpu or chunk[GPU] > 0
        if firm is not None and not self._within_quotas(firm):
            detail = "its non-preemptible pods would exceed a quota"
            return Rejection(ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA, detail, for_owner=True)
        return self._saturation((cpu, memory, gpu))

    def _may_reclaim(self, victim: Queue) -> bool:
        known = self._levels.get(victim.index)
        if known is None:
            my_level, their_level = common_level(self._reclaimer, victim)
            after = add_shares(self._usage.at_search_start(my_level), self._request)
            own, other = self._queues[my_level], self._queues[their_level]
            fits_quota = is_within(after, own.facts.quota)
            takes_all = fits_quota and self._by_priority and outranks(own, other)
            known = self._levels[victim.index] = (their_level, fits_quota, takes_all)
        level, fits_quota, takes_all = known
        if takes_all:
            return True
        quota = self._queues[level].facts.quota
        return may_reclaim(self._left(level), self._allocatable[level], quota, fits_quota)

    def _may_take_steadily(self, leaf: int, chunk: Share) -> bool:
        """Whether steady shares alone permit a chunk (semantics R4.75)."""
        own, other = common_level(self._reclaimer, self._queues[leaf])
        steady = self._steady
        if steady is None or own == other or not steady.is_owed(own, self._request):
            return False
        if not steady.covers(other, self._left(other)[GPU], chunk):
            return False
        self._gave_steadily[other] = None
        return True

    def _take(self, victim: Queue, chunk: Share) -> None:
        for queue in victim.path:
            left = self._remaining.get(queue)
            if left is None:
                left = self._remaining[queue] = ShareSum(self._usage.at_search_start(queue))
            left.subtract(chunk)

    def _left(self, queue: int) -> Share:
        left = self._remaining.get(queue)
        return self._usage.at_search_start(queue) if left is None else left.share()

    def _within_quotas(self, firm: Share) -> bool:
        """Whether non-preemptible usage stays within quota at every level (semantics R4.56)."""
        return all(
            is_within(
                add_shares(self._usage.non_preemptible_at_search_start(queue), firm),
                self._queues[queue].facts.quota,
            )
            for queue in self._reclaimer.path
        )

    def _saturation(self, involved: tuple[bool, bool, bool]) -> Rejection | None:
        """Rejection by fair-share utilization, for the resources that are involved."""
        for queue in reversed(self._reclaimer.path):
            reclaimer_usage, reclaimer_share = add_shares(self._left(queue), self._request), self._fair[queue]
            for sibling in self._siblings(queue):
                if sibling not in self._remaining:
                    continue
                sibling_usage = self._left(sibling)
                if is_saturated(
                    involved,
                    reclaimer_usage,
                    reclaimer_share,
                    sibling_usage,
                    self._fair[sibling],
                    self._multiplier,
                ) or (
                    self._steady is not None
                    and sibling in self._gave_steadily
                    and self._steady.is_saturated(queue, reclaimer_usage[GPU], sibling, sibling_usage[GPU])
                ):
                    detail = f"queue {self._queues[queue].facts.name} would exceed queue "
                    return Rejection(
                        ReasonCode.OVER_FAIR_SHARE,
                        f"{detail}{self._queues[sibling].facts.name} in fair-share utilization",
                    )
        return None

    def _siblings(self, queue: int) -> list[int]:
        parent = self._queues[queue].parent
        if parent is None:
            return [q.index for q in self._queues if q.parent is None and q.index != queue]
        return [child for child in self._queues[parent].children if child != queue]


class LeveledQueues:
    """The leveled queues of a reclaimer and of victims, and what holds between them in one search."""

    __slots__ = ("bound", "bounded_in", "is_open", "judged_in", "reclaimee", "reclaimer")

    def __init__(self, reclaimer: int, reclaimee: int) -> None:
        self.reclaimer = reclaimer
        self.reclaimee = reclaimee
        self.is_open = False
        """Whether victims may have to yield resources."""
        self.judged_in = -1
        """Number of the search for which that was found."""
        self.bound: tuple[int, int] | None = None
        """The queue that bounds the reclaimable GPUs, and the bound, in thousandths; None: there is none."""
        self.bounded_in = -1
        """Number of the search for which that was found."""


def common_level(one: Queue, other: Queue) -> tuple[int, int]:
    """Queues of the two paths at the first level where they differ; the last pair if none does."""
    pair = (one.path[0], other.path[0])
    for pair in zip(one.path, other.path, strict=False):
        if pair[0] != pair[1]:
            return pair
    return pair


def outranks(one: Queue, other: Queue) -> bool:
    """Whether a leveled queue has a strictly higher priority than another one (semantics R4.71)."""
    return one.facts.priority > other.facts.priority


def is_reclaimable(
    request: Share, fits_quota: bool, quota: Share, allocated: Share, allocatable: Share
) -> bool:
    """Whether the leveled queue of victims may have to yield resources (semantics R4.45, R4.46).

    `fits_quota`: the reclaimer stays within the quota of its leveled queue. Then victims may be in any queue
    that is not below its quota, otherwise only in a queue above its allocatable share.
    """
    if not fits_quota:
        return exceeds(allocated, allocatable)
    cpu = _beyond(request[CPU], quota[CPU], allocated[CPU])
    memory = _beyond(request[MEMORY], quota[MEMORY], allocated[MEMORY])
    gpu = _beyond(request[GPU], quota[GPU], allocated[GPU])
    is_under = cpu < 0 or memory < 0 or gpu < 0
    return cpu > 0 or memory > 0 or gpu > 0 or not is_under


def _beyond(request: int, quota: int, allocated: int) -> int:
    """Amount of a queue above its quota of a resource; 0 without a request or without a quota."""
    return allocated - quota if request > 0 and quota != UNLIMITED else 0


def exceeds(amount: Share, bound: Share) -> bool:
    """Whether an amount exceeds a bound in a resource; -1 is no bound."""
    return not is_within(amount, bound)


def may_reclaim(remaining: Share, allocatable: Share, quota: Share, fits_quota: bool) -> bool:
    """Whether the next chunk may be taken from a queue with the usage `remaining` (semantics R4.52).

    Either it exceeds its allocatable share, or it exceeds its quota and the reclaimer is within quota.
    """
    return exceeds(remaining, allocatable) or (fits_quota and exceeds(remaining, quota))


def is_saturated(
    involved: tuple[bool, bool, bool],
    reclaimer_usage: Share,
    reclaimer_share: Share,
    sibling_usage: Share,
    sibling_share: Share,
    multiplier: float,
) -> bool:
    """Whether the reclaimer would exceed its share and be at least as saturated as the victim (R4.55)."""
    cpu, memory, gpu = involved
    return (
        (
            cpu
            and _is_saturated(
                reclaimer_usage[0], reclaimer_share[0], sibling_usage[0], sibling_share[0], multiplier
            )
        )
        or (
            memory
            and _is_saturated(
                reclaimer_usage[1], reclaimer_share[1], sibling_usage[1], sibling_share[1], multiplier
            )
        )
        or (
            gpu
            and _is_saturated(
                reclaimer_usage[2], reclaimer_share[2], sibling_usage[2], sibling_share[2], multiplier
            )
        )
    )


def _is_saturated(
    reclaimer_usage: int, reclaimer_share: int, sibling_usage: int, sibling_share: int, multiplier: float
) -> bool:
    """Saturation of one resource."""
    if reclaimer_share == UNLIMITED and sibling_share == UNLIMITED:
        return False
    ratio = _saturation(reclaimer_usage, reclaimer_share)
    return ratio > 1 and sibling_share > 0 and ratio * multiplier >= _saturation(sibling_usage, sibling_share)


def _saturation(amount: int, share: int) -> float:
    if share == UNLIMITED:
        return 0.0
    if share == 0:
        return float("inf") if amount > 0 else 0.0
    return amount / share


def chunks(tasks: Iterable[tuple[int, Share | None]], minimums: Mapping[int, int]) -> list[Share]:
    """Chunks of the tasks of a victim, given as (pod set, share) (semantics R4.50, R4.51).

    The first tasks of each pod set up to its minimum form one common core. Each further task is a chunk of
    its own, before the core. Tasks that are placed again (None) have their place among these, but no share.
    """
    elastic: list[Share] = []
    core: Share = (0, 0, 0)
    counts: dict[int, int] = {}
    for pod_set, share in tasks:
        counts[pod_set] = counts.get(pod_set, 0) + 1
        if share is None:
            continue
        if counts[pod_set] <= minimums[pod_set]:
            core = (core[0] + share[0], core[1] + share[1], core[2] + share[2])
        else:
            elastic.append(share)
    return [*elastic, core] if any(core) else elastic


def can_reclaim(
    queue: Queue, allocated: Share, fair_share: Share, non_preemptible: Share | None, request: Share
) -> bool:
    """Whether a leaf queue stays within its fair share with the request (semantics R4.40).

    `non_preemptible` is its non-preemptible usage with the request; None if the request does not change it.
    """
    if not is_within(add_shares(allocated, request), fair_share):
        return False
    return non_preemptible is None or is_within(non_preemptible, queue.facts.quota)
