"""Which of two sibling queues goes first (semantics R4.30-R4.35)."""

from collections.abc import Sequence
from typing import Any

from tenure.solver.model.queue import Queue
from tenure.solver.model.resources import UNLIMITED, Share
from tenure.solver.plugins.proportion.shares import dominant_share, within


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


def queue_key(
    queue: Queue,
    allocated: Share,
    fair_share: Share,
    allocatable: Share,
    total: Share,
    request: Share,
    popped: Share,
) -> tuple[Any, ...]:
    """Sort key of a queue whose next pod group asks for `request`; smaller goes first.

    In order: not above its fair share in everything; within quota with the request; higher priority; does
    not use what it has no share of; smaller dominant share with the request (less the victims popped);
    smaller dominant share; smaller allocatable share.
    """
    after = (allocated[0] + request[0], allocated[1] + request[1], allocated[2] + request[2])
    projected = (after[0] - popped[0], after[1] - popped[1], after[2] - popped[2])
    return (
        all(share < used for share, used in zip(fair_share, allocated, strict=True)),
        not within(after, queue.quota),
        -queue.priority,
        any(share == 0 and used > 0 for share, used in zip(allocatable, after, strict=True)),
        dominant_share(projected, allocatable, total),
        dominant_share(allocated, allocatable, total),
        SmallerShare(allocatable),
    )
