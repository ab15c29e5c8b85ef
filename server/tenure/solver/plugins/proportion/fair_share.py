"""Division of an amount of one resource among sibling queues (semantics R4.10-R4.22).

Amounts are floats in the resource's native unit (milli-cores, bytes, whole GPUs). As in the reference
scheduler, amounts are rounded down to whole units and remainders are kept, with the same order of operations.
"""

from collections.abc import Sequence
from math import floor

from tenure.solver.model.resources import UNLIMITED


class ShareRequest:
    """One queue's claim on the resource; `fair_share` grows as the amount is divided."""

    __slots__ = ("fair_share", "priority", "quota", "rank", "remainder", "requestable", "usage", "weight")

    def __init__(
        self,
        rank: tuple[object, ...],
        priority: int,
        quota: float,
        limit: float,
        weight: float,
        request: float,
        usage: float = 0.0,
        fair_share: float = 0.0,
    ) -> None:
        """`rank` is creation time, then name, and orders equal requests. `usage` is historical usage as a
        part
        of the cluster. `fair_share` is what the queue already received.
        """
        self.rank = rank
        self.priority = priority
        self.quota = quota
        self.weight = weight
        self.requestable = request if limit == UNLIMITED or request < limit else limit
        """Request within its limit (semantics R4.10)."""
        self.usage = usage
        self.fair_share = fair_share
        self.remainder = 0.0

    @property
    def missing(self) -> float:
        """Request that is not yet covered."""
        return self.requestable - self.fair_share


def divide(total: float, claims: Sequence[ShareRequest], k: float = 1.0) -> float:
    """Give every queue its fair share of the total; return the rest."""
    return divide_over_quota(total - give_quotas(total, claims), claims, k)


def give_quotas(total: float, claims: Sequence[ShareRequest]) -> float:
    """Give every queue its quota, up to its request; return the sum (semantics R4.11)."""
    given = 0.0
    for claim in claims:
        quota = total if claim.quota == UNLIMITED else claim.quota
        claim.fair_share = claim.requestable if claim.requestable < quota else quota
        given += claim.fair_share
    return given


def divide_over_quota(amount: float, claims: Sequence[ShareRequest], k: float = 1.0) -> float:
    """Divide the amount beyond all quotas, higher queue priorities first; return the rest.

    Remainders of all priorities are divided at the end, so that lower priorities are served before them
    (semantics R4.17).
    """
    if amount <= 0:
        return max(amount, 0.0)
    by_priority: dict[int, list[ShareRequest]] = {}
    for claim in claims:
        by_priority.setdefault(claim.priority, []).append(claim)
    buckets = [by_priority[priority] for priority in sorted(by_priority, reverse=True)]
    for bucket in buckets:
        amount = _divide_by_weight(amount, bucket, max(k, 0.0))
    for bucket in buckets:
        amount = _give_remainders(amount, bucket)
    return amount


def _divide_by_weight(amount: float, claims: Sequence[ShareRequest], k: float) -> float:
    """Rounds of weighted division until no request is smaller than its part (semantics R4.13)."""
    is_another_round = True
    while is_another_round and amount > 0:
        is_another_round = False
        shares = _weighted_shares(amount, [claim for claim in claims if claim.missing > 0], k)
        for claim, share in shares:
            missing = claim.missing
            if missing <= share:
                is_another_round = is_another_round or missing < share
                granted, claim.remainder = missing, 0.0
            else:
                granted = float(floor(share))
                claim.remainder = share - granted
            claim.fair_share += granted
            amount -= granted
    return amount


def _weighted_shares(
    amount: float, claims: Sequence[ShareRequest], k: float
) -> list[tuple[ShareRequest, float]]:
    """Part of each queue: by weight, reduced by historical usage."""
    weights = 0.0
    for claim in claims:
        weights += claim.weight
    if weights == 0:
        return []
    parts: list[tuple[ShareRequest, float]] = []
    total = 0.0
    for claim in claims:
        if claim.weight != 0:
            part = claim.weight / weights
            part = max(0.0, part + k * (part - claim.usage))
            total += part
            parts.append((claim, part))
    if total == 0:  # past use leaves no queue a part (semantics R18.7)
        return [(claim, amount * (claim.weight / weights)) for claim, _ in parts]
    return [(claim, amount * (part / total)) for claim, part in parts]


def _give_remainders(amount: float, claims: Sequence[ShareRequest]) -> float:
    """One unit each to the largest remainders (semantics R4.16)."""
    owed = [claim for claim in claims if claim.remainder > 0]
    for claim in sorted(owed, key=lambda claim: (-claim.remainder, claim.rank)):
        if amount <= 0:
            break
        granted = min(1.0, amount)
        claim.fair_share += granted
        amount -= granted
    return amount
