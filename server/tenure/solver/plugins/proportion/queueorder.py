"""Which of two sibling queues goes first (semantics R4.30-R4.35)."""

from collections.abc import Sequence
from typing import Any

from tenure.solver.model.queue import Queue
from tenure.solver.model.resources import CPU, GPU, MEMORY, UNLIMITED, Share
from tenure.solver.plugins.proportion.shares import bounding_share, dominant_share


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


class QueueKeys:
    """Sort keys of one queue; smaller goes first. What does not change in a cycle is worked out once.

    In order: not above its fair share in everything; within quota with the request; higher priority; does
    not use what it has no share of; smaller dominant share with the request (less the victims popped);
    smaller dominant share; smaller allocatable share.
    """

    __slots__ = ("_bounds", "_fair", "_last", "_priority", "_quota", "_withheld")

    def __init__(
        self, queue: Queue, fair_share: Share, allocatable: Share, total: Share, last: SmallerShare
    ) -> None:
        """`last` compares the allocatable share."""
        self._fair = fair_share
        self._quota = tuple(float("inf") if amount == UNLIMITED else amount for amount in queue.quota)
        self._priority = -queue.priority
        self._withheld = tuple(r for r in (CPU, MEMORY, GPU) if allocatable[r] == 0)
        """What it has no share of."""
        self._bounds = bounding_share(allocatable, total)
        self._last = last

    def key(self, allocated: Share, request: Share, popped: Share) -> tuple[Any, ...]:
        """The key when its next pod group asks for `request`; the victims `popped` count as gone."""
        cpu, memory, gpu = allocated
        after = (cpu + request[0], memory + request[1], gpu + request[2])
        fair, quota, bounds = self._fair, self._quota, self._bounds
        return (
            fair[0] < cpu and fair[1] < memory and fair[2] < gpu,
            after[0] > quota[0] or after[1] > quota[1] or after[2] > quota[2],
            self._priority,
            bool(self._withheld) and any(after[resource] > 0 for resource in self._withheld),
            dominant_share((after[0] - popped[0], after[1] - popped[1], after[2] - popped[2]), bounds),
            dominant_share(allocated, bounds),
            self._last,
        )


def queue_keys(
    queues: Sequence[Queue], fair_shares: Sequence[Share], allocatable: Sequence[Share], total: Share
) -> list[QueueKeys]:
    """The keys of every queue. Queues with equal allocatable shares hold the same object to compare them by,
    which makes comparing them cheap.
    """
    last = {share: SmallerShare(share) for share in allocatable}
    rows = zip(queues, fair_shares, allocatable, strict=True)
    return [QueueKeys(queue, fair, most, total, last[most]) for queue, fair, most in rows]
