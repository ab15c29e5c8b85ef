"""Order of sibling queues (semantics R4.30-R4.35)."""

from collections.abc import Sequence
from typing import Any

from tenure.solver.model.queue import Queue
from tenure.solver.model.resources import CPU, GPU, MEMORY, NO_SHARE, UNLIMITED, Share
from tenure.solver.plugins.proportion.shares import bounding_share, dominant_share, is_within


class SmallerShare:
    """Compares allocatable shares: smaller in some resource and larger in none goes first.

    Incomparable shares count as equal, so that the next criterion decides.
    """

    __slots__ = ("_share",)

    def __init__(self, share: Sequence[int]) -> None:
        self._share = [float("inf") if amount == UNLIMITED else amount for amount in share]

    def __lt__(self, other: "SmallerShare") -> bool:
        pairs = list(zip(self._share, other._share, strict=True))
        return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SmallerShare) and not (self < other or other < self)

    __hash__ = None  # type: ignore[assignment]


class ShareOrderKeys:
    """Sort keys of one queue; smaller goes first. Constants of the cycle are computed once.

    In order: not above its fair share in everything; within quota with the request; higher priority; does not
    use a resource that it has no share of; smaller dominant share with the request (less the victims popped);
    smaller dominant share; smaller allocatable share.
    """

    __slots__ = (
        "_allocated",
        "_bounds",
        "_by_priority",
        "_exceeds_quota",
        "_fair",
        "_is_above",
        "_keeps",
        "_last",
        "_oversteps",
        "_priority",
        "_quota",
        "_share",
        "_withheld_cpu",
        "_withheld_gpu",
        "_withheld_memory",
    )

    def __init__(
        self,
        queue: Queue,
        fair_share: Share,
        allocatable: Share,
        total: Share,
        last: SmallerShare,
        by_priority: bool,
        keeps: int | None = None,
    ) -> None:
        """`last` compares the allocatable share. `by_priority`: within quota, it is never above its fair
        share in everything, so that priority decides between such queues (semantics R4.73). `keeps`: GPUs
        up to which it goes first, if its next pod group requests any (semantics R4.77); None: nothing.
        """
        self._keeps = keeps
        self._fair = fair_share
        self._by_priority = by_priority
        self._quota = queue.facts.quota
        self._priority = -queue.facts.priority
        self._withheld_cpu = allocatable[CPU] == 0
        """Whether it has no share of the resource."""
        self._withheld_memory = allocatable[MEMORY] == 0
        self._withheld_gpu = allocatable[GPU] == 0
        self._bounds = bounding_share(allocatable, total)
        self._last = last
        self._use((0, 0, 0))

    def key(self, allocated: Share, request: Share, popped: Share) -> tuple[Any, ...]:
        """The key with the request of its next pod group, and without the victims `popped`."""
        if allocated != self._allocated:
            self._use(allocated)
        cpu, memory, gpu = allocated
        exceeds, oversteps = self._exceeds_quota, self._oversteps
        if request != NO_SHARE:
            cpu, memory, gpu = cpu + request[0], memory + request[1], gpu + request[2]
            after = (cpu, memory, gpu)
            exceeds, oversteps = self._would_exceed_quota(after), self._would_overstep(after)
        share = dominant_share((cpu - popped[0], memory - popped[1], gpu - popped[2]), self._bounds)
        is_above = self._is_above and (exceeds or not self._by_priority)
        key = (is_above, exceeds, self._priority, oversteps, share, self._share, self._last)
        if self._keeps is None:
            return key
        is_owed = request[GPU] > 0 and (self._keeps == UNLIMITED or allocated[GPU] < self._keeps)
        return (not is_owed, *key)

    def _use(self, allocated: Share) -> None:
        """Compute what follows from the usage of the queue alone."""
        fair = self._fair
        self._allocated = allocated
        self._is_above = fair[0] < allocated[0] and fair[1] < allocated[1] and fair[2] < allocated[2]
        self._exceeds_quota = self._would_exceed_quota(allocated)
        self._oversteps = self._would_overstep(allocated)
        self._share = dominant_share(allocated, self._bounds)

    def _would_exceed_quota(self, after: Share) -> bool:
        """Whether the queue would exceed its quota of a resource."""
        return not is_within(after, self._quota)

    def _would_overstep(self, after: Share) -> bool:
        """Whether the queue would use a resource that it has no share of."""
        return (
            (self._withheld_cpu and after[0] > 0)
            or (self._withheld_memory and after[1] > 0)
            or (self._withheld_gpu and after[2] > 0)
        )


def queue_keys(
    queues: Sequence[Queue],
    fair_shares: Sequence[Share],
    allocatable: Sequence[Share],
    total: Share,
    by_priority: bool = False,
    keeps: Sequence[int] | None = None,
) -> list[ShareOrderKeys]:
    """Keys of every queue. Queues with equal allocatable shares refer to the same object, so that comparing
    them is cheap.
    """
    last = {share: SmallerShare(share) for share in allocatable}
    rows = zip(queues, fair_shares, allocatable, strict=True)
    return [
        ShareOrderKeys(
            queue, fair, most, total, last[most], by_priority, None if keeps is None else keeps[queue.index]
        )
        for queue, fair, most in rows
    ]
