"""Is the outcome of a reclaim fair? Judged on what the queues used when the search began (R4.50-R4.58)."""

from collections.abc import Iterable, Sequence

from tenure.solver.model.queue import Queue
from tenure.solver.model.reason import ReasonCode, Rejection
from tenure.solver.model.resources import CPU, GPU, MEMORY, Share
from tenure.solver.model.workload import add_shares
from tenure.solver.plugins.proportion import reclaimable
from tenure.solver.plugins.proportion.shares import within
from tenure.solver.plugins.proportion.usage import Usage


class Verdict:
    """One judgement: pieces are taken from the victims' queues one after the other."""

    def __init__(
        self,
        queues: Sequence[Queue],
        usage: Usage,
        fair: Sequence[Share],
        allocatable: Sequence[Share],
        reclaimer: Queue,
        request: Share,
        multiplier: float,
    ) -> None:
        self._queues = queues
        self._usage = usage
        self._fair = fair
        self._allocatable = allocatable
        self._reclaimer = reclaimer
        self._request = request
        self._multiplier = multiplier
        self._remaining: dict[int, Share] = {}
        self._levels: dict[int, tuple[int, bool]] = {}
        """By victim's leaf: the queue on its path that is judged, and whether the reclaimer's own queue at
        that level stays within quota.
        """

    def judge(self, firm: Share | None, pieces: Iterable[tuple[int, Share]]) -> Rejection | None:
        """The first objection to taking these pieces, or None.

        `firm` is what of the request must be within quota (semantics R4.56); None: nothing.
        """
        request = self._request
        cpu, memory, gpu = request[CPU] > 0, request[MEMORY] > 0, request[GPU] > 0
        for leaf, piece in pieces:
            if not self._may_take(self._queues[leaf]):
                detail = f"queue {self._queues[leaf].name} would be left with less than its share"
                return Rejection(ReasonCode.WITHIN_SHARE, detail)
            self._take(self._queues[leaf], piece)
            cpu, memory, gpu = cpu or piece[CPU] > 0, memory or piece[MEMORY] > 0, gpu or piece[GPU] > 0
        if firm is not None and not self._within_quotas(firm):
            detail = "its non-preemptible pods would exceed a quota"
            return Rejection(ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA, detail)
        return self._saturation((cpu, memory, gpu))

    def _may_take(self, victim: Queue) -> bool:
        known = self._levels.get(victim.index)
        if known is None:
            my_level, their_level = reclaimable.leveled(self._reclaimer, victim)
            after = add_shares(self._usage.at_search_start(my_level), self._request)
            fits_quota = within(after, self._queues[my_level].quota)
            known = self._levels[victim.index] = (their_level, fits_quota)
        level, fits_quota = known
        quota = self._queues[level].quota
        return reclaimable.may_take(self._left(level), self._allocatable[level], quota, fits_quota)

    def _take(self, victim: Queue, piece: Share) -> None:
        for queue in victim.path:
            left = self._left(queue)
            self._remaining[queue] = (left[0] - piece[0], left[1] - piece[1], left[2] - piece[2])

    def _left(self, queue: int) -> Share:
        left = self._remaining.get(queue)
        return self._usage.at_search_start(queue) if left is None else left

    def _within_quotas(self, firm: Share) -> bool:
        """At every level, what cannot be taken back stays within quota (semantics R4.56)."""
        return all(
            within(
                add_shares(self._usage.non_preemptible_at_search_start(queue), firm),
                self._queues[queue].quota,
            )
            for queue in self._reclaimer.path
        )

    def _saturation(self, involved: tuple[bool, bool, bool]) -> Rejection | None:
        """Judged by the resources that are involved."""
        for queue in reversed(self._reclaimer.path):
            mine, my_share = add_shares(self._left(queue), self._request), self._fair[queue]
            for sibling in self._siblings(queue):
                theirs = self._remaining.get(sibling)
                if theirs is None:
                    continue
                if reclaimable.is_saturated(
                    involved, mine, my_share, theirs, self._fair[sibling], self._multiplier
                ):
                    detail = f"queue {self._queues[queue].name} would be served better than queue "
                    return Rejection(ReasonCode.OVER_FAIR_SHARE, detail + self._queues[sibling].name)
        return None

    def _siblings(self, queue: int) -> list[int]:
        parent = self._queues[queue].parent
        if parent is None:
            return [q.index for q in self._queues if q.parent is None and q.index != queue]
        return [child for child in self._queues[parent].children if child != queue]
