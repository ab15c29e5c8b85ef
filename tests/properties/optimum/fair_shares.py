"""Fair shares of GPUs, for queues without limits, by the rules R4.10 to R4.18 alone."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple


class QueueFacts(NamedTuple):
    """A queue; amounts in GPUs."""

    name: str
    parent: str
    """Empty: none."""
    quota: int
    weight: int
    created: int
    used: int
    """By running pods, of its descendants too."""
    requested: int
    """Used, and by pending pods."""


def fair_shares(total: int, queues: Mapping[str, QueueFacts]) -> dict[str, int]:
    """GPUs that each queue is entitled to, of a cluster with so many."""
    found: dict[str, int] = {}
    pending = [("", total)]
    while pending:
        parent, amount = pending.pop()
        children = [queue for queue in queues.values() if queue.parent == parent]
        shares = _divided(amount, children)
        found.update(shares)
        pending += [(child.name, shares[child.name]) for child in children]
    return found


def _divided(amount: int, queues: Sequence[QueueFacts]) -> dict[str, int]:
    """Among siblings of one priority: quotas (R4.11), rounds by weight (R4.13), then remainders (R4.16)."""
    shares = {queue.name: min(queue.quota, queue.requested) for queue in queues}
    left, remainders, again = amount - sum(shares.values()), dict[str, Fraction](), True
    while again and left > 0:
        again = False
        waiting = [queue for queue in queues if shares[queue.name] < queue.requested and queue.weight > 0]
        weights, offered = sum(queue.weight for queue in waiting), left
        for queue in waiting:
            offer, lacks = Fraction(offered * queue.weight, weights), queue.requested - shares[queue.name]
            given = min(lacks, int(offer))
            if lacks <= offer:
                remainders.pop(queue.name, None)
                again |= lacks < offer
            else:
                remainders[queue.name] = offer - given
            shares[queue.name] += given
            left -= given
    order = sorted((queue for queue in queues if queue.name in remainders), key=lambda queue: queue.name)
    order.sort(key=lambda queue: (-remainders[queue.name], queue.created))
    for queue in order[: max(left, 0)]:
        shares[queue.name] += 1
    return shares
